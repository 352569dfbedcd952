// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the rules mean, from their mathematical definitions on rationals and residues, in exact 128-bit integers. Nothing here calls the
// code under test or shares its structure; nothing is fast, and no floating point is computed with.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "lastbit/arith/overflow.hpp"
#include "lastbit/arith/rounding.hpp"

namespace lastbit::test {

inline constexpr std::array all_roundings{Rounding::floor,     Rounding::ceil,      Rounding::toward_zero,      Rounding::half_up,
                                          Rounding::half_down, Rounding::half_away, Rounding::half_toward_zero, Rounding::half_even,
                                          Rounding::to_odd};
inline constexpr std::array all_overflows{Overflow::wrap, Overflow::saturate, Overflow::exact};

constexpr Int128 two_to_the(int exponent) { return Int128{1} << exponent; }
constexpr Int128 magnitude(Int128 value) { return value < 0 ? -value : value; }
constexpr bool is_odd(Int128 value) { return value % 2 != 0; }

/// The integers next to numerator / denominator (denominator > 0); equal if the quotient is whole.
struct Neighbours {
  Int128 lower, upper;
};
constexpr Neighbours neighbours(Int128 numerator, Int128 denominator) {
  const Int128 truncated = numerator / denominator;
  const Int128 product = truncated * denominator;
  return {truncated - static_cast<Int128>(product > numerator), truncated + static_cast<Int128>(product < numerator)};
}

/// numerator / denominator rounded: of the two neighbours, the one that the rule's definition chooses.
constexpr Int128 rounded(Int128 numerator, Int128 denominator, Rounding rule) {
  const auto [lower, upper] = neighbours(numerator, denominator);
  const bool lower_is_smaller = magnitude(lower) < magnitude(upper);
  const Int128 toward_zero = lower_is_smaller ? lower : upper;
  const Int128 away = lower_is_smaller ? upper : lower;
  const Int128 from_lower = numerator - lower * denominator;
  const Int128 to_upper = upper * denominator - numerator;
  const bool tie = from_lower == to_upper;
  const Int128 nearest = from_lower < to_upper ? lower : upper;
  switch (rule) {
    case Rounding::floor: return lower;
    case Rounding::ceil: return upper;
    case Rounding::toward_zero: return toward_zero;
    case Rounding::to_odd: return is_odd(upper) ? upper : lower;
    case Rounding::half_up: return tie ? upper : nearest;
    case Rounding::half_down: return tie ? lower : nearest;
    case Rounding::half_away: return tie ? away : nearest;
    case Rounding::half_toward_zero: return tie ? toward_zero : nearest;
    case Rounding::half_even: return tie ? (is_odd(lower) ? upper : lower) : nearest;
  }
  return 0;
}

/// The integer of [-2^(bits-1), 2^(bits-1)) that is congruent to value modulo 2^bits.
constexpr Int128 wrapped(Int128 value, int bits) {
  const Int128 modulus = two_to_the(bits);
  const Int128 residue = (value % modulus + modulus) % modulus;
  return residue < modulus / 2 ? residue : residue - modulus;
}
/// The integer of [-2^(bits-1), 2^(bits-1)) nearest to value.
constexpr Int128 saturated(Int128 value, int bits) {
  const Int128 half = two_to_the(bits - 1);
  return std::max(-half, std::min(value, half - 1));
}
constexpr Int128 narrowed(Int128 value, int bits, Overflow rule) {
  return rule == Overflow::wrap ? wrapped(value, bits) : rule == Overflow::saturate ? saturated(value, bits) : value;
}

/// significand * 2^exponent, exactly.
struct Dyadic {
  Int128 significand = 0;
  int exponent = 0;
};

/// Whether two numbers are equal, however they are written.
constexpr bool same_number(Dyadic a, Dyadic b) {
  for (Dyadic* number : {&a, &b}) {
    for (; number->significand != 0 && !is_odd(number->significand); number->significand /= 2) ++number->exponent;
  }
  return a.significand == b.significand && (a.significand == 0 || a.exponent == b.exponent);
}

constexpr int bit_length(Int128 value) {
  int length = 0;
  for (Int128 rest = magnitude(value); rest != 0; rest /= 2) ++length;
  return length;
}

/// The number that a float's or double's bits stand for.
constexpr Dyadic dyadic_of_bits(std::uint64_t bits, int precision, int storage) {
  const Int128 stored = static_cast<Int128>(bits) % two_to_the(precision - 1);
  const int exponent_bits = storage - precision;
  const auto biased = static_cast<int>(static_cast<Int128>(bits) / two_to_the(precision - 1) % two_to_the(exponent_bits));
  const Int128 significand = biased == 0 ? stored : stored + two_to_the(precision - 1);
  const int bias = static_cast<int>(two_to_the(exponent_bits - 1)) - 1;
  const bool negative = static_cast<Int128>(bits) / two_to_the(storage - 1) != 0;
  return {negative ? -significand : significand, std::max(biased, 1) - bias - (precision - 1)};
}
constexpr Dyadic dyadic(float value) { return dyadic_of_bits(std::bit_cast<std::uint32_t>(value), 24, 32); }
constexpr Dyadic dyadic(double value) { return dyadic_of_bits(std::bit_cast<std::uint64_t>(value), 53, 64); }

/// The exact product of two numbers of at most 53-bit significands.
constexpr Dyadic product(Dyadic a, Dyadic b) { return {a.significand * b.significand, a.exponent + b.exponent}; }

/// The nearest binary32 number, ties to even, subnormals included; finite results only.
constexpr Dyadic as_float32(Dyadic value) {
  const int dropped = std::max(bit_length(value.significand) - 24, -149 - value.exponent);
  if (dropped <= 0) return value;
  if (dropped > 120) return {};
  return {rounded(value.significand, two_to_the(dropped), Rounding::half_even), value.exponent + dropped};
}

/// Rounded to an integer and saturated to 63 bits.
constexpr Int128 as_integer(Dyadic value, Rounding rule) {
  if (value.significand == 0) return 0;
  if (bit_length(value.significand) + value.exponent > 62) return saturated(value.significand < 0 ? -two_to_the(62) : two_to_the(62), 63);
  if (value.exponent >= 0) return value.significand * two_to_the(value.exponent);
  // Significands have at most 53 bits: below 2^-60 any such number rounds alike.
  return rounded(value.significand, two_to_the(std::min(-value.exponent, 120)), rule);
}

}  // namespace lastbit::test
