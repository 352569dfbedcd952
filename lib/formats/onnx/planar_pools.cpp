// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/planar_pools.hpp"

#include <vector>

namespace lastbit::onnx_format {
namespace {

bool makes_channels_last(OperationKind kind) {
  using enum OperationKind;
  return kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d;
}
bool begins_anew(OperationKind kind) {
  using enum OperationKind;
  return kind == reshape || kind == fully_connected || kind == matmul;
}
bool is_average(OperationKind kind) { return kind == OperationKind::average_pool2d || kind == OperationKind::global_average_pool; }

}  // namespace

void state_planar_pools(Model& model) {
  std::vector<char> planar(model.tensors.size(), 1);
  for (Operation& operation : model.operations) {
    const bool is_given = operation.inputs.empty() || operation.inputs[0] == absent_tensor || begins_anew(operation.kind);
    const char kept = is_given ? char{1} : planar[static_cast<std::size_t>(operation.inputs[0])];
    for (const std::int32_t output : operation.outputs)
      if (output != absent_tensor) planar[static_cast<std::size_t>(output)] = makes_channels_last(operation.kind) ? char{0} : kept;
    if (!is_average(operation.kind)) continue;
    std::get<Pool2dAttributes>(operation.attributes).planar = kept != 0 && model.tensor(operation.inputs[0]).shape.back() > 1;
  }
}

}  // namespace lastbit::onnx_format
