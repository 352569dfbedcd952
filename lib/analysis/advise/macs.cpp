// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/geometry.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

/// Elements of the convolution's result, before the pooling.
std::int64_t fused_sums(const Model& model, const Operation& operation) {
  const auto& fused = std::get<FusedConv2dAttributes>(operation.attributes);
  Operation convolution = operation;
  convolution.kind = OperationKind::conv2d;
  convolution.inputs.resize(2);
  convolution.attributes = Conv2dAttributes{.stride = fused.stride, .padding = fused.padding};
  return output_shapes(model, convolution)[0].element_count();
}

/// Every weight is used once per vector of the input; biases are vectors.
std::int64_t weights_of_gates(const Model& model, const Operation& operation) {
  std::int64_t count = 0;
  for (const std::int32_t index : operation.inputs) {
    if (index == absent_tensor || !model.tensor(index).constant || model.tensor(index).shape.rank() != 2) continue;
    count += model.tensor(index).shape.element_count();
  }
  return count;
}

}  // namespace

std::int64_t multiply_accumulates(const Model& model, const Operation& operation) {
  const auto shape = [&](std::size_t input) -> const Shape& { return model.tensor(operation.inputs[input]).shape; };
  const std::int64_t outputs = model.tensor(operation.outputs[0]).shape.element_count();
  using enum OperationKind;
  switch (operation.kind) {
    case conv2d:
    case depthwise_conv2d: {
      const ConvShape sizes = conv_shape_of(model, operation);
      return sizes.out_count() * sizes.taps();
    }
    case transposed_conv2d: return shape(0).element_count() * (shape(1).element_count() / shape(0).back());
    case fused_conv2d: return fused_sums(model, operation) * (shape(1).element_count() / shape(1)[0]);
    case fully_connected: return outputs * shape(1)[1];
    case matmul: {
      const auto& attributes = std::get<MatmulAttributes>(operation.attributes);
      return outputs * shape(0)[shape(0).rank() - (attributes.transpose_a ? 2U : 1U)];
    }
    case recurrent: return outputs * shape(1)[1];
    case svdf:
    case lstm: return weights_of_gates(model, operation) * (shape(0).element_count() / shape(0).back());
    default: return 0;
  }
}

}  // namespace lastbit
