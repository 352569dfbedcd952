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
/// An axis that the first input has.
void require_axis(const OperationView& operation, std::int64_t axis);
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

/// The element types and quantisations that an operation takes; what is named after a family serves all its kinds.
void check_add_n_types(const OperationView& operation);
void check_argmax_types(const OperationView& operation);
void check_average_pool_types(const OperationView& operation);
void check_bitwise_types(const OperationView& operation);
void check_block_matmul_types(const OperationView& operation);
void check_block_quantize_types(const OperationView& operation);
void check_cast_types(const OperationView& operation);
void check_clip_types(const OperationView& operation);
void check_comparison_types(const OperationView& operation);
void check_concat_types(const OperationView& operation);
void check_detection_types(const OperationView& operation);
void check_dequantize_types(const OperationView& operation);
void check_dynamic_quantize_types(const OperationView& operation);
void check_elementwise_types(const OperationView& operation);
void check_extreme_types(const OperationView& operation);
void check_function_types(const OperationView& operation);
void check_sigmoid_types(const OperationView& operation);
void check_fused_types(const OperationView& operation);
void check_gather_types(const OperationView& operation);
void check_lstm_types(const OperationView& operation);
void check_max_pool_types(const OperationView& operation);
void check_moved_types(const OperationView& operation);
void check_pwl_types(const OperationView& operation);
void check_quotient_types(const OperationView& operation);
void check_quantize_types(const OperationView& operation);
void check_recurrent_types(const OperationView& operation);
void check_requantize_types(const OperationView& operation);
void check_resize_types(const OperationView& operation);
void check_select_types(const OperationView& operation);
void check_sign_types(const OperationView& operation);
void check_softmax_types(const OperationView& operation);
void check_sum_pool_types(const OperationView& operation);
void check_sum_types(const OperationView& operation);
void check_svdf_types(const OperationView& operation);
void check_top_k_types(const OperationView& operation);

/// The shapes and attributes that it takes.
void check_add_n(const OperationView& operation);
void check_argmax(const OperationView& operation);
void check_block_matmul(const OperationView& operation);
void check_block_quantize(const OperationView& operation);
void check_broadcast(const OperationView& operation);
void check_clip(const OperationView& operation);
void check_concat(const OperationView& operation);
void check_convolution(const OperationView& operation);
void check_cumsum(const OperationView& operation);
void check_detection(const OperationView& operation);
void check_dynamic_quantize(const OperationView& operation);
void check_elementwise(const OperationView& operation);
void check_fully_connected(const OperationView& operation);
void check_fused(const OperationView& operation);
void check_gather(const OperationView& operation);
void check_global_pool(const OperationView& operation);
void check_inputs_of_output_shape(const OperationView& operation);
void check_leaky_relu(const OperationView& operation);
void check_lstm(const OperationView& operation);
void check_matmul(const OperationView& operation);
void check_mean(const OperationView& operation);
void check_pad(const OperationView& operation);
void check_pool(const OperationView& operation);
void check_prelu(const OperationView& operation);
void check_pwl(const OperationView& operation);
void check_recurrent(const OperationView& operation);
void check_requantize(const OperationView& operation);
void check_reshape(const OperationView& operation);
void check_resize(const OperationView& operation);
void check_rows(const OperationView& operation);
void check_same_shape(const OperationView& operation);
void check_select(const OperationView& operation);
void check_slice(const OperationView& operation);
void check_softmax(const OperationView& operation);
void check_split(const OperationView& operation);
void check_svdf(const OperationView& operation);
void check_top_k(const OperationView& operation);
void check_transpose(const OperationView& operation);
void check_transposed_convolution(const OperationView& operation);

}  // namespace lastbit
