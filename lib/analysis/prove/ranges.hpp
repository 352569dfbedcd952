// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which codes a tensor can hold: by its type and by what the operation before it lets through.
#pragma once

#include <span>

#include "analysis/prove/sums.hpp"
#include "lastbit/emulator.hpp"

namespace lastbit {

/// Of every tensor by itself: constants their own least and largest, others what their type holds, tensors of other than integers 0.
[[nodiscard]] TensorRanges ranges_by_type(const Model& model);

/// The same with the least and largest values of a run, where it holds the tensor.
[[nodiscard]] TensorRanges ranges_on(const Model& model, const Trace& trace);

/// What the chain makes of the accumulators in a range: of its ends, unless a stage may wrap or turns the order round; then what its last
/// stage lets through.
[[nodiscard]] IntegerRange range_through(const Chain& chain, const IntegerRange& accumulators, const RescaleOperands& operands);

/// What an operand chain makes of the products in a range: of its ends, or no bound but 64 bits where a stage may wrap or turns the order round.
[[nodiscard]] IntegerRange range_of_term(const Chain& chain, const IntegerRange& products, const RescaleOperands& operands);

/// The layer's outputs, where `results` are the finished sums of every channel.
[[nodiscard]] IntegerRange range_of_outputs(const ConvLayer& layer, std::span<const IntegerRange> results);

/// The first output of any other operation.
[[nodiscard]] IntegerRange range_after(const Model& model, const Operation& operation, const Backend& backend, const TensorRanges& ranges);

/// Makes it the range of what the operation writes: of a movement's every output, of others' first.
void put_range(const Operation& operation, const IntegerRange& range, TensorRanges& ranges);

}  // namespace lastbit
