// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Logistic and tanh in 16-bit fixed point, as the gemmlowp library defines them (fixedpoint/fixedpoint.h) for its 16-bit type; TensorFlow
// Lite's lstm uses them. The steps are those of fixed_function.hpp with every value in 16 bits: Qm.n has n = 15 - m fraction bits, 1.0 in
// Q0.15 is 2^15 - 1, and each constant is the 32-bit one divided by 2^16, half_away.
// Contract, in numbered steps that the code repeats:
//   product   a * b / 2^15, half_up, saturated
//   exp(x)    x <= 0, m integer bits.  1. 0 gives 1.0, and below -32 the result is 0;  2. x = r - q/4 with r in [-1/4, 0) and whole q;
//             3. exp(r) by the polynomial of degree 4 around -1/8, its divisions half_away;  4. times exp(-2^(k-2)) for every bit k of q
//   1/(1+x)   x in [0, 1].  1. h = (1 + x) / 2;  2. y = 48/17 - 32/17 h;  3. three times y += y (1 - h y), in Q2.13;  4. y * 2 in raw
//             units, saturated
//   tanh(x)   x < 0: -(2/(1+e) - 1) with e = exp(2x), (y - 1) * 4 in raw units, saturated; tanh(-x) = -tanh(x); tanh(0) = 0
//   logistic  x > 0: 1/(1+exp(-x)); x < 0: 1.0 - logistic(-x); logistic(0) = 2^14
// No sum leaves 16 bits except where it is said to saturate (the tests walk all inputs of all formats). -2^15 counts as -2^15.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "lastbit/arith/fixed_function.hpp"
#include "lastbit/arith/integer.hpp"
#include "lastbit/arith/rounding.hpp"

namespace lastbit {

inline constexpr std::int16_t one_q0_15 = std::numeric_limits<std::int16_t>::max();

/// A 32-bit constant in 16 bits, of the same integer bits.
[[nodiscard]] constexpr std::int16_t constant_i16(std::int32_t value) noexcept {
  return static_cast<std::int16_t>(narrow_exact(divide_by_power_of_two_i32(value, 16), 16));
}

/// Step 3 of exp: Q0.15 in [-1/4, 0) to Q0.15.
[[nodiscard]] constexpr std::int16_t fixed_exp_above_minus_quarter_i16(std::int16_t r) noexcept {
  constexpr std::int16_t exp_minus_eighth = constant_i16(1895147668), one_third = constant_i16(715827883);
  const auto multiplied = [](std::int32_t a, std::int32_t b) {
    return std::int32_t{doubling_high_multiply_i16(static_cast<std::int16_t>(a), static_cast<std::int16_t>(b))};
  };
  const std::int32_t x = r + (1 << 12);
  const std::int32_t x2 = multiplied(x, x), x3 = multiplied(x2, x), x4 = multiplied(x2, x2);
  const std::int32_t cubic = multiplied(divide_by_power_of_two_i32(x4, 2) + x3, one_third);
  const std::int32_t quadratic = divide_by_power_of_two_i32(cubic + x2, 1);
  return static_cast<std::int16_t>(narrow_saturate(exp_minus_eighth + multiplied(exp_minus_eighth, x + quadratic), 16));
}

/// exp of a value <= 0 with 0 to 7 integer bits.
[[nodiscard]] constexpr std::int16_t fixed_exp_i16(std::int16_t value, int integer_bits) noexcept {
  LASTBIT_ASSERT(value <= 0 && integer_bits >= 0 && integer_bits <= 7);
  const int fraction_bits = 15 - integer_bits, quarter_bits = fraction_bits - 2;
  // 1.
  if (value == 0) return one_q0_15;
  if (integer_bits > 5 && value < -(1 << (fraction_bits + 5))) return 0;
  // 2.
  const std::int32_t quarter = 1 << quarter_bits, remainder = (value & (quarter - 1)) - quarter;
  const std::int32_t quarters = (remainder - value) >> quarter_bits;
  // 3.
  std::int16_t result = fixed_exp_above_minus_quarter_i16(static_cast<std::int16_t>(remainder * (1 << integer_bits)));
  // 4.
  for (std::size_t k = 0; k < exp_factors_q0_31.size(); ++k)
    if (((quarters >> k) & 1) != 0) result = doubling_high_multiply_i16(result, constant_i16(exp_factors_q0_31[k]));
  return result;
}

/// 2 / (1 + x) in Q2.13 for x in [0, 1] in Q0.15.
[[nodiscard]] constexpr std::int16_t fixed_two_over_one_plus_i16(std::int16_t x) noexcept {
  constexpr std::int16_t constant_48_over_17 = constant_i16(1515870810), constant_minus_32_over_17 = constant_i16(-1010580540);
  LASTBIT_ASSERT(x >= 0);
  // 1. Not negative, so half_up is also half_away.
  const auto half_denominator = static_cast<std::int16_t>((x + one_q0_15 + 1) >> 1);
  // 2.
  auto y = static_cast<std::int16_t>(constant_48_over_17 + doubling_high_multiply_i16(half_denominator, constant_minus_32_over_17));
  // 3. Q2.13 times Q2.13 is Q4.11, hence the factor 4.
  for (int i = 0; i < 3; ++i) {
    const auto error = static_cast<std::int16_t>((1 << 13) - doubling_high_multiply_i16(half_denominator, y));
    y = static_cast<std::int16_t>(narrow_exact(y + doubling_high_multiply_i16(y, error) * 4, 16));
  }
  return y;
}

/// logistic of any value with 0 to 7 integer bits, in Q0.15.
[[nodiscard]] constexpr std::int16_t fixed_logistic_i16(std::int16_t value, int integer_bits) noexcept {
  if (value == 0) return 1 << 14;
  const auto magnitude = static_cast<std::int16_t>(value > 0 ? -value : value);
  const auto positive_side = narrow_saturate(fixed_two_over_one_plus_i16(fixed_exp_i16(magnitude, integer_bits)) * 2, 16);
  return static_cast<std::int16_t>(value > 0 ? positive_side : one_q0_15 - positive_side);
}

/// tanh of any value with 0 to 6 integer bits, in Q0.15. Doubling the argument is free: the same raw value is read with one more integer bit.
[[nodiscard]] constexpr std::int16_t fixed_tanh_i16(std::int16_t value, int integer_bits) noexcept {
  if (value == 0) return 0;
  const auto magnitude = static_cast<std::int16_t>(value > 0 ? -value : value);
  const std::int32_t difference_q2_13 = fixed_two_over_one_plus_i16(fixed_exp_i16(magnitude, integer_bits + 1)) - (1 << 13);
  const auto result = narrow_saturate(difference_q2_13 * 4, 16);
  return static_cast<std::int16_t>(value > 0 ? result : -result);
}

}  // namespace lastbit
