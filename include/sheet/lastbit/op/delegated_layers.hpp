// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where a delegate computes some layers and the kernels beneath it the others: which ratios of scales it takes.
#pragma once

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/backend.hpp"

namespace lastbit {

/// in / out in float32, which a range is asked of.
[[nodiscard]] constexpr float ratio_in_float(double in, double out) noexcept { return static_cast<float>(in) / static_cast<float>(out); }

[[nodiscard]] constexpr bool holds(const ScaleRange& range, float ratio) noexcept {
  const auto lower = static_cast<float>(power_of_two(range.least)), upper = static_cast<float>(power_of_two(range.most));
  return ratio >= lower && (range.end == UpperEnd::included ? ratio <= upper : ratio < upper);
}

}  // namespace lastbit
