// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ONNX models written here and read back: what survives, what is folded, what is the same in two versions of an operator.
#include "lastbit/io/onnx.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/onnx_file.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

using K = OperationKind;
constexpr unsigned seed = 5;

std::vector<OperationKind> kinds(const Model& model) {
  std::vector<OperationKind> found;
  for (const Operation& operation : model.operations)
    if (operation.kind != K::transpose && operation.kind != K::reshape) found.push_back(operation.kind);
  return found;
}

long count(const Model& model, OperationKind kind) {
  return std::count_if(model.operations.begin(), model.operations.end(),
                       [&](const Operation& operation) { return operation.kind == kind; });
}

Tensor floats(const Shape& shape, unsigned offset = 0) {
  std::mt19937 random(seed + offset);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor tensor(ElementType::float32, shape);
  for (float& value : tensor.values<float>()) value = uniform(random);
  return tensor;
}

std::vector<float> listed(const Tensor& tensor) { return {tensor.values<float>().begin(), tensor.values<float>().end()}; }

std::vector<std::int8_t> codes(std::size_t count, unsigned offset = 0) {
  std::mt19937 random(seed + offset);
  std::uniform_int_distribution<int> uniform(-128, 127);
  std::vector<std::int8_t> values(count);
  for (auto& value : values) value = static_cast<std::int8_t>(uniform(random));
  return values;
}

std::vector<Tensor> outputs(const Model& model, const char* backend, const std::vector<Tensor>& inputs) {
  const Trace trace = run(model, find_backend(backend).backend, inputs);
  std::vector<Tensor> found;
  for (const std::int32_t index : model.outputs) found.push_back(*trace.tensors[static_cast<std::size_t>(index)]);
  return found;
}

const ModelTensor& tensor(const Model& model, const std::string& name) {
  const auto index = model.find_tensor(name);
  INFO(name);
  REQUIRE(index.has_value());
  return model.tensor(*index);
}

void require_near(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  for (std::size_t i = 0; i < a.values<float>().size(); ++i) {
    INFO(i);
    REQUIRE(std::abs(a.values<float>()[i] - b.values<float>()[i]) <= 1e-5F);
  }
}

std::string refusal(const OnnxFile& file) {
  try {
    static_cast<void>(file.read());
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("an image keeps the user's names and shapes, and runs on companions") {
  OnnxFile file;
  file.input("x", {1, 2, 5, 4}).constant<float>("w", {3, 2, 3, 3}, listed(floats({3, 2, 3, 3})));
  file.constant<float>("b", {3}, {0.5F, -1, 2});
  set(file.node("Conv", {"x", "w", "b"}, {"c"}), "pads", Integers{1, 1, 1, 1});
  file.node("Relu", {"c"}, {"r"});
  file.node("GlobalAveragePool", {"r"}, {"y"});
  const Model model = file.output("y").read();
  CHECK(tensor(model, "x").shape == Shape{1, 2, 5, 4});
  CHECK(tensor(model, "c").shape == Shape{1, 3, 5, 4});
  CHECK(tensor(model, "c (NHWC)").shape == Shape{1, 5, 4, 3});
  CHECK(tensor(model, "w (OHWI)").shape == Shape{3, 3, 3, 2});
  CHECK(tensor(model, "y").shape == Shape{1, 3, 1, 1});
  CHECK(model.tensor(model.inputs[0]).name == "x");
  CHECK(kinds(model) == std::vector{K::conv2d, K::relu, K::global_average_pool});
  CHECK(count(model, K::transpose) == 4);  // one into the library's layout; c, r and y out of it
  CHECK_FALSE(model.find_tensor("w").has_value());

  const Tensor x = floats({1, 2, 5, 4}, 1);
  const Tensor weights = floats({3, 2, 3, 3});
  const Trace trace = run(model, find_backend("float").backend, std::vector{x}, {.keep_all = true});
  const Tensor& c = *trace.tensors[static_cast<std::size_t>(*model.find_tensor("c"))];
  const auto at = [&](const Tensor& t, std::int64_t n, std::int64_t i, std::int64_t y, std::int64_t z) {
    const Shape& s = t.shape();
    return t.values<float>()[static_cast<std::size_t>(((n * s[1] + i) * s[2] + y) * s[3] + z)];
  };
  const float bias[] = {0.5F, -1, 2};
  for (std::int64_t o = 0; o < 3; ++o) {
    double sum = double{bias[o]};  // the window around pixel (2, 1)
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t k = 0; k < 9; ++k) sum += double{at(x, 0, i, 1 + k / 3, k % 3)} * at(weights, o, i, k / 3, k % 3);
    CHECK(std::abs(double{at(c, 0, o, 2, 1)} - sum) <= 1e-5);
  }
}

TEST_CASE("a signal is an image of height 1, and keeps its shape") {
  OnnxFile file;
  file.input("x", {1, 2, 6}).constant<float>("w", {2, 1, 3}, {1, 2, 3, -1, 0, 1});
  set(file.node("Conv", {"x", "w"}, {"y"}), "group", 2);
  const Model model = file.output("y").read();
  CHECK(kinds(model) == std::vector{K::depthwise_conv2d});
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 0, 1, 0, 2, 0, 3};
  const auto y = outputs(model, "float", {Tensor::from<float>({1, 2, 6}, x)});
  CHECK(y[0].shape() == Shape{1, 2, 4});
  CHECK(listed(y[0]) == std::vector<float>{14, 20, 26, 32, 0, 1, 0, 1});
}

