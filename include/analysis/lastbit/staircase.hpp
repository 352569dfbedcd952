// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The way from an accumulator to an output as what it is: a function of one integer that takes few values. Written as the accumulators at which the
// output changes, it says everything: two ways compute the same over an interval if and only if their staircases there are equal.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lastbit/arith/rescale.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

/// From the accumulator `first` on, the output.
struct StaircaseStep {
  std::int64_t first = 0;
  std::int64_t output = 0;
  friend constexpr bool operator==(const StaircaseStep&, const StaircaseStep&) = default;
};

/// Canonical: the first step begins at the first accumulator, and neighbours have different outputs.
struct Staircase {
  IntegerRange accumulators;  ///< both ends included
  std::vector<StaircaseStep> steps;
  friend bool operator==(const Staircase&, const Staircase&) = default;

  /// Of an accumulator of the interval.
  [[nodiscard]] std::int64_t output(std::int64_t accumulator) const;
};

/// More steps than that are not listed, nor are intervals that are split into more parts.
inline constexpr std::int64_t most_staircase_steps = std::int64_t{1} << 17;

/// finish() of the chain on every accumulator of the interval, without computing every one: between the places where a stage can wrap, change its sign
/// or look up another entry, the chain never turns round (each of its steps says so, lib/analysis/staircase/pieces.hpp), so that a bisection finds where
/// it changes. Nothing where the interval has more than 2^62 accumulators, the staircase more than most_staircase_steps, or where a product or
/// sum inside can leave 126 bits.
[[nodiscard]] std::optional<Staircase> staircase(const Chain& chain, const RescaleOperands& operands, const IntegerRange& accumulators);

/// Where two staircases over the same interval differ.
struct StaircaseDifference {
  std::int64_t accumulators = 0;    ///< of the interval
  std::int64_t differing = 0;       ///< of them
  std::int64_t largest = 0;         ///< magnitude of the difference, in LSB
  std::vector<IntegerRange> where;  ///< intervals of differing accumulators, in order
};
[[nodiscard]] StaircaseDifference difference(const Staircase& a, const Staircase& b);

/// The largest difference in LSB of an output of one and an output of the other, over the same interval, whose accumulators are at most `apart` apart.
[[nodiscard]] std::int64_t largest_difference(const Staircase& a, const Staircase& b, std::int64_t apart);

}  // namespace lastbit
