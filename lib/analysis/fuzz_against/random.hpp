// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where a random network takes its decisions from.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "model/decisions.hpp"

namespace lastbit {

class Random : public Decisions<Random> {
 public:
  Random(std::uint64_t seed, std::uint64_t index) : bits_(seed * 0x9E3779B97F4A7C15U + index * 0xBF58476D1CE4E5B9U + 1) {}

  std::uint64_t bits() { return bits_(); }

  /// A 32-bit float of 24 random bits in [2^low, 2^high).
  double odd_number(int low, int high) {
    constexpr std::int64_t one = std::int64_t{1} << 23;
    return std::ldexp(static_cast<double>(between(one, 2 * one - 1)), static_cast<int>(between(low, high - 1)) - 23);
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace lastbit
