// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/float/real.hpp"

#include <algorithm>

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
  }
  return {};
}

RealBounds real_bounds(const OutputBounds& bounds) {
  const RealBounds active = real_bounds(bounds.activation);
  if (!bounds.real_clamp) return active;
  const auto [low, high] = *bounds.real_clamp;
  return {std::clamp(active.min, low, high), std::clamp(active.max, low, high)};
}

Executor prepare_real(const Model& model, const Operation& operation) {
  require_float32(model, operation, operation.inputs);
  require_float32(model, operation, operation.outputs);
  if (is_movement(operation.kind)) return executor_of(prepare_movement(model, operation));
  using enum OperationKind;
  switch (operation.kind) {
    case conv2d:
    case depthwise_conv2d: return prepare_real_convolution(model, operation);
    case transposed_conv2d: return prepare_real_transposed(model, operation);
    case fully_connected: return prepare_real_fully_connected(model, operation);
    case matmul: return prepare_real_matmul(model, operation);
    case max_pool2d:
    case sum_pool2d:
    case average_pool2d: return prepare_real_pool(model, operation);
    case global_average_pool:
    case mean: return prepare_real_mean(model, operation);
    case OperationKind::add:
    case sub:
    case mul:
    case prelu: return prepare_real_elementwise(model, operation);
    case add_n: return prepare_real_add_n(operation);
    case concat: return prepare_real_concat(model, operation);
    case dynamic_quantize: return prepare_real_dynamic_quantize();
    case pwl:
    case fused_conv2d:
    case recurrent:
      throw Error(ErrorCode::unsupported_operation, std::string(name_of(operation.kind)) + " '" + operation.name + "'",
                  "a layer of a device's integers; the golden path has none");
    case argmax: return prepare_real_argmax(model, operation);
    case softmax: return prepare_real_softmax(model, operation);
    case resize: return prepare_real_resize(model, operation);
    case svdf: return prepare_real_svdf(model, operation);
    case lstm: return prepare_real_lstm(model, operation);
    default: return prepare_real_function(operation);
  }
}

}  // namespace lastbit
