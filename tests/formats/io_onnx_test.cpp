// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ONNX models written here and read back: what survives, what is folded, what is the same in two versions of an operator.
#include "lastbit/registry.hpp"
#include "support/onnx_checks.hpp"

using namespace lastbit;
using namespace lastbit::test;

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

TEST_CASE("an average is of planar images until a convolution has made them channels last") {
  const auto is_planar = [](bool convolves, std::int64_t channels) {
    OnnxFile file;
    file.input("x", {1, channels, 5, 4}).constant<float>("w", {3, channels, 1, 1}, listed(floats({3, channels, 1, 1})));
    if (convolves) file.node("Conv", {"x", "w"}, {"c"});
    file.node("Relu", {convolves ? "c" : "x"}, {"r"});
    file.node("GlobalAveragePool", {"r"}, {"y"});
    const Model model = file.output("y").read();
    const auto pool = std::ranges::find(model.operations, K::global_average_pool, &Operation::kind);
    return std::get<Pool2dAttributes>(pool->attributes).planar;
  };
  CHECK(is_planar(false, 2));
  CHECK_FALSE(is_planar(true, 2));
  CHECK_FALSE(is_planar(false, 1));  // which is both
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

TEST_CASE("the last part of a split that is not even is the smaller one") {
  OnnxFile file(18);
  file.input("x", {7});
  set(file.node("Split", {"x"}, {"a", "b", "c"}), "num_outputs", 3);
  const Model model = file.output("a").output("b").output("c").read();
  CHECK(tensor(model, "a").shape == Shape{3});
  CHECK(tensor(model, "b").shape == Shape{3});
  CHECK(tensor(model, "c").shape == Shape{1});
}

TEST_CASE("a C of Gemm with one value per row is added row by row, square as the product may be") {
  OnnxFile file;
  file.input("x", {2, 2});
  file.constant<float>("b", {2, 2}, {1, 0, 0, 1});
  file.constant<float>("c", {2, 1}, {10, 20});
  file.node("Gemm", {"x", "b", "c"}, {"y"});
  const Model model = file.output("y").read();
  const Tensor x = Tensor::from<float>({2, 2}, std::vector<float>{1, 2, 3, 4});
  CHECK(listed(outputs(model, "float", {x})[0]) == std::vector<float>{11, 12, 23, 24});
}

TEST_CASE("the odd padding of a stated output shape goes before, unless SAME_UPPER is said") {
  const auto padding_of = [](const char* mode) {
    OnnxFile file;
    file.input("x", {1, 1, 3, 3});
    file.constant<float>("w", {1, 1, 3, 3}, std::vector<float>(9, 1));
    auto& node = file.node("ConvTranspose", {"x", "w"}, {"y"});
    set(node, "strides", Integers{2, 2});
    set(node, "output_shape", Integers{6, 6});  // 7 without padding
    if (mode != nullptr) set(node, "auto_pad", mode);
    const Model model = file.output("y").read();
    for (const Operation& operation : model.operations)
      if (operation.kind == K::transposed_conv2d) return std::get<Conv2dAttributes>(operation.attributes).padding;
    return Padding2d{};
  };
  for (const char* mode : {static_cast<const char*>(nullptr), "SAME_LOWER"}) {
    CHECK(padding_of(mode).top == 1);
    CHECK(padding_of(mode).bottom == 0);
  }
  CHECK(padding_of("SAME_UPPER").top == 0);
  CHECK(padding_of("SAME_UPPER").bottom == 1);
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
  CHECK(refusal(file) == "test.onnx: input 'x': dimension 1 'width' is open; --shape x=1x? says which");
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
