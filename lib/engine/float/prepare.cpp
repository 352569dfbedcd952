// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/float/real.hpp"

#include <algorithm>

#include "engine/operations.hpp"

namespace lastbit {
namespace {

void require_float32(const Model& model, const Operation& operation, const std::vector<std::int32_t>& tensors) {
  for (const std::int32_t index : tensors) {
    if (index == absent_tensor || model.tensor(index).type == ElementType::float32) continue;
    const ModelTensor& tensor = model.tensor(index);
    throw Error(ErrorCode::type_mismatch, operation.name,
                "tensor '" + tensor.name + "' is " + std::string(name_of(tensor.type)) + "; the golden path computes in float32");
  }
}

}  // namespace

RealBounds real_bounds(Activation activation) {
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return {.min = 0};
    case Activation::relu6: return {.min = 0, .max = 6};
    case Activation::relu_n1_to_1: return {.min = -1, .max = 1};
    case Activation::absolute: return {.magnitude = true};
  }
  return {};
}

RealBounds real_bounds(const OutputBounds& bounds) {
  const RealBounds active = real_bounds(bounds.activation);
  if (!bounds.real_clamp) return active;
  const auto [low, high] = *bounds.real_clamp;
  return {std::clamp(active.min, low, high), std::clamp(active.max, low, high), active.magnitude};
}

Executor prepare_real(const Model& model, const Operation& operation) {
  require_float32(model, operation, operation.inputs);
  require_float32(model, operation, operation.outputs);
  if (is_movement(operation.kind)) return executor_of(prepare_movement(model, operation));
  const auto prepare = executors_of(operation.kind).real;
  if (prepare != nullptr) return prepare(model, operation);
  throw Error(ErrorCode::unsupported_operation, std::string(name_of(operation.kind)) + " '" + operation.name + "'",
              "a layer of a device's integers; the golden path has none");
}

}  // namespace lastbit
