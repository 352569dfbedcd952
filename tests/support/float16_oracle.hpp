// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What binary16 means, from the list of its values: exact rationals in 128-bit integers, and a choice between two neighbours. Nothing here
// shares structure with arith/float16.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lastbit/arith/float16.hpp"
#include "support/oracle.hpp"

namespace lastbit::test {

/// The finite magnitudes in units of 2^-24, by pattern; after the last, 65536, which stands for the overflow.
inline const std::vector<Int128>& float16_magnitudes() {
  static const std::vector<Int128> list = [] {
    std::vector<Int128> values;
    for (int significand = 0; significand < 1024; ++significand) values.push_back(significand);
    for (int binade = 0; binade < 30; ++binade) {
      for (int significand = 1024; significand < 2048; ++significand) values.push_back(significand * two_to_the(binade));
    }
    values.push_back(two_to_the(40));
    return values;
  }();
  return list;
}

/// The IEEE result for the exact value ±numerator / denominator * 2^-24, which is not zero.
inline Float16 float16_nearby(bool negative, Int128 numerator, Int128 denominator, Rounding rule) {
  const auto& list = float16_magnitudes();
  const auto above = std::lower_bound(list.begin(), list.end(), numerator, [&](Int128 value, Int128 x) { return value * denominator < x; });
  const auto outer = static_cast<int>(std::min(above, list.end() - 1) - list.begin());
  const bool exact = above != list.end() && *above * denominator == numerator && outer != 0x7C00;
  const int inner = exact ? outer : outer - 1;
  const Int128 from_inner = numerator - list[static_cast<std::size_t>(inner)] * denominator;
  const Int128 to_outer = list[static_cast<std::size_t>(outer)] * denominator - numerator;  // negative beyond 65536: the outer is nearer
  const int nearest = from_inner < to_outer ? inner : outer;
  const int up = negative ? inner : outer, down = negative ? outer : inner;
  const int even = inner % 2 == 0 ? inner : outer;
  const bool tie = from_inner == to_outer;
  int chosen = 0;
  switch (rule) {
    case Rounding::floor: chosen = down; break;
    case Rounding::ceil: chosen = up; break;
    case Rounding::toward_zero: chosen = inner; break;
    case Rounding::to_odd: chosen = exact || even == outer ? inner : outer; break;
    case Rounding::half_up: chosen = tie ? up : nearest; break;
    case Rounding::half_down: chosen = tie ? down : nearest; break;
    case Rounding::half_away: chosen = tie ? outer : nearest; break;
    case Rounding::half_toward_zero: chosen = tie ? inner : nearest; break;
    case Rounding::half_even: chosen = tie ? even : nearest; break;
  }
  return {static_cast<std::uint16_t>(chosen + (negative ? 0x8000 : 0))};
}

/// A finite pattern's value in units of 2^-24.
inline Int128 float16_units(Float16 value) {
  const Int128 magnitude_units = float16_magnitudes()[value.bits % 0x8000];
  return value.bits >= 0x8000 ? -magnitude_units : magnitude_units;
}

/// A number rounded. Nothing below 2^-40 is told apart from 2^-40: both lie far below half of 2^-24.
inline Float16 float16_nearby(Dyadic value, Rounding rule) {
  const bool negative = value.significand < 0;
  const Int128 size = magnitude(value.significand);
  if (bit_length(size) + value.exponent < -40) return float16_nearby(negative, 1, two_to_the(16), rule);
  if (bit_length(size) + value.exponent > 40) return float16_nearby(negative, two_to_the(64), 1, rule);
  const int exponent = value.exponent + 24;
  return exponent >= 0 ? float16_nearby(negative, size * two_to_the(exponent), 1, rule)
                       : float16_nearby(negative, size, two_to_the(-exponent), rule);
}

}  // namespace lastbit::test
