// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Single values at the edge of a rule, worked out by hand: where a proof just fails, where a bound just holds.
#include <algorithm>

#include "lastbit/backends/tflite.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"

using namespace lastbit;
using test::contains_text;

namespace {

const Quantization plain{{1.0}, {0}};

std::vector<std::int64_t> codes(const Model& model, const Backend& backend, const std::vector<Tensor>& inputs) {
  const Trace trace = run(model, backend, inputs);
  const Tensor& out = *trace.tensors[static_cast<std::size_t>(model.outputs[0])];
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < out.element_count(); ++i) values.push_back(out.integer_at(i));
  return values;
}

/// One output of this many terms, delivered as it is.
Model sum_of_products(const std::vector<std::int8_t>& weights) {
  const auto terms = static_cast<std::int64_t>(weights.size());
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::int8, {1, terms}, plain});
  const auto w = builder.constant<std::int8_t>("w", {1, terms}, weights, plain);
  return builder.finished({builder.operation(OperationKind::fully_connected, {x, w}, {"y", ElementType::int32, {1, 1}})});
}

}  // namespace

TEST_CASE("a sum that reaches 2^15 exactly leaves 16 bits: the proof of the fast path must not take it") {
  // Eight times 64 * 64 is 32768, one beyond int16, which holds it at 32767; less 64 * 64 that leaves 28671. Added up in 32 bits it is 28672.
  std::vector<std::int8_t> weights(9, 64);
  weights.back() = -64;
  Backend backend = tflite_double;
  backend.fully_connected.i8.sum.accumulator = {.bits = 16, .overflow = Overflow::saturate, .when = NarrowingPoint::every_add};
  const std::vector<Tensor> x{Tensor::from<std::int8_t>({1, 9}, std::vector<std::int8_t>(9, 64))};
  CHECK(codes(sum_of_products(weights), backend, x) == std::vector<std::int64_t>{28671});
  // One less fits: 7 * 4096 + 63 * 64 = 32704.
  weights[0] = 63;
  CHECK(codes(sum_of_products(weights), backend, x) == std::vector<std::int64_t>{32704 - 4096});
}

TEST_CASE("relu_n1_to_1 bounds codes on both sides, by the output's scale and zero point") {
  const Quantization fine{{0.01}, {5}};  // -1 is code -95, 1 is code 105
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::int8, {1, 4}, fine}), y = builder.input({"y", ElementType::int8, {1, 4}, fine});
  const Model model = builder.finished(
      {builder.operation(OperationKind::add, {x, y}, {"z", ElementType::int8, {1, 4}, fine},
                         ElementwiseAttributes{.bounds = {.activation = Activation::relu_n1_to_1, .clamp = {}, .real_clamp = {}}})});
  const std::vector<Tensor> inputs{Tensor::from<std::int8_t>({1, 4}, std::vector<std::int8_t>{127, 104, -128, -94}),
                                   Tensor::from<std::int8_t>({1, 4}, std::vector<std::int8_t>{127, 5, -128, 5})};
  CHECK(codes(model, tflite_double, inputs) == std::vector<std::int64_t>{105, 104, -95, -94});
}

TEST_CASE("an average by a reciprocal counts padding as the zero point, in the sum and in the count") {
  ModelBuilder builder;
  const Quantization shifted{{1.0}, {16}};
  const auto x = builder.input({"x", ElementType::int8, {1, 2, 2, 1}, shifted});
  const Model model = builder.finished({builder.operation(
      OperationKind::average_pool2d, {x}, {"y", ElementType::int8, {1, 3, 3, 1}, shifted},
      Pool2dAttributes{.filter = {2, 2}, .stride = {1, 1}, .padding = {PaddingMode::explicit_sizes, 1, 1, 1, 1}, .bounds = {}})});
  Backend backend = tflite_double;
  set_rule(backend, "average_pool", "fixed_reciprocal");
  // 512/4 = 128: floor((inside + 16 for every tap outside) * 128 / 512).
  const std::vector<Tensor> inputs{Tensor::from<std::int8_t>({1, 2, 2, 1}, std::vector<std::int8_t>{100, 50, -7, 3})};
  const auto average = [](std::int64_t sum) { return (sum - ((sum % 4) + 4) % 4) / 4; };
  CHECK(codes(model, backend, inputs) == std::vector<std::int64_t>{average(100 + 48), average(150 + 32), average(50 + 48), average(93 + 32),
                                                                   average(146), average(53 + 32), average(-7 + 48), average(-4 + 32),
                                                                   average(3 + 48)});
}

TEST_CASE("a sum of more than 32 bits is not delivered as its low half: the layer is refused; the last that fits is delivered") {
  const auto biased = [](std::int32_t bias) {
    ModelBuilder builder;
    const auto x = builder.input({"x", ElementType::int8, {1, 1}, plain});
    const auto w = builder.constant<std::int8_t>("w", {1, 1}, {1}, plain);
    const auto b = builder.constant<std::int32_t>("b", {1}, {bias}, plain);
    return builder.finished({builder.operation(OperationKind::fully_connected, {x, w, b}, {"y", ElementType::int32, {1, 1}})});
  };
  Backend backend = tflite_double;
  backend.fully_connected.i8.sum.accumulator.bits = 64;
  const std::vector<Tensor> one{Tensor::from<std::int8_t>({1, 1}, std::vector<std::int8_t>{1})};
  CHECK(codes(biased(2147483646), backend, one) == std::vector<std::int64_t>{2147483647});
  CHECK_THROWS_WITH(codes(biased(2147483647), backend, one),
                    contains_text("fully_connected 'y': the sum 2147483648 does not fit in the int32 that it goes on as"));
}

