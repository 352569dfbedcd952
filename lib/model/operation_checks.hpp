// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Checks that several kinds of operations share.
#pragma once

#include <initializer_list>
#include <vector>

#include "model/operation_view.hpp"

namespace lastbit {

void require_type(const OperationView& operation, const ModelTensor& tensor, std::initializer_list<ElementType> allowed);
void require_per_tensor(const OperationView& operation, const ModelTensor& tensor);
/// One multiplier of 8 bits per output channel: a constant.
void check_multiplier(const OperationView& operation, std::size_t position, std::int64_t channels);

[[nodiscard]] inline std::vector<std::int64_t> sizes_of(const ModelTensor& tensor) {
  return {tensor.shape.sizes().begin(), tensor.shape.sizes().end()};
}
[[nodiscard]] inline Extent2d image_of(const ModelTensor& tensor) { return {tensor.shape[1], tensor.shape[2]}; }
void check_extent(const OperationView& operation, const char* what, Extent2d extent);
void check_padding(const OperationView& operation, const Padding2d& padding);
void require_bias_count(const OperationView& operation, const ModelTensor& bias, std::initializer_list<std::int64_t> allowed);
void require_window_count(const OperationView& operation, Extent2d expected, Extent2d found);
void check_bounds(const OperationView& operation, const OutputBounds& bounds);
/// The windows that slide over an image of size `in`, and that none of them is empty.
struct PoolWindows {
  Extent2d filter, stride;
  Padding2d padding;
  PartialWindows partial_windows;
};
[[nodiscard]] Extent2d checked_pool_windows(const OperationView& operation, Extent2d in, const PoolWindows& windows);

/// Shapes of operations that sum products.
void check_convolution(const OperationView& operation);
void check_transposed_convolution(const OperationView& operation);
void check_fully_connected(const OperationView& operation);
void check_matmul(const OperationView& operation);

/// Layers that only some devices know: pwl, sum_pool2d, fused_conv2d, recurrent.
[[nodiscard]] bool is_device_layer(OperationKind kind);
void check_device_layer_types(const OperationView& operation);
void check_device_layer_shapes(const OperationView& operation);

}  // namespace lastbit
