// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which values to look at first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lastbit {

struct Value {
  std::uint32_t data = 0;  ///< number of its list
  std::int64_t index = 0;  ///< in the list
};

/// All values of some lists, in an order in which the first ones tell most: those within the bounds of their list first, at random; every eighth
/// one at a bound.
[[nodiscard]] std::vector<Value> telling_order(std::span<const std::span<const std::int64_t>> lists);

}  // namespace lastbit
