// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/as_it_lies.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace lastbit {
namespace {

constexpr std::string_view in_memory = " in memory", as_it_lies = " as it lies";

}  // namespace

std::int32_t add_as_it_lies(ModelBuilder& builder, std::int32_t x) {
  const ModelTensor own = builder.model.tensor(x);
  const Shape channels_first{own.shape[0], own.shape[3], own.shape[1], own.shape[2]};
  const std::int32_t memory =
      builder.operation(OperationKind::transpose, {x}, {own.name + std::string(in_memory), own.type, channels_first, own.quantization},
                        TransposeAttributes{{0, 3, 1, 2}});
  return builder.operation(OperationKind::reshape, {memory}, {own.name + std::string(as_it_lies), own.type, own.shape, own.quantization});
}

std::optional<std::int32_t> meant_by(const Model& model, const Operation& operation) {
  if (operation.kind != OperationKind::reshape || !model.tensor(operation.outputs[0]).name.ends_with(as_it_lies)) return std::nullopt;
  const auto writer = std::ranges::find_if(model.operations, [&](const Operation& each) {
    return each.kind == OperationKind::transpose && each.outputs[0] == operation.inputs[0];
  });
  if (writer == model.operations.end()) return std::nullopt;
  const std::int32_t meant = writer->inputs[0];
  const std::string& name = model.tensor(meant).name;
  const bool is_it = model.tensor(operation.inputs[0]).name == name + std::string(in_memory) &&
                     model.tensor(operation.outputs[0]).name == name + std::string(as_it_lies) &&
                     model.tensor(operation.outputs[0]).shape == model.tensor(meant).shape;
  return is_it ? std::optional(meant) : std::nullopt;
}

void read_as_meant(Operation& operation, std::int32_t meant) { operation.inputs = {meant}; }

}  // namespace lastbit
