// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The least and the largest value of a window whose ends only move forward.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "lastbit/tensor.hpp"

namespace lastbit {

class SlidingExtremes {
 public:
  /// At a place behind all others.
  void push(std::int64_t place, const IntegerRange& value) {
    while (!least_.empty() && least_.back().second >= value.min) least_.pop_back();
    while (!largest_.empty() && largest_.back().second <= value.max) largest_.pop_back();
    least_.emplace_back(place, value.min);
    largest_.emplace_back(place, value.max);
  }
  void drop_before(std::int64_t place) {
    while (least_.front().first < place) least_.pop_front();
    while (largest_.front().first < place) largest_.pop_front();
  }
  [[nodiscard]] IntegerRange range() const { return {least_.front().second, largest_.front().second}; }

 private:
  std::deque<std::pair<std::int64_t, std::int64_t>> least_, largest_;
};

/// Of every place the hull of the values at most `radius` places away.
[[nodiscard]] inline std::vector<IntegerRange> hulls_within(std::span<const IntegerRange> values, std::int64_t radius) {
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<IntegerRange> hulls;
  hulls.reserve(values.size());
  SlidingExtremes window;
  for (std::int64_t at = 0, next = 0; at < count; ++at) {
    for (; next < count && next - at <= radius; ++next) window.push(next, values[static_cast<std::size_t>(next)]);
    window.drop_before(at - radius);
    hulls.push_back(window.range());
  }
  return hulls;
}

}  // namespace lastbit
