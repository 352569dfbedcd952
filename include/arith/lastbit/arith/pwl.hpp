// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Piecewise-linear function of an integer. Contract, for segments with strictly increasing x_base:
//   1. x <= x_base of the first segment: y = y_base of the first segment;
//   2. otherwise the last segment with x_base <= x: y = ((x - x_base) * slope >> shift) + y_base, exact products, the shift toward -inf.
// The output width is narrowed by the stage that follows. Source: Intel GNA library, pwl.cpp (docs/backends).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

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

/// The first number of that record.
[[nodiscard]] constexpr std::int32_t pwl_base_record(const PwlSegment& segment) noexcept {
  return segment.x_base | (segment.shift / 8 - 1);
}

/// What a segment gives at x, wherever it begins: 33 bits times 16 bits fit 64 bits.
[[nodiscard]] constexpr std::int64_t value_at(const PwlSegment& segment, std::int64_t x) noexcept {
  return (((x - segment.x_base) * segment.slope) >> segment.shift) + segment.y_base;
}

/// No segments: the identity.
[[nodiscard]] constexpr std::int64_t evaluate_pwl(std::span<const PwlSegment> segments, std::int32_t x) noexcept {
  if (segments.empty()) return x;
  if (x <= segments.front().x_base) return segments.front().y_base;
  const PwlSegment* segment = &segments.front();
  for (const PwlSegment& candidate : segments) {
    if (candidate.x_base > x) break;
    segment = &candidate;
  }
  return value_at(*segment, x);
}

/// The same for many x, without a branch. Below the first base x counts as that base; beside the bases lie more that no x reaches, so that the search
/// halves a power of two.
class PwlTable {
 public:
  constexpr PwlTable() = default;
  /// One segment or more.
  explicit constexpr PwlTable(std::vector<PwlSegment> segments) : segments_(std::move(segments)) {
    for (const PwlSegment& segment : segments_) bases_.push_back(segment.x_base);
    bases_.resize(std::bit_ceil(bases_.size()), std::numeric_limits<std::int64_t>::max());
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return segments_.empty(); }
  [[nodiscard]] constexpr std::int64_t operator()(std::int64_t x) const noexcept {
    x = std::max(x, bases_[0]);
    std::size_t at = 0;
    for (std::size_t step = bases_.size() / 2; step > 0; step /= 2) at += bases_[at + step] <= x ? step : 0;
    return value_at(segments_[at], x);
  }

 private:
  std::vector<PwlSegment> segments_;
  std::vector<std::int64_t> bases_;
};

}  // namespace lastbit
