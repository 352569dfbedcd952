// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// IEEE 754 binary16 in integers: conversions and the four operations, each rounded once, whatever the host's floating point does.
//
// Contract. Every result is the exact value rounded once, by any Rounding, to 11 significant bits, to a multiple of 2^-24 below 2^-14
// (subnormals are kept). An exact sum of zero is +0, or -0 under floor or where both terms are negative; other zeros keep their sign.
// A value has overflowed if, rounded as if exponents had no limit, it is 65536 or more. What then stands in its place:
//
//                          overflow below 2^17   overflow from 2^17   infinite   NaN
//   infinity               Inf, or 65504 where the rounding turns     Inf        NaN: 0x7E00, or the sign and the high bits of the
//                          toward zero (to_odd: 65504)                           NaN converted, made quiet
//   saturate               65504                 65504                65504      +0
//   all_ones               0x7FFF                0x7FFF               0x7FFF     0x7FFF
//   all_ones_below_2_17    0x7FFF                65504                65504      65504
//
// with the sign of the value, except for +0. `infinity` is IEEE; `saturate` is what is documented of Huawei's saturation mode; the last two
// are what Huawei's own software class of 2021 does: `all_ones` in its sums and products, `all_ones_below_2_17` in its conversion from
// float32 and in its quotients. (Its conversion from integers saturates.)
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/arith/rounding.hpp"
#include "lastbit/arith/unstated.hpp"

namespace lastbit {

/// A bit pattern; equality is of patterns, so +0 and -0 differ and a NaN equals itself.
struct Float16 {
  std::uint16_t bits = 0;
  /// Its value, which float32 holds exactly; the patterns with all exponent bits set are infinities and NaN.
  template <std::floating_point Float>
  explicit constexpr operator Float() const noexcept;
  friend constexpr bool operator==(Float16, Float16) = default;
};

enum class Float16Overflow : std::uint8_t { infinity, saturate, all_ones, all_ones_below_2_17 };

/// What the patterns with all exponent bits set are: infinities and NaN, or numbers like the others, of 65536 to 131008.
enum class Float16TopExponent : std::uint8_t { infinity_nan, ordinary };

/// 0/x is a zero with the sign of the quotient, x/0 infinite, 0/0 NaN; or 0/x is +0, and x/0 and 0/0 are the pattern of a signed infinity.
enum class Float16ZeroDivision : std::uint8_t { ieee, unsigned_zero };

/// How a result becomes float16: its rounding, and what a value beyond 65504 becomes.
struct Float16Rules {
  Rounding rounding = unstated<Rounding>;
  Float16Overflow overflow = unstated<Float16Overflow>;
  Float16TopExponent top_exponent = unstated<Float16TopExponent>;
  friend constexpr bool operator==(const Float16Rules&, const Float16Rules&) = default;
};
/// binary16 of IEEE 754, to the nearest, ties to even.
inline constexpr Float16Rules ieee_float16{
    .rounding = Rounding::half_even, .overflow = Float16Overflow::infinity, .top_exponent = Float16TopExponent::infinity_nan};

inline constexpr int float16_infinity_bits = 0x7C00, float16_max_bits = 0x7BFF, float16_all_ones_bits = 0x7FFF, float16_nan_bits = 0x7E00;
inline constexpr int float16_min_exponent = -24;  ///< every finite value is a multiple of 2^-24

enum class Float16Kind : std::uint8_t { finite, infinite, nan };

/// A finite value is ±significand * 2^exponent; of a NaN the significand is its payload.
struct Float16Parts {
  Float16Kind kind = Float16Kind::finite;
  bool negative = false;
  std::int64_t significand = 0;
  int exponent = 0;

