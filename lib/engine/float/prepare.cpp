// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/float/real.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "engine/operands.hpp"
#include "engine/operations.hpp"
#include "lastbit/dequantize.hpp"

namespace lastbit {
namespace {

void require_float32(const Model& model, const Operation& operation, const std::vector<std::int32_t>& tensors) {
  for (const std::int32_t index : tensors) {
    if (index == absent_tensor || model.tensor(index).type == ElementType::float32) continue;
    const ModelTensor& tensor = model.tensor(index);
    throw Error(ErrorCode::type_mismatch, std::string(name_of(operation.kind)),
                "tensor '" + tensor.name + "' is " + std::string(name_of(tensor.type)) + "; the golden path computes in float32");
  }
}

/// What the codes of a tensor can stand for, channel by channel.
struct CodeBounds {
  std::vector<RealBounds> channels;  ///< none: its values are no codes
  std::size_t inner = 1;             ///< values in a row that are of one channel

  explicit CodeBounds(const ModelTensor& tensor) {
    const Quantization& quantization = tensor.quantization;
    if (!is_integer(tensor.type) || size_of(tensor.type) > 4 || !quantization.present()) return;
    const IntegerRange codes = range_of(tensor.type);
    const std::size_t count = std::max(quantization.scales.size(), quantization.zero_points.size());
    for (std::size_t c = 0; c < count; ++c) {
      const double scale = quantization.scale(c);
      const std::int64_t zero_point = quantization.zero_point(c);
      channels.push_back({real_of(codes.min, scale, zero_point), real_of(codes.max, scale, zero_point)});
    }
    if (count == 1) return;
    for (auto d = static_cast<std::size_t>(quantization.axis) + 1; d < tensor.shape.rank(); ++d)
      inner *= static_cast<std::size_t>(tensor.shape[d]);
  }

  void operator()(std::span<float> values) const {
    for (std::size_t i = 0; i < values.size() && !channels.empty(); ++i) values[i] = channels[i / inner % channels.size()](values[i]);
  }
};

}  // namespace

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
  throw_unsupported(operation, "a layer of a device's integers; the golden path has none");
}

Executor bounded_by_codes(Executor executor, const Model& quantized, const Operation& operation) {
  std::vector<CodeBounds> bounds;
  for (const std::int32_t output : operation.outputs) bounds.emplace_back(quantized.tensor(output));
  return [executor = std::move(executor), bounds = std::move(bounds)](const Execution& run) {
    executor(run);
    for (std::size_t i = 0; i < bounds.size(); ++i) bounds[i](run.outputs[i].values<float>());
  };
}

}  // namespace lastbit