TEST_CASE("a BatchNormalization after a convolution is part of it") {
  const auto with_output = [](bool shown) {
    OnnxFile file(14);
    file.input("x", {1, 2, 4, 4}).constant<float>("w", {2, 2, 1, 1}, {1, -2, 0.5F, 3});
    file.constant<float>("scale", {2}, {2, 0.5F});
    file.constant<float>("offset", {2}, {1, -1});
    file.constant<float>("mean", {2}, {0.25F, -3});
    file.constant<float>("variance", {2}, {4, 0.01F});
    file.node("Conv", {"x", "w"}, {"c"});
    file.node("BatchNormalization", {"c", "scale", "offset", "mean", "variance"}, {"y"});
    file.output("y");
    if (shown) file.output("c");
    return file.read();
  };
  const Model folded = with_output(false), apart = with_output(true);
  CHECK(kinds(folded) == std::vector{K::conv2d});
  CHECK(kinds(apart) == std::vector{K::conv2d, K::mul, K::add});
  const Tensor x = floats({1, 2, 4, 4});
  require_near(outputs(folded, "float", {x})[0], outputs(apart, "float", {x})[0]);
}

namespace {

/// A convolution with per-channel weights, a bias and perhaps an activation, as QDQ pairs and as QLinearConv.
struct QuantizedConvolution {
  std::vector<std::int8_t> weights = codes(3 * 2 * 3 * 3);
  std::vector<float> weight_scales{0.01F, 0.02F, 0.005F};
  std::vector<std::int32_t> bias{100, -2000, 333};

  [[nodiscard]] OnnxFile constants() const {
    OnnxFile file;
    file.scale<std::int8_t>("x", 0.05F, 3);
    file.scale<std::int8_t>("y", 0.06F, -7);
    file.constant<std::int8_t>("w", {3, 2, 3, 3}, weights);
    file.constant<float>("w_scale", {3}, weight_scales);
    file.constant<std::int8_t>("w_zero", {3}, {0, 0, 0});
    file.constant<std::int32_t>("b", {3}, bias);
    return file;
  }

  [[nodiscard]] Model pairs(const std::string& activation) const {
    OnnxFile file = constants();
    std::vector<float> bias_scales;
    for (const float scale : weight_scales) bias_scales.push_back(scale * 0.05F);
    file.constant<float>("b_scale", {3}, bias_scales);
    file.constant<std::int32_t>("b_zero", {3}, {0, 0, 0});
    file.input<std::int8_t>("x", {1, 2, 6, 6});
    file.dequantize("x", "xf", "x");
    set(file.node("DequantizeLinear", {"w", "w_scale", "w_zero"}, {"wf"}), "axis", 0);
    set(file.node("DequantizeLinear", {"b", "b_scale", "b_zero"}, {"bf"}), "axis", 0);
    file.node("Conv", {"xf", "wf", "bf"}, {"cf"});
    if (activation == "Clip") {
      file.constant<float>("low", {}, {-0.5F});
      file.constant<float>("high", {}, {1.25F});
      file.node("Clip", {"cf", "low", "high"}, {"rf"});
    } else if (!activation.empty()) {
      file.node(activation, {"cf"}, {"rf"});
    }
    file.quantize(activation.empty() ? "cf" : "rf", "y", "y");
    return file.output("y").read();
  }

