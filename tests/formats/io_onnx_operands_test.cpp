// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operands in less usual forms: vectors in products, alpha of a product of codes, images with channels last, constants that are codes.
#include "support/onnx_checks.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

Tensor computed(const OnnxFile& file, const std::vector<Tensor>& inputs, const char* backend = "float") {
  return outputs(file.read(), backend, inputs)[0];
}

Tensor of_codes(const Shape& shape, unsigned offset = 0) {
  return Tensor::from<std::int8_t>(shape, codes(static_cast<std::size_t>(shape.element_count()), offset));
}

Tensor moved(const Tensor& image, std::initializer_list<std::size_t> order) {
  std::vector<std::size_t> axes(order);
  std::vector<std::int64_t> sizes;
  for (const std::size_t axis : axes) sizes.push_back(image.shape()[axis]);
  Tensor result(image.type(), Shape(sizes));
  for (std::int64_t i = 0; i < result.element_count(); ++i) {
    std::int64_t rest = i, from = 0;
    for (std::size_t axis = 4; axis-- > 0;) {
      std::int64_t stride = 1;
      for (std::size_t later = axes[axis] + 1; later < 4; ++later) stride *= image.shape()[later];
      from += rest % sizes[axis] * stride;
      rest /= sizes[axis];
    }
    result.values<std::int8_t>()[static_cast<std::size_t>(i)] = image.values<std::int8_t>()[static_cast<std::size_t>(from)];
  }
  return result;
}

}  // namespace

TEST_CASE("a vector is a row on the left of a product and a column on the right") {
  const std::vector<float> matrix{1, 2, 3, 4, 5, 6};
  const auto product = [&](const Integers& a, const Integers& b, bool constant) {
    OnnxFile file;
    const auto count = [](const Integers& shape) { return shape.size() == 1 ? std::size_t{3} : std::size_t{6}; };
    file.input("a", a);
    const std::vector<float> values(matrix.begin(), matrix.begin() + static_cast<std::ptrdiff_t>(count(b)));
    if (constant) file.constant<float>("b", b, values);
    else file.input("b", b);
    file.node("MatMul", {"a", "b"}, {"y"});
    std::vector<Tensor> inputs{
        Tensor::from<float>(Shape(a), std::vector<float>(matrix.begin(), matrix.begin() + static_cast<std::ptrdiff_t>(count(a))))};
    if (!constant) inputs.push_back(Tensor::from<float>(Shape(b), values));
    return computed(file.output("y"), inputs);
  };
  for (const bool constant : {false, true}) {
    const Tensor row = product({3}, {3, 2}, constant), column = product({2, 3}, {3}, constant), number = product({3}, {3}, constant);
    CHECK(row.shape() == Shape{2});
    CHECK(listed(row) == std::vector<float>{22, 28});
    CHECK(column.shape() == Shape{2});
    CHECK(listed(column) == std::vector<float>{14, 32});
    CHECK(number.shape() == Shape{});
    CHECK(listed(number) == std::vector<float>{14});
  }
}

TEST_CASE("integers are multiplied by vectors as well") {
  OnnxFile file;
  file.input<std::int8_t>("a", {2, 3}).constant<std::int8_t>("b", {3}, {1, -2, 3});
  file.constant<std::int8_t>("zero", {}, {1});
  file.node("MatMulInteger", {"a", "b", "zero"}, {"y"});
  const Tensor y =
      computed(file.output("y"), {Tensor::from<std::int8_t>({2, 3}, std::vector<std::int8_t>{1, 2, 3, -4, 5, 6})}, "onnxruntime");
  CHECK(y.shape() == Shape{2});
  CHECK(y.integer_at(0) == -2 + 6);
  CHECK(y.integer_at(1) == -5 - 8 + 15);
}

