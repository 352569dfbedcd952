// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A function of an integer in segments, each with registers of its own. Contract, for segments with strictly increasing starts:
//   1. the segment: the last one with start < v; where there is none, the first one;
//   2. p = (v - start) * multiplier, exact;
//   3. y = f + d + add, f = floor(p / 2^shift), d = 1 where the rounding rule rounds p / 2^shift up, else 0. RoundingStep::away_from_zero
//      subtracts d from f where p < 0: -0.25 and -0.5 become -2 by half_even, -0.75 becomes -1.
// Without segments: v.
// Source: nncase, modules/k210, k210_kernels.h (kpu_conv2d) and runtime_op_utility.h (carry_shift); docs/backends/k210.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "lastbit/arith/rounding.hpp"

namespace lastbit {

/// From start on: (x * multiplier >> shift) + add, as the head of this header says.
struct ScaleSegment {
  std::int64_t start = 0;
  std::int64_t multiplier = 0;
  int shift = 0;
  std::int64_t add = 0;
  friend constexpr bool operator==(const ScaleSegment&, const ScaleSegment&) = default;
};

/// Whither a value that is rounded up steps from the integer below it.
enum class RoundingStep : std::uint8_t { up, away_from_zero };

/// value / 2^shift, 0 <= shift <= 126.
[[nodiscard]] constexpr Int128 shift_right_stepping(Int128 value, int shift, Rounding rounding, RoundingStep step) {
  stated(step, "shift_right_stepping", "step");
  const Int128 floor = value >> shift;
  const Int128 moved = shift_right(value, shift, rounding) - floor;
  return step == RoundingStep::away_from_zero && value < 0 ? floor - moved : floor + moved;
}

/// The first of segments that are not empty is taken for values at or below every start.
[[nodiscard]] constexpr std::size_t segment_of(std::span<const ScaleSegment> segments, Int128 value) noexcept {
  const auto beyond = std::find_if(segments.begin(), segments.end(), [=](const ScaleSegment& each) { return each.start >= value; });
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(beyond - segments.begin() - 1, 0));
}

[[nodiscard]] constexpr Int128 evaluate_segments(std::span<const ScaleSegment> segments, Int128 value, Rounding rounding,
                                                 RoundingStep step) {
  if (segments.empty()) return value;
  const ScaleSegment& segment = segments[segment_of(segments, value)];
  const Int128 product = multiply_modulo(add_modulo(value, -Int128{segment.start}), segment.multiplier);
  return add_modulo(shift_right_stepping(product, segment.shift, rounding, step), segment.add);
}

}  // namespace lastbit
