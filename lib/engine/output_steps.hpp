// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where the outputs of a finishing chain change, when those are bytes: of every channel the sums from which on an output is reached. What a chain that keeps
// order makes of a channel's sums is a staircase of at most 255 steps, each near the place at which a product and an addition would have it. There the
// chain itself is asked, by the path's vectors for all channels at once; other chains have no trend.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "lastbit/arith/rescale.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

/// Finishes values [rows, channels] in place, by the chain itself.
using FinishRows = std::function<void(std::span<std::int64_t>)>;

/// v * slope + (v < 0 ? below : above) is what a channel's chain computes of a sum v, but for rounding and bounds.
struct OutputTrend {
  double slope = 0, above = 0, below = 0;
};

/// For every operand one; empty where a chain has none.
[[nodiscard]] std::vector<OutputTrend> output_trends(const Chain& chain, std::span<const RescaleOperands> operands,
                                                     const IntegerRange& sums);

inline constexpr std::int64_t most_output_steps = 255;  ///< of a channel

/// Outputs from `smallest` to `largest`, of any channel.
struct OutputSteps {
  std::int64_t smallest = 0, largest = 0;
  std::size_t channels = 0;
  std::vector<std::int64_t>
      first;  ///< [largest - smallest, channels]: of outputs from smallest + 1 on; behind the last sum where it is not reached

  /// The first sum of which at least this output is made.
  [[nodiscard]] std::int64_t first_of(std::size_t channel, std::int64_t output) const {
    return first[static_cast<std::size_t>(output - smallest - 1) * channels + channel];
  }
  [[nodiscard]] std::int64_t output(std::size_t channel, std::int64_t sum) const;
};

/// Nothing where outputs are no bytes, or a step is not where its trend has it.
[[nodiscard]] std::optional<OutputSteps> output_steps(std::span<const OutputTrend> trends, const IntegerRange& sums,
                                                      const FinishRows& finish);

}  // namespace lastbit
