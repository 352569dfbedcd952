// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/emulator.hpp"
#include "support/catch.hpp"
#include "support/one_operation.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

Tensor integers(const Shape& shape, const std::vector<std::int8_t>& values) { return Tensor::from<std::int8_t>(shape, values); }

/// Two layers that share weights and a bias without a scale; their inputs differ in scale.
Model two_layers() {
  Model model;
  const Tensor weights = integers({2, 1}, {3, -4});
  const Tensor bias = Tensor::from<std::int32_t>({2}, std::vector<std::int32_t>{100, -200});
  model.tensors = {{"a", ElementType::int8, {1, 1}, {{0.5}, {1}, 0}, {}},
                   {"b", ElementType::int8, {1, 1}, {{0.25}, {0}, 0}, {}},
                   {"weights", ElementType::int8, {2, 1}, {{0.5, 2}, {0, 0}, 0}, weights},
                   {"bias", ElementType::int32, {2}, {}, bias},
                   {"out a", ElementType::int8, {1, 2}, {{2}, {-10}, 0}, {}},
                   {"out b", ElementType::int8, {1, 2}, {{1}, {0}, 0}, {}}};
  FullyConnectedAttributes clamped;
  clamped.bounds.clamp = IntegerRange{-20, 5};
  model.operations = {{OperationKind::fully_connected, "first", {0, 2, 3}, {4}, clamped},
                      {OperationKind::fully_connected, "second", {1, 2, 3}, {5}, FullyConnectedAttributes{}}};
  model.inputs = {0, 1};
  model.outputs = {4, 5};
  validate(model, "test");
  return model;
}

std::vector<float> bias_values(const Model& model, std::size_t operation) {
  return values_of<float>(*model.tensor(model.operations[operation].inputs[2]).constant);
}

}  // namespace

TEST_CASE("a tensor's values, per tensor and per channel of each axis") {
  const Tensor tensor = integers({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(values_of<float>(dequantized(tensor, {{0.5}, {2}, 0})) == std::vector<float>{-0.5, 0, 0.5, 1, 1.5, 2});
  CHECK(values_of<float>(dequantized(tensor, {{1, 10}, {0, 1}, 0})) == std::vector<float>{1, 2, 3, 30, 40, 50});
  CHECK(values_of<float>(dequantized(tensor, {{1, 10, 100}, {}, 1})) == std::vector<float>{1, 20, 300, 4, 50, 600});
  CHECK(values_of<float>(dequantized(tensor, {})) == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("the product is made in double and rounded once") {
  const Tensor tensor = Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{16777217});  // no float32
  CHECK(dequantized(tensor, {{3.0}, {0}, 0}).values<float>()[0] ==
        50331652.0F);  // 50331651 to a multiple of 4; the rounded factor gives ...648
}

TEST_CASE("a dequantised model is all float32 without scales") {
  const Model real = dequantized(two_layers());
  for (const ModelTensor& tensor : real.tensors) {
    INFO(tensor.name);
    CHECK(tensor.type == ElementType::float32);
    CHECK_FALSE(tensor.quantization.present());
    if (tensor.constant) CHECK(tensor.constant->type() == ElementType::float32);
  }
  validate(real, "dequantised");
  CHECK(values_of<float>(*real.tensors[2].constant) == std::vector<float>{1.5, -8});
}

TEST_CASE("a shared bias without a scale counts in each layer's own input and weight scales") {
  const Model real = dequantized(two_layers());
  CHECK(bias_values(real, 0) == std::vector<float>{25, -200});
  CHECK(bias_values(real, 1) == std::vector<float>{12.5, -100});
}

TEST_CASE("a bias with a scale keeps it") {
  Model model = two_layers();
  model.tensors[3].quantization = {{0.125}, {0}, 0};
  const Model real = dequantized(model);
  CHECK(real.tensors.size() == model.tensors.size());
  CHECK(bias_values(real, 0) == std::vector<float>{12.5, -25});
}

TEST_CASE("a computed bias without a scale is refused") {
  Model model = two_layers();
  model.tensors[3].constant.reset();
  model.inputs.push_back(3);
  CHECK_THROWS_AS(dequantized(model), Error);
}

TEST_CASE("quantised bounds and padding values become real ones") {
  const Model real = dequantized(two_layers());
  const auto& bounds = std::get<FullyConnectedAttributes>(real.operations[0].attributes).bounds;
  CHECK_FALSE(bounds.clamp);
  CHECK(bounds.real_clamp == std::array<float, 2>{-20, 30});  // 2 * (-20 + 10), 2 * (5 + 10)

  Model padded = one_operation(OperationKind::pad, PadAttributes{{{1, 0}}, 7, {}}, {counting<std::int8_t>({2})}, {{3}}, ElementType::int8);
  for (ModelTensor& tensor : padded.tensors) tensor.quantization = {{0.5}, {3}, 0};
  const Model real_pad = dequantized(padded);
  const auto& pad = std::get<PadAttributes>(real_pad.operations[0].attributes);
  CHECK_FALSE(pad.value);
  CHECK(pad.real_value == 2.0);
}
