// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Look-up activation: one output per input value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace lastbit {

/// values[x - first]; an x outside the table reads its nearest end. No values: the identity.
struct LookupTable {
  std::int64_t first = 0;
  std::span<const std::int32_t> values;

  [[nodiscard]] constexpr std::int64_t operator()(std::int64_t x) const noexcept {
    if (values.empty()) return x;
    const auto last = static_cast<std::int64_t>(values.size()) - 1;
    return values[static_cast<std::size_t>(std::clamp(x, first, first + last) - first)];
  }
};

}  // namespace lastbit
