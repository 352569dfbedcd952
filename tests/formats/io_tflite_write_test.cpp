// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "formats/json_model.hpp"
#include "lastbit/io/tflite.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/same_network.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

/// One convolution of one pixel, which every test spoils in another way.
Model pixel() {
  Model model;
  model.name = "pixel";
  model.tensors = {
      {"in", ElementType::int8, Shape{1, 4, 4, 2}, {{0.5}, {-3}, 0}, {}},
      {"w",
       ElementType::int8,
       Shape{1, 1, 1, 2},
       {{0.25}, {0}, 0},
       Tensor::from<std::int8_t>(Shape{1, 1, 1, 2}, std::vector<std::int8_t>{3, -4})},
      {"b", ElementType::int32, Shape{1}, {{0.125}, {0}, 0}, Tensor::from<std::int32_t>(Shape{1}, std::vector<std::int32_t>{70000})},
      {"out", ElementType::int8, Shape{1, 4, 4, 1}, {{0.75}, {5}, 0}, {}}};
  model.operations = {
      {OperationKind::conv2d, "out", {0, 1, 2}, {3}, Conv2dAttributes{.stride = {1, 1}, .dilation = {1, 1}, .padding = {}}}};
  model.inputs = {0};
  model.outputs = {3};
  validate(model, "test");
  return model;
}

std::string refusal(const Model& model) {
  const auto refused = refusal_of([&] { (void)tflite_bytes(model, "x.tflite"); });
  if (!refused || refused->code != ErrorCode::unsupported_operation || !refused->is_one_line()) return "not refused";
  return refused->message;
}

}  // namespace

TEST_CASE("what the reader makes of a file of every operator, written and read again") {
  std::set<OperationKind> kinds;
  for (const auto& path : seeds("tflite_fuzz")) {
    const Model model = read_tflite(path);
    INFO(path.string());
    CHECK(differences(model, parse_tflite(tflite_bytes(model, "x.tflite"), "x.tflite")) == "");
    kinds.insert(model.operations.front().kind);
  }
  CHECK(kinds.size() == 46);  // all that the reader knows but svdf and lstm
}

TEST_CASE("a model with names, per-channel scales and bounds") {
  Model model = pixel();
  CHECK(differences(model, parse_tflite(tflite_bytes(model, "x.tflite"), "x.tflite")) == "");
  auto& attributes = std::get<Conv2dAttributes>(model.operations[0].attributes);
  attributes.bounds.activation = Activation::relu6;
  attributes.stride = {2, 3};
  attributes.padding.mode = PaddingMode::same;
  model.tensors[3].shape = Shape{1, 2, 2, 1};
  const Model back = parse_tflite(tflite_bytes(model, "x.tflite"), "x.tflite");
  CHECK(differences(model, back) == "");
  CHECK(back.name == "pixel");
  CHECK(std::get<Conv2dAttributes>(back.operations[0].attributes).stride == Extent2d{2, 3});
}

TEST_CASE("explicit padding that is `same` or `valid` by another name") {
  Model model = pixel();
  model.tensors[1].shape = Shape{1, 3, 3, 2};
  model.tensors[1].constant = Tensor(ElementType::int8, Shape{1, 3, 3, 2});
  auto& padding = std::get<Conv2dAttributes>(model.operations[0].attributes).padding;
  const auto written = [&] {
    const Model back = parse_tflite(tflite_bytes(model, "x.tflite"), "x.tflite");
    return std::get<Conv2dAttributes>(back.operations[0].attributes).padding.mode;
  };
  padding = {PaddingMode::explicit_sizes, 1, 1, 1, 1};
  CHECK(written() == PaddingMode::same);
  padding = {PaddingMode::explicit_sizes, 0, 0, 0, 0};
  model.tensors[3].shape = Shape{1, 2, 2, 1};
  CHECK(written() == PaddingMode::valid);
  padding = {PaddingMode::explicit_sizes, 2, 0, 1, 1};
  CHECK_THAT(refusal(model), contains_text("x.tflite: conv2d 'out' (operation 0): padding of 2, 0, 1, 1, which a .tflite file cannot say"));
}

TEST_CASE("what the format cannot say is refused, never rounded") {
  Model model = pixel();
  model.tensors[0].quantization.scales = {0.1};
  CHECK_THAT(refusal(model), contains_text("tensor 'in': a scale that is no 32-bit float"));
  model = pixel();
  std::get<Conv2dAttributes>(model.operations[0].attributes).bounds.clamp = IntegerRange{-5, 5};
  CHECK_THAT(refusal(model), contains_text("outright bounds"));
  model = pixel();
  std::get<Conv2dAttributes>(model.operations[0].attributes).bounds.accumulator_clip = {100};
  CHECK_THAT(refusal(model), contains_text("bounds of the accumulator"));
  model = pixel();
  std::get<Conv2dAttributes>(model.operations[0].attributes).bounds.registers = {{77, 9}};
  CHECK_THAT(refusal(model), contains_text("registers"));
  model = pixel();
  model.operations[0] = {OperationKind::clip, "e", {0}, {3}, ClipAttributes{}};
  CHECK_THAT(refusal(model), contains_text("clip 'e' (operation 0): this operation"));
  model = pixel();
  model.tensors[0].type = ElementType::float16;
  CHECK_THAT(refusal(model), contains_text("element type float16"));
  model = pixel();
  model.states = {{0, 3}};
  CHECK_THAT(refusal(model), contains_text("states"));
}
