// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/one_operation.hpp"

#include <algorithm>

namespace lastbit {

Model extract_operation(const Model& model, std::size_t operation) {
  Model layer;
  layer.name = model.operations[operation].name;
  Operation only = model.operations[operation];
  std::vector<std::pair<std::int32_t, std::int32_t>> known;
  const auto place = [&](std::int32_t index) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& entry) { return entry.first == index; });
    if (found != known.end()) return found->second;
    const auto at = static_cast<std::int32_t>(layer.tensors.size());
    layer.tensors.push_back(model.tensor(index));
    known.emplace_back(index, at);
    return at;
  };
  for (std::int32_t& index : only.inputs) {
    if (index == absent_tensor) continue;
    const bool seen = std::any_of(known.begin(), known.end(), [&](const auto& entry) { return entry.first == index; });
    const bool data = !model.tensor(index).constant;
    index = place(index);
    if (data && !seen) layer.inputs.push_back(index);
  }
  for (std::int32_t& index : only.outputs) {
    index = place(index);
    layer.outputs.push_back(index);
  }
  layer.operations.push_back(std::move(only));
  return layer;
}

std::vector<Tensor> inputs_of(const Model& model, std::size_t operation, std::span<const std::optional<Tensor>> tensors) {
  std::vector<Tensor> inputs;
  std::vector<std::int32_t> seen;
  for (const std::int32_t index : model.operations[operation].inputs) {
    const bool is_data = index != absent_tensor && !model.tensor(index).constant;
    if (!is_data || std::find(seen.begin(), seen.end(), index) != seen.end()) continue;
    seen.push_back(index);
    inputs.push_back(*tensors[static_cast<std::size_t>(index)]);
  }
  return inputs;
}

bool is_called(const Model& model, std::size_t operation, std::string_view name) {
  const Operation& called = model.operations[operation];
  return name == std::to_string(operation) || name == called.name || name == model.tensor(called.outputs[0]).name;
}

}  // namespace lastbit