  [[nodiscard]] constexpr bool is_zero() const noexcept { return kind == Float16Kind::finite && significand == 0; }
  [[nodiscard]] constexpr std::int64_t signed_significand() const noexcept { return negative ? -significand : significand; }
  /// In units of 2^-24: at most 11 + 30 bits.
  [[nodiscard]] constexpr std::int64_t in_units() const noexcept {
    return signed_significand() * (std::int64_t{1} << (exponent - float16_min_exponent));
  }
};

[[nodiscard]] constexpr Float16Parts take_apart(Float16 value, Float16TopExponent top_exponent) noexcept {
  const bool negative = (value.bits & 0x8000) != 0;
  const int field = (value.bits >> 10) & 31;
  const std::int64_t fraction = value.bits & 0x3FF;
  if (field == 31 && top_exponent == Float16TopExponent::infinity_nan) {
    return {fraction == 0 ? Float16Kind::infinite : Float16Kind::nan, negative, fraction, 0};
  }
  return {Float16Kind::finite, negative, field == 0 ? fraction : fraction + 0x400, std::max(field, 1) - 1 + float16_min_exponent};
}

/// The pattern of a magnitude (sign bit clear) with a sign.
[[nodiscard]] constexpr Float16 float16_of(bool negative, int magnitude_bits) noexcept {
  return {static_cast<std::uint16_t>(magnitude_bits | (negative ? 0x8000 : 0))};
}

[[nodiscard]] constexpr Float16 float16_infinite(bool negative, Float16Overflow rule) noexcept {
  if (rule == Float16Overflow::infinity) return float16_of(negative, float16_infinity_bits);
  return float16_of(negative, rule == Float16Overflow::all_ones ? float16_all_ones_bits : float16_max_bits);
}

/// `payload`: 10 bits of a NaN that is converted.
[[nodiscard]] constexpr Float16 float16_nan(bool negative, int payload, Float16Overflow rule) noexcept {
  if (rule == Float16Overflow::infinity) return float16_of(negative, float16_nan_bits | payload);
  return rule == Float16Overflow::saturate ? Float16{} : float16_infinite(negative, rule);
}

/// A finite value of 2^top or more, below 2^(top + 1), that overflows.
[[nodiscard]] constexpr Float16 float16_overflowed(bool negative, int top, const Float16Rules& rules) noexcept {
  if (rules.overflow == Float16Overflow::all_ones_below_2_17 && top < 17) return float16_of(negative, float16_all_ones_bits);
  if (rules.overflow != Float16Overflow::infinity) return float16_infinite(negative, rules.overflow);
  // The neighbours are 65504, whose significand is odd, and the infinity, which is nearer.
  const bool to_infinity = negative ? !rounds_up(rules.rounding, Fraction::below_half, true, false)
                                    : rounds_up(rules.rounding, Fraction::above_half, false, true);
  return float16_of(negative, to_infinity ? float16_infinity_bits : float16_max_bits);
}

/// ±significand * 2^exponent, rounded: the one rounding of every operation. The significand is below 2^61.
[[nodiscard]] constexpr Float16 round_to_float16(bool negative, std::int64_t significand, int exponent,
                                                 const Float16Rules& rules) noexcept {
  LASTBIT_ASSERT(significand >= 0 && significand < (std::int64_t{1} << 61));
  if (significand == 0) return float16_of(negative, 0);
  const int top = exponent + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(significand))) - 1;
  const int unit = std::max(top - 10, float16_min_exponent);  // the exponent of the result's last place
  const int dropped = unit - exponent;
  // 62 places hold every bit, and leave them on the same side of a half as more places would.
  std::int64_t magnitude =
      dropped <= 0 ? significand << -dropped : shift_right(negative ? -significand : significand, std::min(dropped, 62), rules.rounding);
  if (magnitude < 0) magnitude = -magnitude;
  // A magnitude of 11 bits adds its first bit to the exponent field, one rounded up to 2^11 adds two.
  const std::int64_t bits = (static_cast<std::int64_t>(unit - float16_min_exponent) << 10) + magnitude;
  return bits < float16_infinity_bits ? float16_of(negative, static_cast<int>(bits)) : float16_overflowed(negative, top, rules);
}

/// From float or double.
template <std::floating_point Float>
[[nodiscard]] constexpr Float16 to_float16(Float value, const Float16Rules& rules) noexcept {
  using Format = FloatFormat<Float>;
  constexpr int stored = Format::precision - 1;
  const auto bits = std::bit_cast<typename Format::Bits>(value);
  const bool negative = (bits >> (Format::storage - 1)) != 0;
  const auto fraction = bits & ((typename Format::Bits{1} << stored) - 1);
  const auto field = static_cast<int>((bits >> stored) & (2 * Format::bias + 1));
  if (field == 2 * Format::bias + 1) {
    if (fraction == 0) return float16_infinite(negative, rules.overflow);
    return float16_nan(negative, static_cast<int>(fraction >> (stored - 10)), rules.overflow);
  }
  const Decomposed parts = decompose(value);
  return round_to_float16(negative, negative ? -parts.significand : parts.significand, parts.exponent, rules);
}

[[nodiscard]] constexpr Float16 to_float16(std::int32_t value, const Float16Rules& rules) noexcept {
  const std::int64_t wide = value;
  return round_to_float16(wide < 0, wide < 0 ? -wide : wide, 0, rules);
}