  [[nodiscard]] Model qlinear() const {
    OnnxFile file = constants();
    file.input<std::int8_t>("x", {1, 2, 6, 6});
    file.node("QLinearConv", {"x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"}, {"y"});
    return file.output("y").read();
  }
};

}  // namespace

TEST_CASE("QDQ pairs around a convolution are one quantised convolution, as QLinearConv is") {
  const QuantizedConvolution layer;
  const Model pairs = layer.pairs(""), qlinear = layer.qlinear();
  CHECK(kinds(pairs) == std::vector{K::conv2d});
  CHECK(kinds(qlinear) == std::vector{K::conv2d});
  CHECK(tensor(pairs, "w (OHWI)").quantization.scales.size() == 3);
  CHECK(tensor(pairs, "y").quantization == tensor(qlinear, "y").quantization);
  CHECK(tensor(pairs, "x").quantization.zero_point() == 3);
  CHECK_FALSE(pairs.find_tensor("cf").has_value());
  const std::vector<Tensor> x{Tensor::from<std::int8_t>({1, 2, 6, 6}, codes(72, 1))};
  const auto expected = outputs(qlinear, "onnxruntime", x)[0];
  CHECK(outputs(pairs, "onnxruntime", x)[0] == expected);

  // An activation before the QuantizeLinear bounds the codes.
  const auto bounded = [&](std::int64_t low, std::int64_t high) {
    Tensor result = expected;
    for (auto& code : result.values<std::int8_t>()) code = static_cast<std::int8_t>(std::clamp<std::int64_t>(code, low, high));
    return result;
  };
  const Model relu = layer.pairs("Relu"), clip = layer.pairs("Clip");
  CHECK(kinds(relu) == std::vector{K::conv2d});
  CHECK(outputs(relu, "onnxruntime", x)[0] == bounded(-7, 127));
  CHECK(kinds(clip) == std::vector{K::conv2d});
  CHECK(outputs(clip, "onnxruntime", x)[0] == bounded(-15, 14));  // -0.5/0.06 - 7 = -15.3, 1.25/0.06 - 7 = 13.8
}

TEST_CASE("QDQ pairs around each operator with integer arithmetic are one operation") {
  const auto one = [](const std::string& op, const Names& inputs, OperationKind kind, const auto& shape_attributes) {
    OnnxFile file;
    file.scale<std::uint8_t>("a", 0.02F, 100);
    file.scale<std::uint8_t>("b", 0.05F, 30);
    file.scale<std::uint8_t>("y", 0.04F, 90);
    Names floats;
    for (const std::string& name : inputs) {
      file.input<std::uint8_t>(name, {1, 2, 4, 4});
      file.dequantize(name, name + "f", name);
      floats.push_back(name + "f");
    }
    shape_attributes(file.node(op, floats, {"yf"}));
    file.quantize("yf", "y", "y");
    const Model model = file.output("y").read();
    INFO(op);
    CHECK(kinds(model) == std::vector{kind});
    CHECK_FALSE(model.find_tensor("yf").has_value());
  };
  const auto none = [](onnx::NodeProto&) {};
  one("Add", {"a", "b"}, K::add, none);
  one("Mul", {"a", "b"}, K::mul, none);
  one("Sub", {"a", "b"}, K::sub, none);
  one("Concat", {"a", "b"}, K::concat, [](onnx::NodeProto& node) { set(node, "axis", 1); });
  one("AveragePool", {"a"}, K::average_pool2d, [](onnx::NodeProto& node) { set(node, "kernel_shape", Integers{2, 2}); });
  one("GlobalAveragePool", {"a"}, K::global_average_pool, none);
  one("Sigmoid", {"a"}, K::logistic, none);
  one("LeakyRelu", {"a"}, K::leaky_relu, none);
  one("Softmax", {"a"}, K::softmax, none);
  one("Relu", {"a"}, K::relu, none);
  one("ReduceMean", {"a"}, K::mean, none);
}

TEST_CASE("what moves values is folded only where its integers mean the same before and after") {
  const auto pooled = [](float out_scale) {
    OnnxFile file;
    file.scale<std::uint8_t>("x", 0.02F, 100);
    file.scale<std::uint8_t>("y", out_scale, 100);
    file.input<std::uint8_t>("x", {1, 2, 4, 4});
    file.dequantize("x", "xf", "x");
    set(file.node("MaxPool", {"xf"}, {"yf"}), "kernel_shape", Integers{2, 2});
    file.quantize("yf", "y", "y");
    return file.output("y").read();
  };
  CHECK(kinds(pooled(0.02F)) == std::vector{K::max_pool2d});
  CHECK(kinds(pooled(0.03F)) == std::vector{K::max_pool2d, K::dequantize, K::quantize});
}

