// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The golden path against the definitions in double. Floats are compared within the bound of real_oracle.hpp: nothing here is a device.
#include <Eigen/Core>
#include <algorithm>
#include <limits>

#include "lastbit/backends/golden.hpp"
#include "lastbit/io/json_model.hpp"
#include "support/catch.hpp"
#include "support/one_operation.hpp"
#include "support/real_oracle.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

using enum OperationKind;
constexpr unsigned seed = 20240611;

Tensor real(OperationKind kind, const Attributes& attributes, const std::vector<Tensor>& inputs, const Shape& out) {
  const Model model = one_operation(kind, attributes, inputs, {out}, ElementType::float32);
  return execute(model, prepare_real(model, model.operations[0]), inputs)[0];
}

Tensor reals(const Shape& shape, const std::vector<float>& values) { return Tensor::from<float>(shape, values); }

std::vector<float> mapped(OperationKind kind, const Attributes& attributes, const std::vector<float>& input) {
  const Shape shape{static_cast<std::int64_t>(input.size())};
  return values_of<float>(real(kind, attributes, {reals(shape, input)}, shape));
}

void require_allowed(const Tensor& found, const std::vector<RealSum>& expected) {
  REQUIRE(found.values<float>().size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("index " << i << ", found " << found.values<float>()[i] << ", expected " << expected[i].value << ", seed " << seed);
    REQUIRE(expected[i].allows(found.values<float>()[i]));
  }
}

/// The expected window is written out, so that it does not come from the code under test.
struct ConvCase {
  const char* name;
  Shape in, weights, out;
  Padding2d padding;
  Window window;
};

const Padding2d same{PaddingMode::same}, valid{PaddingMode::valid};
constexpr Padding2d sizes(std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right) {
  return {PaddingMode::explicit_sizes, top, bottom, left, right};
}

Tensor run_case(OperationKind kind, const ConvCase& c, const std::vector<Tensor>& inputs) {
  const Window& w = c.window;
  return real(kind, Conv2dAttributes{{w.stride_y, w.stride_x}, {w.dilation_y, w.dilation_x}, c.padding, {}}, inputs, c.out);
}

std::vector<Tensor> random_inputs(const ConvCase& c) {
  std::mt19937 random(seed);
  return {random_real(c.in, random), random_real(c.weights, random), random_real({c.out[3]}, random)};
}

}  // namespace

TEST_CASE("conv2d") {
  const auto& c = GENERATE(values<ConvCase>({
      {"pointwise", {2, 5, 3, 7}, {9, 1, 1, 7}, {2, 5, 3, 9}, valid, {}},
      {"pointwise, stride 2", {1, 5, 3, 7}, {9, 1, 1, 7}, {1, 3, 2, 9}, valid, {2, 2}},
      {"pointwise, padded", {1, 3, 3, 2}, {3, 1, 1, 2}, {1, 5, 4, 3}, sizes(1, 1, 1, 0), {1, 1, 1, 1, 1, 1}},
      {"same, odd", {2, 7, 5, 3}, {5, 3, 3, 3}, {2, 7, 5, 5}, same, {1, 1, 1, 1, 1, 1}},
      {"same, stride 2, even: the extra row is after", {1, 8, 6, 3}, {4, 3, 3, 3}, {1, 4, 3, 4}, same, {2, 2, 1, 1, 0, 0}},
      {"dilation 2x3", {1, 9, 11, 2}, {3, 3, 2, 2}, {1, 5, 8, 3}, valid, {1, 1, 2, 3}},
      {"explicit, unequal strides", {1, 6, 7, 3}, {2, 4, 3, 3}, {1, 3, 2, 2}, sizes(2, 1, 0, 1), {2, 3, 1, 1, 2, 0}},
      {"two groups", {2, 5, 5, 6}, {4, 3, 3, 3}, {2, 3, 3, 4}, valid, {}},
      {"pointwise, three groups", {1, 4, 3, 6}, {9, 1, 1, 2}, {1, 4, 3, 9}, valid, {}},
      {"one channel per group", {1, 4, 4, 5}, {10, 3, 3, 1}, {1, 2, 2, 10}, valid, {}},
      {"1D", {1, 1, 31, 3}, {4, 1, 5, 3}, {1, 1, 27, 4}, valid, {}},
      {"several blocks of rows", {1, 40, 40, 16}, {8, 3, 3, 16}, {1, 40, 40, 8}, same, {1, 1, 1, 1, 1, 1}},
  }));
  INFO(c.name);
  const auto inputs = random_inputs(c);
  require_allowed(run_case(conv2d, c, inputs), convolution_oracle(inputs[0], inputs[1], inputs[2], c.out, c.window));
}

