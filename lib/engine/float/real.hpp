// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The golden path: what a network means before any device's arithmetic. Values are float32; products of matrices are summed in float32 by
// Eigen, every other sum in double; each result is rounded to float32 once, then bounded. One thread, so the same bits for any thread count.
#pragma once

#include "engine/executor.hpp"
#include "lastbit/op/real_bounds.hpp"

namespace lastbit {

/// NaN wins, so that it is seen.
inline constexpr auto larger = [](auto a, auto b) { return b > a || b != b ? b : a; };
inline constexpr auto smaller = [](auto a, auto b) { return b < a || b != b ? b : a; };

[[nodiscard]] RealBounds real_bounds(const OutputBounds& bounds);

[[nodiscard]] Executor prepare_real_convolution(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_transposed(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_fully_connected(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_matmul(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_pool(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_mean(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_reduce_extreme(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_elementwise(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_select(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_add_n(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_argmax(const Model& model, const Operation& operation);  ///< and argmin
[[nodiscard]] Executor prepare_real_cumsum(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_detection(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_top_k(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_concat(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_bounds(const Model& model,
                                           const Operation& operation);  ///< whatever only bounds real values, or stores them
[[nodiscard]] Executor prepare_real_leaky(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_elu(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_hard_swish(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_logistic(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_tanh(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_exp(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_function(const Model& model, const Operation& operation);  ///< abs, neg, log, sqrt, rsqrt, erf, floor
[[nodiscard]] Executor prepare_real_pwl(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_dynamic_quantize(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_block_quantize(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_block_matmul(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_resize(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_softmax(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_log_softmax(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_l2_normalization(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_svdf(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_real_lstm(const Model& model, const Operation& operation);

}  // namespace lastbit
