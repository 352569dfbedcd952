// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A finishing chain whose outputs are bytes, as a straight line for every channel on which each sum has a place. A place between two outputs is the lower
// one; where it is an output itself, for one sum of some ten thousand, the chain says whether it is that or the one before. So whatever a device's
// rounding, most of its outputs cost a product in float.
//
// The lines are laid through all steps of a channel's outputs (engine/output_steps.hpp), with room for what a float rounds away; a chain whose steps are
// not found has none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/output_steps.hpp"
#include "engine/sought_lines.hpp"

namespace lastbit {

/// Of a sum v: v * slope + (v < 0 ? below : above) in float, rounded once, and then to the nearest integer, is its place, in 2^-fraction_bits of an output.
/// Shifted down by fraction_bits that is the output, unless the bits that are lost are all 0: then the output is that, or one less. The lists have an
/// entry for all channels or one for each.
struct ChannelLines {
  std::vector<float> slope, above, below;
  int fraction_bits = 0;
  std::int32_t smallest = 0, largest = 0;  ///< outputs; an integer beyond is the nearer of them

  [[nodiscard]] bool by_sign() const { return above != below; }
};

/// Looks for lines once that is worth it. For any thread.
class LineFinder {
 public:
  /// `operands` has one entry for all channels or one per channel; `sums` are those that can come.
  LineFinder(const Chain& chain, std::span<const RescaleOperands> operands, const IntegerRange& sums);

  /// For a run of so many outputs. Null where the chain has none, and until as many outputs were finished as finding them costs.
  [[nodiscard]] const ChannelLines* lines(std::int64_t outputs, const FinishRows& finish) const;

 private:
  IntegerRange sums_;
  std::vector<OutputTrend> trends_;  ///< empty: there are no lines
  SoughtLines<ChannelLines> lines_;
};

}  // namespace lastbit
