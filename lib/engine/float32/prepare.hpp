// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations on float32 tensors as a device computes them (Float32Operations), and operations on codes that it computes in float32.
#pragma once

#include "engine/executor.hpp"

namespace lastbit {

/// Every tensor of the operation is float32.
[[nodiscard]] Executor prepare_float32(const Model& model, const Operation& operation, const Backend& backend);
/// Float32 data with integer weights (is_hybrid, op/dynamic_sum.hpp).
[[nodiscard]] Executor prepare_dynamic(const Model& model, const Operation& operation, const Backend& backend);
/// The device's dequantize, the operation in float32, the device's quantize.
[[nodiscard]] Executor prepare_dequantized(const Model& model, const Operation& operation, const Backend& backend);

// Float32Operations::ordered: sums of products (arith/float32_sum.hpp), averages, and softmax (arith/float32_exponential.hpp).
[[nodiscard]] Executor prepare_ordered_convolution(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_ordered_transposed(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_ordered_fully_connected(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_ordered_matmul(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_ordered_average_pool(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_ordered_mean(const Model& model, const Operation& operation);
[[nodiscard]] Executor prepare_ordered_softmax(const Model& model, const Operation& operation);

}  // namespace lastbit
