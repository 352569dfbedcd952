// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Constant lists, one behind the other, as one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace lastbit {

// Not consteval: clang 14 fails on a call of such a function in a member's initialiser.
template <class Row, std::size_t... counts>
[[nodiscard]] constexpr auto joined(const std::array<Row, counts>&... lists) {
  std::array<Row, (counts + ...)> all{};
  auto end = all.begin();
  ((end = std::ranges::copy(lists, end).out), ...);
  return all;
}

}  // namespace lastbit
