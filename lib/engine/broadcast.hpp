// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// numpy broadcasting as a list of offsets.
#pragma once

#include <cstdint>
#include <vector>

#include "lastbit/tensor.hpp"

namespace lastbit {

/// For every element of `to`, the offset of the element of `from` that it reads. `from` must broadcast to `to`.
[[nodiscard]] inline std::vector<std::int64_t> broadcast_offsets(const Shape& from, const Shape& to) {
  std::vector<std::int64_t> offsets{0};
  const std::size_t missing = to.rank() - from.rank();
  std::int64_t stride = from.element_count();
  for (std::size_t axis = 0; axis < to.rank(); ++axis) {
    const std::int64_t size = axis < missing ? 1 : from[axis - missing];
    stride /= size;
    std::vector<std::int64_t> next;
    next.reserve(offsets.size() * static_cast<std::size_t>(to[axis]));
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < to[axis]; ++i) next.push_back(offset + (size == 1 ? 0 : i * stride));
    }
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace lastbit