/// Exact: every binary16 value is a float32 value. A NaN keeps sign and payload and becomes quiet.
[[nodiscard]] constexpr float to_float32(Float16 value, Float16TopExponent top_exponent = Float16TopExponent::infinity_nan) noexcept {
  const Float16Parts parts = take_apart(value, top_exponent);
  const std::uint32_t sign = parts.negative ? 0x8000'0000U : 0U;
  const auto significand = static_cast<std::uint32_t>(parts.significand);
  if (parts.kind == Float16Kind::infinite) return std::bit_cast<float>(sign | 0x7F80'0000U);
  if (parts.kind == Float16Kind::nan) return std::bit_cast<float>(sign | 0x7FC0'0000U | significand << 13);
  if (parts.is_zero()) return std::bit_cast<float>(sign);
  const auto width = static_cast<int>(std::bit_width(significand));
  const auto field = static_cast<std::uint32_t>(parts.exponent + width - 1 + FloatFormat<float>::bias);
  return std::bit_cast<float>(sign | field << 23 | (significand << (24 - width) & 0x7F'FFFFU));
}
template <std::floating_point Float>
constexpr Float16::operator Float() const noexcept {
  return static_cast<Float>(to_float32(*this));
}

/// Rounded to an integer, then saturated: a negative value gives 0 for an unsigned type, Inf and NaN the bound on the side of their sign.
template <std::integral Integer>
requires(sizeof(Integer) <= 4) [[nodiscard]] constexpr Integer to_integer(Float16 value, Rounding rounding) noexcept {
  using Limits = std::numeric_limits<Integer>;
  const Float16Parts parts = take_apart(value, Float16TopExponent::infinity_nan);
  if (parts.kind != Float16Kind::finite) return parts.negative ? Limits::min() : Limits::max();
  const std::int64_t whole = shift_right(parts.in_units(), -float16_min_exponent, rounding);
  if (whole < 0 && std::unsigned_integral<Integer>) return 0;
  if (whole < Limits::min()) return Limits::min();
  return whole > Limits::max() ? Limits::max() : static_cast<Integer>(whole);
}

[[nodiscard]] constexpr Float16 negate(Float16 value) noexcept { return {static_cast<std::uint16_t>(value.bits ^ 0x8000)}; }

[[nodiscard]] constexpr Float16 add(Float16 a, Float16 b, const Float16Rules& rules) noexcept {
  const Float16Parts x = take_apart(a, rules.top_exponent), y = take_apart(b, rules.top_exponent);
  const bool both_infinite = x.kind == Float16Kind::infinite && y.kind == Float16Kind::infinite;
  if (x.kind == Float16Kind::nan || y.kind == Float16Kind::nan || (both_infinite && x.negative != y.negative)) {
    return float16_nan(false, 0, rules.overflow);
  }
  if (x.kind == Float16Kind::infinite) return float16_infinite(x.negative, rules.overflow);
  if (y.kind == Float16Kind::infinite) return float16_infinite(y.negative, rules.overflow);
  const std::int64_t sum = x.in_units() + y.in_units();
  if (sum == 0) return float16_of(x.negative == y.negative ? x.negative : rules.rounding == Rounding::floor, 0);
  return round_to_float16(sum < 0, sum < 0 ? -sum : sum, float16_min_exponent, rules);
}

[[nodiscard]] constexpr Float16 subtract(Float16 a, Float16 b, const Float16Rules& rules) noexcept { return add(a, negate(b), rules); }

[[nodiscard]] constexpr Float16 multiply(Float16 a, Float16 b, const Float16Rules& rules) noexcept {
  const Float16Parts x = take_apart(a, rules.top_exponent), y = take_apart(b, rules.top_exponent);
  const bool negative = x.negative != y.negative;
  const bool infinite = x.kind == Float16Kind::infinite || y.kind == Float16Kind::infinite;
  if (x.kind == Float16Kind::nan || y.kind == Float16Kind::nan || (infinite && (x.is_zero() || y.is_zero()))) {
    return float16_nan(false, 0, rules.overflow);
  }
  if (infinite) return float16_infinite(negative, rules.overflow);
  return round_to_float16(negative, x.significand * y.significand, x.exponent + y.exponent, rules);
}

[[nodiscard]] constexpr Float16 divide(Float16 a, Float16 b, const Float16Rules& rules, Float16ZeroDivision by_zero) noexcept {
  const Float16Parts x = take_apart(a, rules.top_exponent), y = take_apart(b, rules.top_exponent);
  const bool negative = x.negative != y.negative;
  const bool no_number = (x.is_zero() && y.is_zero()) || (x.kind == Float16Kind::infinite && y.kind == Float16Kind::infinite);
  if (by_zero == Float16ZeroDivision::unsigned_zero && y.is_zero()) return float16_of(negative, float16_infinity_bits);
  if (by_zero == Float16ZeroDivision::unsigned_zero && x.is_zero()) return {};
  if (x.kind == Float16Kind::nan || y.kind == Float16Kind::nan || no_number) return float16_nan(false, 0, rules.overflow);
  if (x.kind == Float16Kind::infinite || y.is_zero()) return float16_infinite(negative, rules.overflow);
  if (y.kind == Float16Kind::infinite) return float16_of(negative, 0);
  // The quotient has 30 bits or more, and its last bit tells whether anything follows: far below the last place of the result.
  const std::int64_t scaled = x.significand << 40;
  const std::int64_t quotient = 2 * (scaled / y.significand) + static_cast<std::int64_t>(scaled % y.significand != 0);
  return round_to_float16(negative, quotient, x.exponent - y.exponent - 41, rules);
}

}  // namespace lastbit