TEST_CASE("alpha is part of the scale of a product of codes, but not of its bias") {
  const auto product = [](float alpha, float weight_scale, bool bias) {
    OnnxFile file;
    file.scale<std::int8_t>("x", 0.5F, 3);
    file.scale<std::int8_t>("w", weight_scale, 0);
    file.scale<std::int8_t>("y", 2, -1);
    file.constant<std::int8_t>("w", {2, 4}, {1, -2, 3, -4, 50, 60, -70, 80});
    file.constant<std::int32_t>("b", {2}, {40, -90});
    file.scale<std::int32_t>("b", 0.5F * weight_scale, 0);
    file.input<std::int8_t>("x", {1, 4});
    file.dequantize("x", "xf", "x");
    file.dequantize("w", "wf", "w");
    file.dequantize("b", "bf", "b");
    auto& node = file.node("Gemm", bias ? Names{"xf", "wf", "bf"} : Names{"xf", "wf"}, {"f"});
    set(node, "transB", 1);
    set(node, "alpha", alpha);
    file.quantize("f", "y", "y");
    return file.output("y").read();
  };
  const std::vector<Tensor> x{of_codes({1, 4})};
  const Model scaled = product(0.25F, 0.5F, false);
  CHECK(kinds(scaled) == std::vector{K::fully_connected});
  CHECK(outputs(scaled, "onnxruntime", x) == outputs(product(1, 0.125F, false), "onnxruntime", x));
  // What no scale says stays in float: a bias beside alpha, a negative alpha.
  CHECK(kinds(product(1, 0.5F, true)) == std::vector{K::fully_connected});
  for (const Model& real : {product(0.25F, 0.5F, true), product(-1, 0.5F, false)})
    CHECK(kinds(real) == std::vector{K::dequantize, K::fully_connected, K::quantize});
}

TEST_CASE("pools of codes with channels last are those with channels first") {
  const auto pooled = [](const std::string& op, bool last) {
    OnnxFile file;
    file.add_domain("com.microsoft", 1);
    file.scale<std::int8_t>("x", 0.5F, 3);
    file.scale<std::int8_t>("y", 0.25F, -4);
    file.input<std::int8_t>("x", last ? Integers{1, 5, 4, 2} : Integers{1, 2, 5, 4});
    auto& node = file.node(op, {"x", "x_scale", "x_zero", "y_scale", "y_zero"}, {"y"});
    node.set_domain("com.microsoft");
    if (last) set(node, "channels_last", 1);
    if (op == "QLinearAveragePool") {
      set(node, "kernel_shape", Integers{3, 2});
      set(node, "strides", Integers{2, 1});
      set(node, "pads", Integers{1, 0, 0, 1});
      set(node, "count_include_pad", 1);
    }
    return file.output("y");
  };
  const Tensor image = of_codes({1, 2, 5, 4});
  for (const std::string op : {"QLinearAveragePool", "QLinearGlobalAveragePool"}) {
    INFO(op);
    const Tensor first = computed(pooled(op, false), {image}, "onnxruntime");
    const Tensor last = computed(pooled(op, true), {moved(image, {0, 2, 3, 1})}, "onnxruntime");
    CHECK(moved(first, {0, 2, 3, 1}) == last);
  }
}

TEST_CASE("constants that are codes are divisors and paddings") {
  const auto with = [](const std::string& op, bool coded) {
    OnnxFile file;
    file.input("x", {3}).constant<std::int64_t>("pads", {2}, {1, 2});
    file.scale<std::int8_t>("s", 0.75F, 10);
    file.constant<std::int8_t>("code", {}, {14});
    file.constant<float>("real", {}, {3});
    file.dequantize("code", "decoded", "s");
    const char* const operand = coded ? "decoded" : "real";
    file.node(op, op == "Pad" ? Names{"x", "pads", operand} : Names{"x", operand}, {"y"});
    return file.output("y");
  };
  const Tensor x = Tensor::from<float>({3}, std::vector<float>{1, 10, -2});
  CHECK(listed(computed(with("Pad", true), {x})) == std::vector<float>{3, 1, 10, -2, 3, 3});
  CHECK(computed(with("Pad", true), {x}) == computed(with("Pad", false), {x}));
  // 10 * (1.0F / 3) is another float.
  for (const bool coded : {true, false})
    CHECK(listed(computed(with("Div", coded), {x})) == std::vector<float>{1.0F / 3, 10.0F / 3, -2.0F / 3});
}
