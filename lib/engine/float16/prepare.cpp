// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/float16/prepare.hpp"

#include <algorithm>

#include "engine/operands.hpp"

namespace lastbit {

bool is_float16_operation(const Model& model, const Operation& operation, const Backend& backend) {
  if (operation.kind == OperationKind::cast) return true;
  if (operation.kind == OperationKind::quantize && backend.float16.method != Float16Method::absent) return true;
  const auto is_float16 = [&](std::int32_t index) { return index != absent_tensor && model.tensor(index).type == ElementType::float16; };
  return std::any_of(operation.inputs.begin(), operation.inputs.end(), is_float16) ||
         std::any_of(operation.outputs.begin(), operation.outputs.end(), is_float16);
}

bool has_float16_arithmetic(OperationKind kind) {
  using enum OperationKind;
  switch (kind) {
    case conv2d:
    case depthwise_conv2d:
    case transposed_conv2d:
    case fully_connected:
    case matmul:
    case OperationKind::add:
    case sub:
    case mul:
    case prelu:
    case add_n:
    case concat:
    case max_pool2d:
    case average_pool2d:
    case global_average_pool:
    case mean:
    case softmax:
    case cast:
    case quantize:
    case dequantize:
    case relu:
    case relu6:
    case relu_n1_to_1:
    case clip:
    case leaky_relu:
    case hard_swish:
    case logistic:
    case OperationKind::tanh:
    case OperationKind::exp: return true;
    default: return false;
  }
}

Executor prepare_float16(const Model& model, const Operation& operation, const Backend& backend) {
  const Float16Arithmetic& rules = backend.float16;
  if (rules.method == Float16Method::absent) throw_unsupported(operation, "the backend has no float16 arithmetic");
  using enum OperationKind;
  switch (operation.kind) {
    case conv2d:
    case depthwise_conv2d:
    case transposed_conv2d:
    case fully_connected:
    case matmul: return prepare_float16_cube(model, operation, rules);
    case OperationKind::add:
    case sub:
    case mul:
    case prelu:
    case add_n: return prepare_float16_elementwise(model, operation, rules);
    case concat: return prepare_float16_concat(model, operation, rules);
    case max_pool2d:
    case average_pool2d: return prepare_float16_pool(model, operation, rules);
    case global_average_pool:
    case mean: return prepare_float16_mean(model, operation, rules);
    case softmax: return prepare_float16_softmax(model, operation, rules);
    case cast: return prepare_float16_cast(model, operation, rules);
    case quantize: return prepare_float16_quantize(model, operation, rules);
    case dequantize: return prepare_float16_dequantize(model, operation, rules);
    default: return prepare_float16_function(operation, rules);
  }
}

}  // namespace lastbit
