// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One layer, its inputs, and the value that is looked at: what shrinking works on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lastbit/compare.hpp"
#include "lastbit/model.hpp"
#include "lastbit/shrink.hpp"

namespace lastbit {

struct LayerCase {
  Model layer;  ///< one operation
  std::vector<Tensor> inputs;
  std::int64_t index = 0;  ///< in the first output

  [[nodiscard]] const Operation& operation() const { return layer.operations.front(); }
  [[nodiscard]] Operation& operation() { return layer.operations.front(); }
  [[nodiscard]] std::int32_t input_tensor(std::size_t position) const {
    return position < operation().inputs.size() ? operation().inputs[position] : absent_tensor;
  }
  [[nodiscard]] bool has_input(std::size_t position) const { return input_tensor(position) != absent_tensor; }
  [[nodiscard]] std::int32_t output_tensor() const { return operation().outputs.front(); }
  [[nodiscard]] ModelTensor& tensor(std::int32_t which) { return layer.tensors[static_cast<std::size_t>(which)]; }
  [[nodiscard]] const ModelTensor& tensor(std::int32_t which) const { return layer.tensor(which); }
  [[nodiscard]] const Shape& input_shape(std::size_t position) const { return tensor(input_tensor(position)).shape; }
  [[nodiscard]] const Shape& output_shape() const { return tensor(output_tensor()).shape; }

  /// The values of a constant or of an input; nullptr: of an output.
  [[nodiscard]] const Tensor* values(std::int32_t tensor) const;
  [[nodiscard]] Tensor* values(std::int32_t tensor);
  [[nodiscard]] std::optional<std::size_t> place_among_inputs(std::int32_t tensor) const;
};

/// The inverse of coordinates() (compare.hpp).
[[nodiscard]] std::int64_t offset_of(const Shape& shape, const std::vector<std::int64_t>& at);

/// A tensor becomes these of its elements, in a new shape. Its quantisation is left alone.
void pick(LayerCase& layer, std::int32_t tensor, Shape shape, const std::vector<std::int64_t>& offsets);

/// Of scales per channel, those of these channels.
void pick_scales(LayerCase& layer, std::int32_t tensor, const std::vector<std::int64_t>& channels);

/// Of one axis, these indices; scales along that axis with them.
void keep(LayerCase& layer, std::int32_t tensor, std::size_t axis, const std::vector<std::int64_t>& indices);

/// 0, 1, …, count - 1.
[[nodiscard]] std::vector<std::int64_t> counting(std::int64_t count);

/// A tensor that is read twice becomes two, so that each can be cut by itself. Tensors get short names.
void tidy(LayerCase& layer);

[[nodiscard]] CaseSize size_of(const LayerCase& layer);

/// conv2d, depthwise_conv2d, transposed_conv2d, fully_connected.
[[nodiscard]] bool is_sum_of_taps(OperationKind kind);

/// The activation and bounds of any operation that has them.
[[nodiscard]] OutputBounds* bounds_of(Operation& operation);

}  // namespace lastbit
