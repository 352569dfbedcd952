// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Quantised ONNX models: what is folded between DequantizeLinear and QuantizeLinear, and operators on integers.
#include "lastbit/registry.hpp"
#include "support/onnx_checks.hpp"

using namespace lastbit;
using namespace lastbit::test;

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
  const auto expected = outputs(qlinear, "tflite_double", x)[0];
  CHECK(outputs(pairs, "tflite_double", x)[0] == expected);

  // An activation before the QuantizeLinear bounds the codes.
  const auto bounded = [&](std::int64_t low, std::int64_t high) {
    Tensor result = expected;
    for (auto& code : result.values<std::int8_t>()) code = static_cast<std::int8_t>(std::clamp<std::int64_t>(code, low, high));
    return result;
  };
  const Model relu = layer.pairs("Relu"), clip = layer.pairs("Clip");
  CHECK(kinds(relu) == std::vector{K::conv2d});
  CHECK(outputs(relu, "tflite_double", x)[0] == bounded(-7, 127));
  CHECK(kinds(clip) == std::vector{K::conv2d});
  CHECK(outputs(clip, "tflite_double", x)[0] == bounded(-15, 14));  // -0.5/0.06 - 7 = -15.3, 1.25/0.06 - 7 = 13.8
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