TEST_CASE("depthwise_conv2d") {
  const auto& c = GENERATE(values<ConvCase>({
      {"same", {2, 5, 7, 9}, {1, 3, 3, 9}, {2, 5, 7, 9}, same, {1, 1, 1, 1, 1, 1}},
      {"multiplier 3", {1, 5, 4, 3}, {1, 2, 3, 9}, {1, 4, 2, 9}, valid, {}},
      {"stride and dilation", {1, 9, 9, 4}, {1, 3, 3, 4}, {1, 3, 3, 4}, valid, {2, 2, 2, 2}},
      {"one channel", {1, 6, 5, 1}, {1, 3, 3, 5}, {1, 4, 3, 5}, valid, {}},
  }));
  INFO(c.name);
  const auto inputs = random_inputs(c);
  require_allowed(run_case(depthwise_conv2d, c, inputs), depthwise_oracle(inputs[0], inputs[1], inputs[2], c.out, c.window));
}

TEST_CASE("transposed_conv2d") {
  const auto& c = GENERATE(values<ConvCase>({
      {"valid, stride 2", {2, 3, 4, 5}, {3, 3, 3, 5}, {2, 7, 9, 3}, valid, {2, 2}},
      {"same, stride 2", {1, 3, 3, 2}, {4, 3, 3, 2}, {1, 6, 6, 4}, same, {2, 2, 1, 1, 0, 0}},
      {"stride larger than the kernel leaves gaps", {1, 2, 2, 3}, {2, 1, 2, 3}, {1, 4, 5, 2}, valid, {3, 3}},
      {"explicit", {1, 4, 3, 2}, {3, 4, 3, 2}, {1, 5, 5, 3}, sizes(1, 1, 0, 0), {1, 1, 1, 1, 1, 0}},
  }));
  INFO(c.name);
  const auto inputs = random_inputs(c);
  require_allowed(run_case(transposed_conv2d, c, inputs), transposed_oracle(inputs[0], inputs[1], inputs[2], c.out, c.window));
}

TEST_CASE("fully_connected is a pointwise convolution") {
  std::mt19937 random(seed);
  const std::int64_t rows = GENERATE(1, 5);
  const Tensor input = random_real({1, 1, rows, 33}, random), weights = random_real({7, 1, 1, 33}, random), bias = random_real({7}, random);
  Tensor flat = weights;
  flat.reshape({7, 33});
  require_allowed(real(fully_connected, FullyConnectedAttributes{}, {input, flat, bias}, {rows, 7}),
                  convolution_oracle(input, weights, bias, {1, 1, rows, 7}, {}));
}

TEST_CASE("matmul broadcasts its batch and transposes either side") {
  const bool transpose_a = GENERATE(false, true), transpose_b = GENERATE(false, true);
  std::mt19937 random(seed);
  const Tensor a = random_real(transpose_a ? Shape{3, 1, 5, 4} : Shape{3, 1, 4, 5}, random);
  const Tensor b = random_real(transpose_b ? Shape{2, 6, 5} : Shape{2, 5, 6}, random);
  std::vector<RealSum> expected;
  each_index({3, 2, 4, 6}, [&](std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n) {
    RealSum& sum = expected.emplace_back();
    for (std::int64_t k = 0; k < 5; ++k) {
      sum.add(at(a, i * 20 + (transpose_a ? k * 4 + m : m * 5 + k)) * at(b, j * 30 + (transpose_b ? n * 5 + k : k * 6 + n)));
    }
  });
  require_allowed(real(matmul, MatmulAttributes{transpose_a, transpose_b, {}}, {a, b}, {3, 2, 4, 6}), expected);
}

