// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where a random network takes its decisions from: the same everywhere, since no distribution of the standard library is used.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace lastbit {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t index) : bits_(seed * 0x9E3779B97F4A7C15U + index * 0xBF58476D1CE4E5B9U + 1) {}

  /// A number in [0, count).
  std::uint64_t below(std::uint64_t count) { return bits_() % count; }
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

  /// A 32-bit float of 24 random bits in [2^low, 2^high).
  double odd_number(int low, int high) {
    constexpr std::int64_t one = std::int64_t{1} << 23;
    return std::ldexp(static_cast<double>(between(one, 2 * one - 1)), static_cast<int>(between(low, high - 1)) - 23);
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace lastbit
