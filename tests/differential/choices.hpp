// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where a random layer takes its decisions from: a seed, or the bytes of a fuzzer.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <vector>

namespace lastbit::test {

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed) {}
  /// Decisions out of the bytes while there are some, then as a seed of 0 has it.
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes), random_(0) {}

  /// A number in [0, count).
  std::uint64_t below(std::uint64_t count) { return bits() % count; }
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

  /// For values in bulk, which would use up a fuzzer's bytes.
  std::mt19937_64 generator() { return std::mt19937_64(bits()); }

 private:
  std::uint64_t bits() {
    if (bytes_.empty()) return random_();
    const std::uint64_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }

  std::span<const std::uint8_t> bytes_;
  std::mt19937_64 random_;
};

}  // namespace lastbit::test