TEST_CASE("pools count only what is inside the image") {
  const Tensor image = reals({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Pool2dAttributes attributes{{2, 2}, {2, 2}, same, {}};  // the last row and column of windows hang over
  CHECK(values_of<float>(real(average_pool2d, attributes, {image}, {1, 2, 2, 1})) == std::vector<float>{3, 4.5, 7.5, 9});
  CHECK(values_of<float>(real(max_pool2d, attributes, {image}, {1, 2, 2, 1})) == std::vector<float>{5, 6, 8, 9});
  const Pool2dAttributes before{{2, 3}, {1, 2}, sizes(1, 0, 1, 1), {}};
  CHECK(values_of<float>(real(max_pool2d, before, {image}, {1, 3, 2, 1})) == std::vector<float>{2, 3, 5, 6, 8, 9});
  const Tensor negative = reals({1, 1, 2, 2}, {-5, -1, -3, -2});
  CHECK(values_of<float>(real(max_pool2d, Pool2dAttributes{{1, 2}, {1, 1}, same, {}}, {negative}, {1, 1, 2, 2})) ==
        std::vector<float>{-3, -1, -3, -2});  // padding is no zero
}

TEST_CASE("means") {
  const Tensor input = reals({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(values_of<float>(real(mean, MeanAttributes{{0, 2}, false}, {input}, {2})) == std::vector<float>{5, 8});
  CHECK(values_of<float>(real(mean, MeanAttributes{{1}, true}, {input}, {2, 1, 3})) == std::vector<float>{2.5, 3.5, 4.5, 8.5, 9.5, 10.5});
  const Tensor image = reals({2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(values_of<float>(real(global_average_pool, Pool2dAttributes{}, {image}, {2, 1, 1, 2})) == std::vector<float>{2, 3, 6, 7});
}

TEST_CASE("elementwise operations broadcast as numpy does") {
  const Tensor column = reals({2, 1}, {10, 20}), row = reals({3}, {1, 2, 3}), scalar = reals({}, {2});
  const ElementwiseAttributes plain;
  CHECK(values_of<float>(real(OperationKind::add, plain, {column, row}, {2, 3})) == std::vector<float>{11, 12, 13, 21, 22, 23});
  CHECK(values_of<float>(real(sub, plain, {row, column}, {2, 3})) == std::vector<float>{-9, -8, -7, -19, -18, -17});
  CHECK(values_of<float>(real(mul, plain, {scalar, row}, {3})) == std::vector<float>{2, 4, 6});
  const Tensor image = reals({1, 2, 1, 2}, {-1, -2, 3, -4}), alpha = reals({1, 1, 2}, {0.5, 0.25});
  CHECK(values_of<float>(real(prelu, std::monostate{}, {image, alpha}, {1, 2, 1, 2})) == std::vector<float>{-0.5, -0.5, 3, -1});
}

TEST_CASE("concat of unequal parts") {
  const Tensor a = reals({2, 1}, {1, 2}), b = reals({2, 2}, {-3, 4, 5, 6});
  CHECK(values_of<float>(real(concat, ConcatAttributes{1, Activation::none}, {a, b}, {2, 3})) == std::vector<float>{1, -3, 4, 2, 5, 6});
  CHECK(values_of<float>(real(concat, ConcatAttributes{1, Activation::relu}, {a, b}, {2, 3})) == std::vector<float>{1, 0, 4, 2, 5, 6});
}

TEST_CASE("functions of one value") {
  const std::vector<float> inputs{-4, -1.5, -1, 0, 0.5, 3, 7};
  const auto close = [&](OperationKind kind, const Attributes& attributes, auto&& function) {
    const auto found = mapped(kind, attributes, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      CHECK(std::abs(double{found[i]} - function(double{inputs[i]})) <= std::ldexp(std::abs(function(double{inputs[i]})), -23));
    }
  };
  for (const auto kind : {quantize, dequantize, requantize}) {
    const bool from_float = kind == quantize;
    INFO(name_of(kind) << (from_float ? "" : " of what was an integer"));
    Model model = one_operation(OperationKind::relu, std::monostate{}, {reals({7}, inputs)}, {{7}}, ElementType::float32);
    model.operations[0].kind = kind;
    model.operations[0].attributes = default_attributes(kind);
    CHECK(values_of<float>(execute(model, prepare_real(model, model.operations[0]), {reals({7}, inputs)})[0]) == inputs);
  }
  CHECK(mapped(OperationKind::relu, std::monostate{}, inputs) == std::vector<float>{0, 0, 0, 0, 0.5, 3, 7});
  CHECK(mapped(relu6, std::monostate{}, inputs) == std::vector<float>{0, 0, 0, 0, 0.5, 3, 6});
  CHECK(mapped(relu_n1_to_1, std::monostate{}, inputs) == std::vector<float>{-1, -1, -1, 0, 0.5, 1, 1});
  CHECK(mapped(leaky_relu, LeakyReluAttributes{0.25}, inputs) == std::vector<float>{-1, -0.375, -0.25, 0, 0.5, 3, 7});
  CHECK(mapped(hard_swish, std::monostate{}, {-4, -3, -1.5, 0, 3, 7}) == std::vector<float>{0, 0, -0.375, 0, 3, 7});
  close(logistic, std::monostate{}, [](double x) { return 1 / (1 + std::exp(-x)); });
  close(OperationKind::tanh, std::monostate{}, [](double x) { return std::tanh(x); });
}

TEST_CASE("softmax over the last axis") {
  const Tensor input = reals({2, 3}, {1, 2, 4, 1000, 1000, 999});  // large values do not overflow
  const auto out = values_of<float>(real(softmax, SoftmaxAttributes{0.5}, {input}, {2, 3}));
  const double first = std::exp(0.5) + std::exp(1.0) + std::exp(2.0), second = 2 + std::exp(-0.5);
  const std::vector<double> expected{std::exp(0.5) / first,  std::exp(1.0) / first, std::exp(2.0) / first, 1 / second, 1 / second,
                                     std::exp(-0.5) / second};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(double{out[i]} - expected[i]) <= std::ldexp(expected[i], -23));
}

TEST_CASE("bounds are the last step, and NaN passes them") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = reals({4}, {-3, 2, 9, nan}), zero = reals({4}, {0, 0, 0, 0});
  const auto bounded = [&](const OutputBounds& bounds) {
    return values_of<float>(real(OperationKind::add, ElementwiseAttributes{bounds, false}, {a, zero}, {4}));
  };
  const auto relu6_out = bounded({Activation::relu6, {}, {}});
  CHECK(std::vector<float>(relu6_out.begin(), relu6_out.end() - 1) == std::vector<float>{0, 2, 6});
  CHECK(std::isnan(relu6_out[3]));
  const auto clamped = bounded({Activation::none, {}, std::array<float, 2>{-1.5F, 2.5F}});
  CHECK(std::vector<float>(clamped.begin(), clamped.end() - 1) == std::vector<float>{-1.5, 2, 2.5});
  const Tensor image = reals({1, 1, 2, 1}, {nan, 1});
  CHECK(std::isnan(real(max_pool2d, Pool2dAttributes{{1, 2}, {1, 1}, valid, {}}, {image}, {1, 1, 1, 1}).values<float>()[0]));
}

// A converter leaves ReLU6 out: the codes of [0, 6] hold nothing else. Twice -4, 0.5, 2, 100.
TEST_CASE("a real value is bounded by what the codes of its tensor stand for, unless the backend says otherwise") {
  const Model model = parse_json_model(R"({
    "format": "lastbit.model.v1", "name": "relu6 by its codes",
    "tensors": [
      {"name": "x", "type": "int8", "shape": [4, 1], "quantization": {"scale": [0.5]}},
      {"name": "weights", "type": "int8", "shape": [1, 1], "quantization": {"scale": [1]}, "data": [2]},
      {"name": "y", "type": "int8", "shape": [4, 1], "quantization": {"scale": [0.0234375], "zero_point": [-128]}},
      {"name": "z", "type": "int8", "shape": [4, 1], "quantization": {"scale": [0.5], "zero_point": [3]}},
      {"name": "real", "type": "float32", "shape": [4, 1]}
    ],
    "operations": [
      {"op": "fully_connected", "name": "fc", "inputs": ["x", "weights", null], "outputs": ["y"], "attributes": {}},
      {"op": "requantize", "name": "again", "inputs": ["y"], "outputs": ["z"], "attributes": {}},
      {"op": "dequantize", "name": "real", "inputs": ["z"], "outputs": ["real"], "attributes": {}}
    ],
    "inputs": ["x"], "outputs": ["y", "real"]})",
                                       ".", "test");
  const std::vector<Tensor> x{reals({4, 1}, {-4, 0.5F, 2, 100})};
  const Trace bounded = run(model, float_golden, x), as_written = run(model, float_unbounded, x);
  CHECK(values_of<float>(*bounded.tensors[2]) == std::vector<float>{0, 1, 4, 5.9765625F});
  CHECK(values_of<float>(*bounded.tensors[4]) == std::vector<float>{0, 1, 4, 5.9765625F});
  CHECK(values_of<float>(*as_written.tensors[2]) == std::vector<float>{-8, 1, 4, 200});
  CHECK(values_of<float>(*as_written.tensors[4]) == std::vector<float>{-8, 1, 4, 200});
}

TEST_CASE("a bound by codes is the channel's own") {
  Model model = one_operation(OperationKind::relu, {}, {reals({2, 2}, {0, 0, 0, 0})}, {{2, 2}}, ElementType::float32);
  ModelTensor& out = model.tensors[static_cast<std::size_t>(model.operations[0].outputs[0])];
  out.type = ElementType::int8;
  out.quantization = {.scales = {1, 0.5}, .zero_points = {0, 0}, .axis = 0};
  const auto bounded = [&](std::int32_t axis) {
    out.quantization.axis = axis;
    const Executor executor = bounded_by_codes([](const Execution& each) { std::ranges::fill(each.outputs[0].values<float>(), 99.0F); },
                                               model, model.operations[0]);
    std::vector<Tensor> outputs{Tensor(ElementType::float32, {2, 2})};
    executor({{}, outputs});
    return values_of<float>(outputs[0]);
  };
  CHECK(bounded(0) == std::vector<float>{99, 99, 63.5F, 63.5F});
  CHECK(bounded(1) == std::vector<float>{99, 63.5F, 99, 63.5F});
}

TEST_CASE("a tensor that is no float32 is refused by name") {
  const Tensor input = counting<std::int8_t>({2});
  const Model model = one_operation(reshape, std::monostate{}, {input}, {{2, 1}}, ElementType::int8);
  CHECK_THROWS_WITH(prepare_real(model, model.operations[0]), contains_text("'input0' is int8"));
}

TEST_CASE("float: sums of products do not depend on the caches of the machine") {
  const Shape in{7, 1500}, weights{160, 1500}, out{7, 160};
  std::mt19937 random(seed);
  const std::vector<Tensor> inputs{random_real(in, random), random_real(weights, random)};
  const auto sums = [&](std::ptrdiff_t first_level) {
    Eigen::setCpuCacheSizes(first_level, 8 * first_level, 64 * first_level);
    return real(fully_connected, FullyConnectedAttributes{}, inputs, out);
  };
  const std::ptrdiff_t first = Eigen::l1CacheSize(), second = Eigen::l2CacheSize(), third = Eigen::l3CacheSize();
  const Tensor small = sums(24 << 10);
  for (const std::ptrdiff_t kib : {32, 48, 64, 128}) CHECK(sums(kib << 10) == small);
  Eigen::setCpuCacheSizes(first, second, third);
}
