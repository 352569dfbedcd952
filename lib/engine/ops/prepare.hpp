// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One function per family of operations: an operation of the model, prepared for a backend.
#pragma once

#include "engine/executor.hpp"

namespace lastbit {

[[nodiscard]] Executor prepare_convolution(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_matmul(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_pool(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_mean(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_add(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_mul(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_concat(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_quantize(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_dequantize(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_dynamic_quantize(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_block_quantize(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_block_matmul(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_clip(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_requantize(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_leaky(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_hard_swish(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_logistic(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_tanh(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_abs(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_l2_normalization(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_exp(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_resize(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_svdf(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_lstm(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_softmax(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_pwl(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_sum_pool(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_fused_convolution(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_recurrent(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_bitwise(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_extreme(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_reduce_extreme(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_reduce_sum(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] Executor prepare_argmax(const Model& model, const Operation& operation, const Backend& backend);  ///< and argmin
[[nodiscard]] Executor prepare_whole_numbers(const Model& model, const Operation& operation);  ///< the same on every backend
[[nodiscard]] Executor prepare_detection(const Model& model, const Operation& operation, const Backend& backend);

}  // namespace lastbit
