// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The space of rules that `identify` walks, as data: how a layer's terms are summed, and how a sum becomes an output. Every pair of the two is
// a combination.
#pragma once

#include <string>
#include <vector>

#include "lastbit/backend.hpp"

namespace lastbit {

/// One way to sum.
struct SumRules {
  AccumulatorRule accumulator{};
  BiasAt bias = BiasAt::accumulator_start;
  std::uint8_t bias_bits = 0;
  Rounding bias_rounding = Rounding::floor;
  PerChannelLowering per_channel = PerChannelLowering::native;
  friend bool operator==(const SumRules&, const SumRules&) = default;
};

/// What of the layers decides which rules can make a difference.
struct SpaceScope {
  bool sums_only = false;    ///< the layer delivers its sums
  bool per_channel = false;  ///< weights have a scale per channel
  bool wide_data = false;    ///< 16-bit input
  bool sums_codes = false;   ///< uint8 input, weights with zero point 0: partial sums may be of codes
  bool clips = false;        ///< accumulators are clipped
  bool rectifies = false;    ///< an activation that begins at 0
  bool multiplies = false;   ///< a multiplier, which the layer states
  bool converts = false;     ///< a second scale, which the layer states
};

/// The first of each list is the most usual one.
[[nodiscard]] std::vector<SumRules> sum_space(const SpaceScope& scope);
[[nodiscard]] std::vector<RescaleRule> rescale_space(const SpaceScope& scope);

/// Whether the chain has a place for what the layers state: a clip, a multiplier, a converter.
[[nodiscard]] bool has_what_is_stated(const SpaceScope& scope, const Chain& chain);

/// What a rule decides, in words that do not depend on the form of the chain: one name, one value each.
struct Coordinate {
  std::string rule, value;
};
[[nodiscard]] std::vector<Coordinate> coordinates_of(const SumRules& rules);
[[nodiscard]] std::vector<Coordinate> coordinates_of(const RescaleRule& rule);

/// Where below `place` a rule in these words is kept: "conv.i8.accumulator.bits" of "accumulator width"; of a rule that is named by its path that.
[[nodiscard]] std::string path_of(const std::string& place, const std::string& rule);

[[nodiscard]] ConvArithmetic arithmetic_of(const SumRules& sum, const RescaleRule& rescale);
[[nodiscard]] SumRules sum_rules_of(const ConvArithmetic& arithmetic);

}  // namespace lastbit
