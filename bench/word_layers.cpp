// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "word_layers.hpp"
#include "lastbit/registry.hpp"

namespace lastbit::bench {
namespace {

/// Input, weights and output shapes, and the operation.
struct Plan {
  Shape input, weights, output;
  OperationKind kind;
  Attributes attributes;
};

Plan plan_of(WordLayerKind kind) {
  Conv2dAttributes conv;
  switch (kind) {
    case WordLayerKind::affine: return {{8, 1024}, {1024, 1024}, {8, 1024}, OperationKind::fully_connected, FullyConnectedAttributes{}};
    case WordLayerKind::line:
      conv.stride = {1, 8};
      return {{1, 1, 8192, 1}, {128, 1, 192, 1}, {1, 1, 1001, 128}, OperationKind::conv2d, conv};
    default:
      conv.padding = {PaddingMode::explicit_sizes, 1, 1, 1, 1};
      return {{1, 56, 56, 64}, {64, 3, 3, 64}, {1, 56, 56, 64}, OperationKind::conv2d, conv};
  }
}

/// Largest weight under which the sum of one output stays within 31 bits whatever the input.
std::int64_t safe_weight(const Shape& weights) {
  constexpr std::int64_t largest_sum_of_weights = 65000;
  return largest_sum_of_weights / (weights.element_count() / weights[0]);
}

Tensor weights_of(const Shape& shape, ElementType type, Sums sums) {
  const std::int64_t most = sums == Sums::proven ? safe_weight(shape) : range_of(type).max;
  return type == ElementType::int8 ? random_values<std::int8_t>(shape, -most, most, 1) : random_values<std::int16_t>(shape, -most, most, 1);
}

}  // namespace

std::shared_ptr<Prepared> prepare_word_layer(const WordLayer& layer, Sums sums) {
  const Plan plan = plan_of(layer.kind);
  const std::int64_t outputs = plan.weights[0];
  Model model;
  model.name = layer.name;
  model.tensors = {{"input", ElementType::int16, plan.input, {}, {}},
                   {"weights", layer.weights, plan.weights, {}, weights_of(plan.weights, layer.weights, sums)},
                   {"bias", ElementType::int32, {outputs}, {}, random_tensor(ElementType::int32, {outputs}, 2)},
                   {"output", ElementType::int32, plan.output, {}, {}}};
  model.operations = {{plan.kind, "layer", {0, 1, 2}, {3}, plan.attributes}};
  model.inputs = {0};
  model.outputs = {3};
  validate(model, model.name);
  return prepare_model(std::move(model), find_backend(layer.backend).backend);
}

}  // namespace lastbit::bench
