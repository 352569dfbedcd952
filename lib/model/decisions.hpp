// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random decisions: the same everywhere, since no distribution of the standard library is used.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace lastbit {

/// Of a `Source` that derives from this and has `std::uint64_t bits()`.
template <class Source>
class Decisions {
 public:
  /// A number in [0, count).
  std::uint64_t below(std::uint64_t count) { return static_cast<Source&>(*this).bits() % count; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  bool one_in(std::uint64_t count) { return below(count) == 0; }

  template <class T>
  T of(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[below(list.size())];
  }
};

}  // namespace lastbit
