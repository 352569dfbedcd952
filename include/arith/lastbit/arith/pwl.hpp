// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Piecewise-linear function of an integer. Contract, for segments with strictly increasing x_base:
//   1. x <= x_base of the first segment: y = y_base of the first segment;
//   2. otherwise the last segment with x_base <= x: y = ((x - x_base) * slope >> shift) + y_base, exact products, the shift toward -inf.
// The output width is narrowed by the stage that follows. Source: Intel GNA library, pwl.cpp (docs/backends).
#pragma once

#include <cstdint>
#include <span>

#include "lastbit/arith/integer.hpp"

namespace lastbit {

/// From x_base on: y_base + ((x - x_base) * slope >> shift).
struct PwlSegment {
  std::int32_t x_base = 0;
  std::int16_t y_base = 0;
  std::int16_t slope = 0;
  std::uint8_t shift = 8;  ///< 8, 16, 24 or 32
};

/// A segment from the record that a device stores: the two low bits of `base` select the shift, the others are the base.
[[nodiscard]] constexpr PwlSegment pwl_segment(std::int32_t base, std::int16_t y_base, std::int16_t slope) noexcept {
  return {base & ~3, y_base, slope, static_cast<std::uint8_t>(8 * ((base & 3) + 1))};
}

/// 33 bits times 16 bits fit 64 bits. No segments: the identity.
[[nodiscard]] constexpr std::int64_t evaluate_pwl(std::span<const PwlSegment> segments, std::int32_t x) noexcept {
  if (segments.empty()) return x;
  if (x <= segments.front().x_base) return segments.front().y_base;
  const PwlSegment* segment = &segments.front();
  for (const PwlSegment& candidate : segments) {
    if (candidate.x_base > x) break;
    segment = &candidate;
  }
  return (((std::int64_t{x} - segment->x_base) * segment->slope) >> segment->shift) + segment->y_base;
}

}  // namespace lastbit
