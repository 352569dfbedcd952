// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every rounding rule of the library. The name states what happens to a tie; `rounds_up` is the one place that defines them.
//
//   floor            toward -inf                     half_up           nearest, tie toward +inf
//   ceil             toward +inf                     half_down         nearest, tie toward -inf
//   toward_zero      truncation                      half_away         nearest, tie away from zero
//   to_odd           floor, last bit 1 if inexact    half_toward_zero  nearest, tie toward zero
//                                                    half_even         nearest, tie to the even neighbour
#pragma once

#include <algorithm>
#include <cstdint>

#include "lastbit/arith/integer.hpp"

namespace lastbit {

enum class Rounding : std::uint8_t { floor, ceil, toward_zero, half_up, half_down, half_away, half_toward_zero, half_even, to_odd };

/// Where an exact value lies between its floor and the next integer.
enum class Fraction : std::uint8_t { zero, below_half, half, above_half };

/// Whether an exact value is rounded to floor + 1. `floor_is_negative` is the sign of an inexact value.
[[nodiscard]] constexpr bool rounds_up(Rounding rule, Fraction fraction, bool floor_is_negative, bool floor_is_odd) {
  if (fraction == Fraction::zero) return false;
  switch (rule) {
    case Rounding::floor: return false;
    case Rounding::ceil: return true;
    case Rounding::toward_zero: return floor_is_negative;
    case Rounding::to_odd: return !floor_is_odd;
    case Rounding::half_up:
    case Rounding::half_down:
    case Rounding::half_away:
    case Rounding::half_toward_zero:
    case Rounding::half_even: break;
    default: refuse_unstated("rounds_up", "rounding");
  }
  if (fraction != Fraction::half) return fraction == Fraction::above_half;
  switch (rule) {
    case Rounding::half_up: return true;
    case Rounding::half_away: return !floor_is_negative;
    case Rounding::half_toward_zero: return floor_is_negative;
    case Rounding::half_even: return floor_is_odd;
    default: return false;  // half_down
  }
}

/// The fraction of a remainder in [0, divisor). Written so that no operand can overflow.
template <SignedInteger T>
[[nodiscard]] constexpr Fraction fraction_of(T remainder, T divisor) noexcept {
  if (remainder == 0) return Fraction::zero;
  const T rest = divisor - remainder;
  return remainder < rest ? Fraction::below_half : remainder == rest ? Fraction::half : Fraction::above_half;
}

/// value / 2^amount, 0 <= amount <= width - 2.
template <Rounding rule, SignedInteger T>
[[nodiscard]] constexpr T shift_right(T value, int amount) {
  LASTBIT_ASSERT(amount >= 0 && amount <= width_of<T> - 2);
  const T divisor = T{1} << amount;
  const T floor = value >> amount;  // arithmetic: toward -inf
  const Fraction fraction = fraction_of(static_cast<T>(value & (divisor - 1)), divisor);
  return static_cast<T>(floor + static_cast<T>(rounds_up(rule, fraction, value < 0, (floor & 1) != 0)));
}

/// Calls `function.template operator()<rule>()`, so that a loop inside it is compiled once per rule.
template <class Function>
constexpr decltype(auto) with_rounding(Rounding rule, Function&& function) {
  switch (rule) {
    case Rounding::ceil: return function.template operator()<Rounding::ceil>();
    case Rounding::toward_zero: return function.template operator()<Rounding::toward_zero>();
    case Rounding::half_up: return function.template operator()<Rounding::half_up>();
    case Rounding::half_down: return function.template operator()<Rounding::half_down>();
    case Rounding::half_away: return function.template operator()<Rounding::half_away>();
    case Rounding::half_toward_zero: return function.template operator()<Rounding::half_toward_zero>();
    case Rounding::half_even: return function.template operator()<Rounding::half_even>();
    case Rounding::to_odd: return function.template operator()<Rounding::to_odd>();
    case Rounding::floor: return function.template operator()<Rounding::floor>();
  }
  refuse_unstated("shift_right", "rounding");
}

template <SignedInteger T>
[[nodiscard]] constexpr T shift_right(T value, int amount, Rounding rule) {
  return with_rounding(rule, [&]<Rounding fixed>() { return shift_right<fixed>(value, amount); });
}

/// value / 2^amount for any amount: a negative one is a shift left modulo 2^128, one beyond the width leaves only sign and fraction.
[[nodiscard]] constexpr Int128 shift_any(Int128 value, int amount, Rounding rounding) {
  if (amount <= 0) return multiply_modulo(value, Int128{1} << std::min(-amount, 62));
  return shift_right(value, std::min(amount, width_of<Int128> - 2), rounding);
}

/// numerator / divisor, divisor > 0.
template <SignedInteger T>
[[nodiscard]] constexpr T divide(T numerator, T divisor, Rounding rule) {
  stated(rule, "divide", "rounding");
  LASTBIT_ASSERT(divisor > 0);
  T floor = numerator / divisor;
  T remainder = numerator % divisor;
  if (remainder < 0) {
    floor -= 1;
    remainder += divisor;
  }
  return static_cast<T>(floor + static_cast<T>(rounds_up(rule, fraction_of(remainder, divisor), numerator < 0, (floor & 1) != 0)));
}

/// value * multiplier / 2^amount with the exact 128-bit product; amount may be negative (a left shift that must fit).
[[nodiscard]] constexpr Int128 multiply_shift(std::int64_t value, std::int64_t multiplier, int amount, Rounding rule) {
  const Int128 product = static_cast<Int128>(value) * multiplier;
  return amount >= 0 ? shift_right(product, amount, rule) : product * (Int128{1} << -amount);
}

}  // namespace lastbit