TEST_CASE("a float operator without integer arithmetic stays between dequantize and quantize") {
  OnnxFile file;
  file.scale<std::uint8_t>("x", 0.02F, 100);
  file.scale<std::uint8_t>("y", 0.04F, 90);
  file.input<std::uint8_t>("x", {1, 4});
  file.dequantize("x", "xf", "x");
  file.node("HardSigmoid", {"xf"}, {"yf"});
  file.quantize("yf", "y", "y");
  const Model model = file.output("y").read();
  CHECK(kinds(model) == std::vector{K::dequantize, K::mul, K::add, K::quantize});
  const std::vector<std::uint8_t> x{100, 150, 0, 255};
  const auto y = outputs(model, "float", {Tensor::from<std::uint8_t>({1, 4}, x)});
  require_near(y[0], Tensor::from<float>({1, 4}, std::vector<float>{0.5F, 0.7F, 0.1F, 1}));  // 0.2 * 0.02 * (x - 100) + 0.5, within 0 … 1
}

TEST_CASE("dequantised weights may be transposed on their way") {
  OnnxFile file;
  file.scale<std::int8_t>("x", 0.02F, 0);
  file.scale<std::int8_t>("w", 0.5F, 0);
  file.scale<std::int8_t>("y", 0.02F, 0);
  file.input<std::int8_t>("x", {1, 2}).constant<std::int8_t>("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  file.dequantize("x", "xf", "x");
  file.dequantize("w", "wf", "w");
  set(file.node("Transpose", {"wf"}, {"wt"}), "perm", Integers{1, 0});
  file.node("MatMul", {"xf", "wt"}, {"yf"});
  file.quantize("yf", "y", "y");
  const Model model = file.output("y").read();
  CHECK(kinds(model) == std::vector{K::fully_connected});
  const auto y = outputs(model, "onnxruntime", {Tensor::from<std::int8_t>({1, 2}, std::vector<std::int8_t>{10, 4})});
  CHECK(y[0] == Tensor::from<std::int8_t>({1, 3}, std::vector<std::int8_t>{9, 23, 37}));
}

TEST_CASE("ConvInteger and MatMulInteger deliver accumulators, with zero points per channel") {
  OnnxFile file;
  file.input<std::uint8_t>("x", {2, 2}).constant<std::uint8_t>("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  file.constant<std::uint8_t>("xz", {}, {5});
  file.constant<std::uint8_t>("wz", {3}, {1, 2, 3});
  file.node("MatMulInteger", {"x", "w", "xz", "wz"}, {"y"});
  const Model model = file.output("y").read();
  const auto y = outputs(model, "onnxruntime", {Tensor::from<std::uint8_t>({2, 2}, std::vector<std::uint8_t>{6, 7, 5, 4})});
  CHECK(y[0] == Tensor::from<std::int32_t>({2, 3}, std::vector<std::int32_t>{6, 6, 6, -3, -3, -3}));  // [1 2; 0 -1] * [0 0 0; 3 3 3]
}

TEST_CASE("ONNX Runtime's quantised operators are read as what they are") {
  OnnxFile file;
  file.add_domain("com.microsoft", 1);
  for (const char* const name : {"a", "b", "c", "d"}) file.scale<std::uint8_t>(name, 0.02F, 128);
  file.input<std::uint8_t>("a", {1, 2, 2, 2}).input<std::uint8_t>("b", {1, 2, 2, 2});
  const auto microsoft = [&](const std::string& op, const Names& inputs, const Names& outputs) {
    onnx::NodeProto& node = file.node(op, inputs, outputs);
    node.set_domain("com.microsoft");
    return &node;
  };
  microsoft("QLinearAdd", {"a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "c_scale", "c_zero"}, {"sum"});
  microsoft("QLinearSigmoid", {"sum", "c_scale", "c_zero", "d_scale", "d_zero"}, {"gate"});
  microsoft("QLinearMul", {"sum", "c_scale", "c_zero", "gate", "d_scale", "d_zero", "a_scale", "a_zero"}, {"product"});
  set(*microsoft("QLinearConcat", {"b_scale", "b_zero", "product", "a_scale", "a_zero", "b", "b_scale", "b_zero"}, {"joined"}), "axis", 1);
  microsoft("QLinearGlobalAveragePool", {"joined", "b_scale", "b_zero", "d_scale", "d_zero"}, {"y"});
  const Model model = file.output("y").read();
  CHECK(kinds(model) == std::vector{K::add, K::logistic, K::mul, K::concat, K::global_average_pool});
  CHECK(check(model, find_backend("onnxruntime").backend).empty());
  CHECK(tensor(model, "joined").shape == Shape{1, 4, 2, 2});
}

TEST_CASE("an operator reads the same whichever version says it") {
  const std::vector<Tensor> x{floats({2, 1, 6})};
  const auto old_and_new = [&](std::int64_t old_version, const auto& old_node, const auto& new_node) {
    OnnxFile before(old_version), after(13);
    before.input("x", {2, 1, 6});
    after.input("x", {2, 1, 6});
    old_node(before);
    new_node(after);
    for (const std::string& name : before.graph().node(0).output()) before.output(name), after.output(name);
    CHECK(outputs(before.read(), "float", x) == outputs(after.read(), "float", x));
  };
  old_and_new(
      11, [](OnnxFile& f) { set(f.node("Squeeze", {"x"}, {"y"}), "axes", Integers{1}); },
      [](OnnxFile& f) {
        f.constant<std::int64_t>("axes", {1}, {-2});
        f.node("Squeeze", {"x", "axes"}, {"y"});
      });
  old_and_new(
      9,
      [](OnnxFile& f) {
        auto& node = f.node("Slice", {"x"}, {"y"});
        set(node, "starts", Integers{0, 1});
        set(node, "ends", Integers{1, -1});
        set(node, "axes", Integers{0, 2});
      },
      [](OnnxFile& f) {
        f.constant<std::int64_t>("starts", {2}, {-2, 1});
        f.constant<std::int64_t>("ends", {2}, {1, 5});
        f.constant<std::int64_t>("axes", {2}, {0, -1});
        f.node("Slice", {"x", "starts", "ends", "axes"}, {"y"});
      });
  old_and_new(
      11,
      [](OnnxFile& f) {
        auto& node = f.node("Split", {"x"}, {"y", "z"});
        set(node, "split", Integers{2, 4});
        set(node, "axis", 2);
      },
      [](OnnxFile& f) {
        f.constant<std::int64_t>("split", {2}, {2, 4});
        set(f.node("Split", {"x", "split"}, {"y", "z"}), "axis", 2);
      });
  old_and_new(
      10,
      [](OnnxFile& f) {
        auto& node = f.node("Clip", {"x"}, {"y"});
        set(node, "min", -0.25F);
        set(node, "max", 0.5F);
      },
      [](OnnxFile& f) {
        f.constant<float>("low", {}, {-0.25F});
        f.constant<float>("high", {}, {0.5F});
        f.node("Clip", {"x", "low", "high"}, {"y"});
      });
  old_and_new(
      10,
      [](OnnxFile& f) {
        auto& node = f.node("Pad", {"x"}, {"y"});
        set(node, "pads", Integers{0, 0, 1, 0, 1, -2});
        set(node, "value", 0.75F);
      },
      [](OnnxFile& f) {
        f.constant<std::int64_t>("pads", {6}, {0, 0, 1, 0, 1, -2});
        f.constant<float>("value", {}, {0.75F});
        f.node("Pad", {"x", "pads", "value"}, {"y"});
      });
}

TEST_CASE("an open batch is one sample; any other open dimension is refused") {
  OnnxFile file;
  file.input("x", {1, 3});
  auto* shape = file.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("N");
  file.node("Relu", {"x"}, {"y"});
  file.output("y");
  CHECK(tensor(file.read(), "x").shape == Shape{1, 3});
  shape->mutable_dim(1)->set_dim_param("width");
  CHECK(refusal(file) == "test.onnx: input 'x': dimension 1 'width' is not fixed; only the first, the batch, may be open");
}

TEST_CASE("graph inputs can be given as constants") {
  OnnxFile file;
  file.input("x", {1, 4}).input<std::int64_t>("shape", {2});
  file.node("Reshape", {"x", "shape"}, {"y"});
  file.output("y");
  CHECK(refusal(file) == "test.onnx: Reshape (node 0): input 'shape' is not a constant");
  OnnxOptions options;
  options.constants.emplace("shape", Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{2, -1}));
  const Model model = file.read(options);
  CHECK(model.inputs.size() == 1);
  CHECK(tensor(model, "y").shape == Shape{2, 2});
}
