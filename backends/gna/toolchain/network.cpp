// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "gna/toolchain/network.hpp"

namespace lastbit::gna {

bool is_activation(OperationKind kind) {
  using enum OperationKind;
  return kind == relu || kind == relu6 || kind == relu_n1_to_1 || kind == clip || kind == leaky_relu || kind == logistic ||
         kind == OperationKind::tanh;
}

const OutputBounds& bounds_of(const Operation& layer) {
  if (layer.kind == OperationKind::fully_connected) return std::get<FullyConnectedAttributes>(layer.attributes).bounds;
  return std::get<Conv2dAttributes>(layer.attributes).bounds;
}

FloatNetwork::FloatNetwork(const Model& model) : model_(model), readers_(model.tensors.size()), writers_(model.tensors.size()) {
  for (std::size_t i = 0; i < model_.operations.size(); ++i) {
    for (const std::int32_t input : model_.operations[i].inputs)
      if (input != absent_tensor) readers_[static_cast<std::size_t>(input)].push_back(i);
    for (const std::int32_t output : model_.operations[i].outputs) writers_[static_cast<std::size_t>(output)] = &model_.operations[i];
  }
  for (const std::int32_t output : model_.outputs) readers_[static_cast<std::size_t>(output)].push_back(model_.operations.size());
}

/// The one operation that reads the output, or nothing.
std::optional<std::size_t> FloatNetwork::only_reader(const Operation& operation) const {
  const auto& readers = readers_[static_cast<std::size_t>(operation.outputs[0])];
  if (readers.size() != 1 || readers[0] == model_.operations.size()) return std::nullopt;
  return readers[0];
}

bool FloatNetwork::is_behind_concat(const Operation& layer) const {
  const auto writer_of = [&](const Operation& operation) { return writers_[static_cast<std::size_t>(operation.inputs[0])]; };
  const Operation* writer = writer_of(layer);
  while (writer != nullptr && is_movement(writer->kind)) writer = writer_of(*writer);
  return writer != nullptr && writer->kind == OperationKind::concat;
}

FusedLayer FloatNetwork::fused_layer_from(std::size_t index) const {
  FusedLayer fused;
  const Operation* last = &model_.operations[index];
  fused.members = {index};
  const auto next = [&](auto&& wanted) -> const Operation* {
    const auto reader = only_reader(*last);
    if (!reader || !wanted(model_.operations[*reader].kind)) return nullptr;
    fused.members.push_back(*reader);
    return last = &model_.operations[*reader];
  };
  if (is_activation(last->kind)) fused.activation = last;
  else fused.layer = last;
  const bool bare = fused.layer != nullptr && bounds_of(*fused.layer) == OutputBounds{};
  if (bare) fused.activation = next(is_activation);
  if (fused.layer != nullptr && fused.layer->kind == OperationKind::conv2d)
    fused.pool = next([](OperationKind kind) { return kind == OperationKind::max_pool2d; });
  return fused;
}

}  // namespace lastbit::gna
