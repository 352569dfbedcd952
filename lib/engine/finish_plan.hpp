// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// From a chain and its operands to the steps of engine/kernels/finish.hpp. The values' range is followed through every stage, channel by channel; a
// step is left out where it cannot act, and lanes of a width are chosen only where the ranges prove that the steps give the chain's bits.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/finish_rounding.hpp"
#include "engine/kernels/finish.hpp"
#include "lastbit/arith/rescale.hpp"

namespace lastbit {

/// What comes in, and what happens to it before the chain: code - zero_point.
struct FinisherInput {
  std::int64_t smallest = 0, largest = 0;
  std::int64_t zero_point = 0;

  [[nodiscard]] static FinisherInput of_width(int bits) { return {min_of_width(bits), max_of_width(bits)}; }
  [[nodiscard]] constexpr std::int64_t operator()(std::int64_t code) const { return code - zero_point; }
};

/// A plan, and the lists that its steps point at.
struct OwnedFinishPlan {
  kernels::FinishPlan plan;
  std::vector<std::shared_ptr<const void>> lists;
  bool hides_wraps = false;  ///< what a stage wraps may leave a lane before, so that it cannot be counted
};

/// How a plan does what a stage wraps: modulo the lane where that suffices, or always by a step that sees the value before.
enum class Wraps : std::uint8_t { modulo_lane, seen };

/// A plan for a path whose vectors have `lanes` lanes of 32 bits; nothing where no width is proven.
[[nodiscard]] std::optional<OwnedFinishPlan> finish_plan(const Chain& chain, std::span<const RescaleOperands> operands,
                                                         const FinisherInput& input, std::size_t lanes, Wraps wraps = Wraps::modulo_lane);

}  // namespace lastbit
