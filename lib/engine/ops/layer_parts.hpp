// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What layers made of sums have in common: their arithmetic, weights, bias and multipliers as the sums want them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// The rules for an operation's types. Throws Error(unsupported_operation) where the backend has none.
[[nodiscard]] const ConvArithmetic& select_arithmetic(const Model& model, const Operation& operation, const ConvByType& by_type);
[[nodiscard]] const MatmulArithmetic& select_arithmetic(const Model& model, const Operation& operation, const MatmulByType& by_type);

/// An input of the operation, or nullptr where it is absent.
[[nodiscard]] const ModelTensor* input_tensor(const Model& model, const Operation& operation, std::size_t position);

/// Throws where data or weights are of no type that the sums take, or have a zero point they cannot.
void require_integer_data(const Operation& operation, const ModelTensor& tensor);

/// Throws for uint16. Weights, and both factors of a matmul: centred, they must fit int16.
void require_16_bits(const Operation& operation, const ModelTensor& tensor);

/// Throws unless weights, bias and multipliers are constants.
void require_constant(const Operation& operation, const ModelTensor* tensor);

/// Throws where data or weights are unsigned or have a zero point other than 0.
void require_plain_data(const Operation& operation, const Model& model);

/// A device whose chain applies no scale delivers sums of 32 bits, of signed data without zero points, and nothing bounds them.
void require_plain_sums(const Operation& operation, const Model& model);

/// Throws where a sum takes more than 32 bits and is delivered, or read by a function, as int32: no device is known that takes its low half.
void require_32_bits(const Operation& operation, std::span<const std::int64_t> sums);

/// Throws where partial sums would read beyond the end of a run.
void require_whole_vectors(const Operation& operation, const AccumulatorRule& rule, std::int64_t run);

/// Throws where partial sums of codes at a position are asked for and weights have another zero point than 0, or terms of codes are more than products.
void require_sums_of_codes(const Operation& operation, const SumArithmetic& sum, const ModelTensor& weights);

/// The constant's values, or none. Throws where the backend multiplies no rows.
[[nodiscard]] std::vector<std::int64_t> multipliers_of(const Operation& operation, const ModelTensor* multiplier,
                                                       const ConvArithmetic& arithmetic);

/// The largest magnitude of a value minus its zero point.
[[nodiscard]] std::int64_t largest_centred(const ModelTensor& tensor);

}  // namespace lastbit
