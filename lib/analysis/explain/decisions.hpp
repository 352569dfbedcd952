// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a way from accumulator to output decides, whatever its stages: two ways with different stages can then be compared, and mixed.
//
//   the real scale -> rectify first? -> multiply by the encoded scale (or in float) -> first rounding, at the binary point of the multiplier? -> last rounding
//   -> zero point -> clamp
#pragma once

#include <optional>

#include "lastbit/backend.hpp"

namespace lastbit {

struct RescaleDecisions {
  ScaleEncoding scale;               ///< with normalization half_to_one
  std::uint8_t multiplier_bits = 0;  ///< of the multiply stage; 0: all that are encoded
  Rounding narrowing = Rounding::floor;
  bool rectified_first = false;
  bool in_float = false;
  std::optional<Rounding> first_rounding;
  Rounding last_rounding = Rounding::floor;
  Ratio by;
};

/// Nothing where the chain has another form. Shifts left before the multiplication are taken as after it, and the width of intermediate
/// values as unlimited: whoever uses this compares the results.
[[nodiscard]] std::optional<RescaleDecisions> decisions_of(const RescaleRule& rule);

[[nodiscard]] RescaleRule rescale_from(const RescaleDecisions& decisions);

}  // namespace lastbit
