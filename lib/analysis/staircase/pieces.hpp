// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A chain on an interval of accumulators at once. A machine of arith/stages/stage.hpp: it holds the interval as pieces on each of which the value never
// turns round, and splits them where a step can make it do so.
//
//   shift_left, multiply, shift_right, add, divide, scale_in_float, clamp, narrow saturating or exactly: never turn a rising value round
//   narrow wrapping: rises between two multiples of 2^bits
//   absolute: falls below 0, rises above
//   look_up: a table has one piece for every entry looked up; a piecewise-linear function never turns round within a segment
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "lastbit/arith/rescale.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

/// Nothing where a step leaves 126 bits, or where there would be more than `most` pieces.
[[nodiscard]] std::optional<std::vector<IntegerRange>> monotone_pieces(const Chain& chain, const RescaleOperands& operands,
                                                                       const IntegerRange& accumulators, std::size_t most);

}  // namespace lastbit