TEST_CASE("codes that are not centred reach -128: the proof of the fast path must not take 127 for the farthest") {
  Backend backend = tflite_double;
  SumArithmetic& sum = backend.fully_connected.i8.sum;
  sum.centring = Centring::nothing;
  sum.accumulator = {.bits = 16, .overflow = Overflow::saturate, .when = NarrowingPoint::every_add};
  const std::vector<Tensor> lowest{Tensor::from<std::int8_t>({1, 3}, std::vector<std::int8_t>(3, -128))};
  CHECK(codes(sum_of_products({127, 127, 3}), backend, lowest) ==
        std::vector<std::int64_t>{-32768});  // 257 * 127 is 32639, 257 * 128 is 32896
}

TEST_CASE("sums of a window that saturate at every term depend on the order of the terms") {
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::int8, {1, 1, 3, 1}, plain});
  const Model model =
      builder.finished({builder.operation(OperationKind::average_pool2d, {x}, {"y", ElementType::int8, {1, 1, 1, 1}, plain},
                                          Pool2dAttributes{.filter = {1, 3}, .stride = {1, 1}, .padding = {}, .bounds = {}})});
  Backend backend = tflite_double;
  backend.average_pool.sum.accumulator = {.bits = 8, .overflow = Overflow::saturate, .when = NarrowingPoint::every_add};
  const std::vector<Tensor> inputs{Tensor::from<std::int8_t>({1, 1, 3, 1}, std::vector<std::int8_t>{100, 100, -100})};
  CHECK(codes(model, backend, inputs) == std::vector<std::int64_t>{9});  // 127, and 27 / 3; all at once 100 / 3
}

TEST_CASE("codes below their zero point count in the proof of an element-wise sum") {
  const Quantization highest{{1.0}, {127}}, middle{{1.0}, {100}};
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::int8, {1, 1}, highest}), y = builder.input({"y", ElementType::int8, {1, 1}, highest});
  const Model model = builder.finished({builder.operation(OperationKind::add, {x, y}, {"z", ElementType::int8, {1, 1}, middle})});
  Backend backend = tflite_double;
  backend.add.i8 = {.centring = Centring::own_zero_point,
                    .accumulator = {.bits = 8, .overflow = Overflow::saturate, .when = NarrowingPoint::every_add},
                    .output = {.chain = {stage::add_zero_point(), stage::clamp()}}};
  const Tensor lowest = Tensor::from<std::int8_t>({1, 1}, std::vector<std::int8_t>{-128});
  CHECK(codes(model, backend, {lowest, lowest}) == std::vector<std::int64_t>{-28});  // -255 and again -255 in 8 bits are -128
}

TEST_CASE("a layer lowered to one scale: each bias counts in its own channel's") {
  ModelBuilder builder;
  const Quantization two_scales{{1.0, 0.25}, {0}, 0};
  const auto x = builder.input({"x", ElementType::int8, {1, 1, 1, 1}, plain});
  const auto w = builder.constant<std::int8_t>("w", {2, 1, 1, 1}, {2, 2}, two_scales);
  const auto b = builder.constant<std::int32_t>("b", {2}, {4, 8}, two_scales);
  const Model model =
      builder.finished({builder.operation(OperationKind::conv2d, {x, w, b}, {"y", ElementType::int32, {1, 1, 1, 2}}, Conv2dAttributes{})});
  Backend backend = tflite_double;
  backend.conv.i8.per_channel = PerChannelLowering::requantized_to_tensor;
  // One scale, 2 / 255: weights 2 and 0.5 are 255 and 64, biases 4 and 2 are 510 and 255.
  const std::vector<Tensor> one{Tensor::from<std::int8_t>({1, 1, 1, 1}, std::vector<std::int8_t>{1})};
  CHECK(codes(model, backend, one) == std::vector<std::int64_t>{765, 319});
}

TEST_CASE("a sum of several operands is narrowed where its tiles end") {
  ModelBuilder builder;
  std::vector<std::int32_t> operands;
  for (const char* const name : {"a", "b", "c"}) operands.push_back(builder.input({name, ElementType::int8, {1, 1}, plain}));
  const Model model = builder.finished({builder.operation(OperationKind::add_n, operands, {"y", ElementType::int8, {1, 1}, plain})});
  Backend backend = tflite_double;
  backend.add_n.i8 = {.centring = Centring::own_zero_point,
                      .accumulator = {.bits = 8, .overflow = Overflow::saturate, .when = NarrowingPoint::every_tile, .tile = {2}},
                      .output = {.chain = {stage::add_zero_point(), stage::clamp()}}};
  std::vector<Tensor> inputs;
  for (const std::int8_t code : std::vector<std::int8_t>{100, 100, -100})
    inputs.push_back(Tensor::from<std::int8_t>({1, 1}, std::vector<std::int8_t>{code}));
  CHECK(codes(model, backend, inputs) == std::vector<std::int64_t>{27});  // 127 after two, and 27
}
