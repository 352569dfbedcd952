// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/telling_order.hpp"

#include <algorithm>
#include <random>

namespace lastbit {

std::vector<Value> telling_order(std::span<const std::span<const std::int64_t>> lists) {
  std::vector<Value> inside, at_bounds;
  for (std::uint32_t d = 0; d < lists.size(); ++d) {
    const auto [least, most] = std::minmax_element(lists[d].begin(), lists[d].end());
    for (std::int64_t i = 0; i < std::ssize(lists[d]); ++i) {
      const std::int64_t value = lists[d][static_cast<std::size_t>(i)];
      (value == *least || value == *most ? at_bounds : inside).push_back({d, i});
    }
  }
  std::mt19937 random(1);
  std::shuffle(inside.begin(), inside.end(), random);
  std::shuffle(at_bounds.begin(), at_bounds.end(), random);
  std::vector<Value> order;
  std::size_t next = 0;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    order.push_back(inside[i]);
    if (i % 8 == 7 && next < at_bounds.size()) order.push_back(at_bounds[next++]);
  }
  order.insert(order.end(), at_bounds.begin() + static_cast<std::ptrdiff_t>(next), at_bounds.end());
  return order;
}

}  // namespace lastbit
