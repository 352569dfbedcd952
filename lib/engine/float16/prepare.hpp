// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations on float16 tensors, by the rules of Backend::float16. What the golden path does to a real value, done in elementary steps.
#pragma once

#include "engine/executor.hpp"
#include "engine/float/real.hpp"

namespace lastbit {

/// Whether an operation is one of these: it reads or writes float16, codes in blocks aside, or it quantises for a device that does so by way of float16.
[[nodiscard]] bool is_float16_operation(const Model& model, const Operation& operation, const Backend& backend);
/// Whether there are float16 rules for the kind at all.
[[nodiscard]] bool has_float16_arithmetic(OperationKind kind);
/// Throws Error naming the operation when the backend cannot do it.
[[nodiscard]] Executor prepare_float16(const Model& model, const Operation& operation, const Backend& backend);

[[nodiscard]] Executor prepare_float16_cube(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_elementwise(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_concat(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_bounds(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_leaky(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_hard_swish(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_logistic(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_tanh(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_exp(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_pool(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_mean(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_softmax(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_cast(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_quantize(const Model& model, const Operation& operation, const Float16Arithmetic& rules);
[[nodiscard]] Executor prepare_float16_dequantize(const Model& model, const Operation& operation, const Float16Arithmetic& rules);

}  // namespace lastbit
