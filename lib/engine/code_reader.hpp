// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The codes of an operand in the order of the output it is broadcast to, some at a time.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "engine/broadcast.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

class CodeReader {
 public:
  CodeReader() = default;
  CodeReader(const Shape& from, const Shape& to) {
    if (from.element_count() != to.element_count()) offsets_ = broadcast_offsets(from, to);
  }

  /// Where codes [first, first + count) lie side by side: in the tensor, or gathered in `buffer`, which holds count * 8 bytes.
  [[nodiscard]] const void* read(const Tensor& tensor, std::size_t first, std::size_t count, void* buffer) const {
    const std::byte* const codes = tensor.bytes().data();
    const std::size_t size = size_of(tensor.type());
    if (offsets_.empty()) return codes + first * size;
    switch (size) {
      case 1: return gather<std::uint8_t>(codes, first, count, buffer);
      case 2: return gather<std::uint16_t>(codes, first, count, buffer);
      case 4: return gather<std::uint32_t>(codes, first, count, buffer);
      default: return gather<std::uint64_t>(codes, first, count, buffer);
    }
  }

 private:
  template <class T>
  const void* gather(const std::byte* codes, std::size_t first, std::size_t count, void* buffer) const {
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(static_cast<std::byte*>(buffer) + i * sizeof(T), codes + static_cast<std::size_t>(offsets_[first + i]) * sizeof(T),
                  sizeof(T));
    return buffer;
  }

  std::vector<std::int64_t> offsets_;  ///< empty: as they lie
};

}  // namespace lastbit
