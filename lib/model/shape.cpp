// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/shape.hpp"

#include <utility>
#include <vector>

namespace lastbit {
std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  std::vector<std::int64_t> sizes(longer.sizes().begin(), longer.sizes().end());
  const std::size_t lead = longer.rank() - shorter.rank();
  for (std::size_t axis = 0; axis < shorter.rank(); ++axis) {
    std::int64_t& size = sizes[lead + axis];
    if (size == 1) size = shorter[axis];
    else if (shorter[axis] != 1 && shorter[axis] != size) return std::nullopt;
  }
  return Shape(std::move(sizes));
}

}  // namespace lastbit
