// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What layers of products (conv_layer.hpp) and matmul have in common: what is subtracted from their data, and the chains that their products and their sums pass.
#pragma once

#include <cstdint>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// The zero points that the rule subtracts.
[[nodiscard]] std::vector<std::int64_t> subtracted(const SumArithmetic& rule, const ModelTensor& tensor);
/// The largest magnitude of a value less what the rule subtracts.
[[nodiscard]] std::int64_t largest_value(const SumArithmetic& rule, const ModelTensor& tensor);

[[nodiscard]] OutputBounds output_bounds(const Operation& operation);
/// Chains that apply no scale, or int32 without a scale, or with one per channel: those that a dequantize operation behind it applies.
[[nodiscard]] bool delivers_accumulators(const ModelTensor& output, const SumArithmetic& sum);

/// The chain that sums pass.
[[nodiscard]] Chain chain_of(const Operation& operation, const SumArithmetic& sum);
/// The operands of one of the chains, for every output channel.
[[nodiscard]] std::vector<RescaleOperands> chain_operands(const Operation& operation, const RescaleRule& rule, const ModelTensor& input,
                                                          const Quantization& weights, const ModelTensor& output,
                                                          const OutputBounds& bounds);
/// Of the chain that products pass, if there is one.
[[nodiscard]] std::vector<RescaleOperands> term_operands(const Operation& operation, const SumArithmetic& sum, const ModelTensor& input,
                                                         const Quantization& weights, const ModelTensor& output);

}  // namespace lastbit
