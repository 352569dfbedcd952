// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Index of the largest value over one axis. Contract, for positions in row-major order and the values v[0 … n-1] of each:
//   1. maximum and index start at the smallest value of the type and 0 (per_position: of every position; carried_over: of the first only);
//   2. i = 0 … n-1: v[i] above the maximum (last_maximum: or equal to it) becomes the maximum, i the index;
//   3. the result is the index. With a single channel and `upper_half` it is 1 for v[0] above `middle`, else 0, and 1 and 2 do not apply.
// Shapes: any input, the output without the axis. Units: codes as they are, indices int32 or int64.
// Errors: bad_attribute for an axis that the input lacks, shape_mismatch; unsupported_operation where the device has no argmax.
// Source: N2D2 export/CPP Network.hpp maxPropagate for carried_over and upper_half, as recorded.
#pragma once

#include <cstdint>
#include <span>

#include "lastbit/backend.hpp"

namespace lastbit {

/// Steps 1 to 3 of one position after another.
class Argmax {
 public:
  /// `lowest` and `middle` belong to the element type.
  constexpr Argmax(const ArgmaxArithmetic& rule, std::int64_t lowest, std::int64_t middle) noexcept
      : rule_(rule), lowest_(lowest), middle_(middle), maximum_(lowest) {}

  [[nodiscard]] constexpr std::int64_t operator()(std::span<const std::int64_t> values) noexcept {
    if (values.size() == 1 && rule_.single_channel == SingleChannel::upper_half) return values[0] > middle_ ? 1 : 0;
    if (rule_.running_maximum == RunningMaximum::per_position) maximum_ = lowest_, index_ = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] < maximum_ || (values[i] == maximum_ && rule_.method != ArgmaxMethod::last_maximum)) continue;
      maximum_ = values[i];
      index_ = static_cast<std::int64_t>(i);
    }
    return index_;
  }

 private:
  ArgmaxArithmetic rule_;
  std::int64_t lowest_, middle_;
  std::int64_t maximum_;
  std::int64_t index_ = 0;
};

}  // namespace lastbit
