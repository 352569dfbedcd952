// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// exp, 1/(1+x), logistic and tanh in 32-bit fixed point, as the gemmlowp library defines them (fixedpoint/fixedpoint.h); TFLite and
// CMSIS-NN use them in softmax, logistic and tanh. Integers only.
//
// Qm.n is a 32-bit value with n = 31 - m fraction bits, raw = real * 2^n; results are Q0.31, where 1.0 is stored as 2^31 - 1.
// Contract, in numbered steps that the code repeats:
//   product   a * b / 2^31, tie toward +inf (half_up); only (-2^31)^2 saturates
//   exp(x)    x <= 0.  1. 0 gives 1.0, and below -32 the result is 0;  2. x = r - q/4 with r in [-1/4, 0) and whole q;
//             3. exp(r) by the polynomial of degree 4 around -1/8;  4. times exp(-2^(k-2)) for every bit k of q, lowest bit first
//   2/(1+x)   x in [0, 1].  1. h = (1 + x) / 2;  2. y = 48/17 - 32/17 h;  3. three times y += y (1 - h y), in Q2.29
//   1/(1+x)   half of that: y * 2 in raw units, saturated to 32 bits
//   tanh(x)   x < 0: -(2/(1+e) - 1) with e = exp(2x), (y - 1) * 4 in raw units, saturated; tanh(-x) = -tanh(x); tanh(0) = 0
//   logistic  x > 0: 1/(1+exp(-x)); x < 0: 1.0 - logistic(-x); logistic(0) = 2^30
// Sums never leave 32 bits (the tests walk all 2^24 remainders of a Q5.26 argument); divisions by powers of two inside the polynomial are half_away.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "lastbit/arith/integer.hpp"
#include "lastbit/arith/rounding.hpp"

namespace lastbit {

/// a * b / 2^31, half_up, saturated: the instruction VQRDMULH.32. The product has at most 63 bits.
[[nodiscard]] constexpr std::int32_t doubling_high_multiply_i32(std::int32_t a, std::int32_t b) noexcept {
  return static_cast<std::int32_t>(narrow_saturate(shift_right<Rounding::half_up>(std::int64_t{a} * b, 31), 32));
}

/// a * b / 2^15, half_up, saturated: the instruction VQRDMULH.16.
[[nodiscard]] constexpr std::int16_t doubling_high_multiply_i16(std::int16_t a, std::int16_t b) noexcept {
  return static_cast<std::int16_t>(narrow_saturate(shift_right<Rounding::half_up>(std::int32_t{a} * b, 15), 16));
}

/// value / 2^exponent, half_away, 0 <= exponent <= 62 (gemmlowp's own function ends at 31). 64 bits: no exponent needs a special case.
[[nodiscard]] constexpr std::int32_t divide_by_power_of_two_i32(std::int32_t value, int exponent) noexcept {
  return static_cast<std::int32_t>(shift_right<Rounding::half_away>(std::int64_t{value}, exponent));
}

template <class T>
concept ByteElement = std::same_as<T, std::int8_t> || std::same_as<T, std::uint8_t>;

/// From a difference of quantised values to the fixed-point argument of a function: the device's requantisation. Must not throw.
template <class F>
concept DifferenceRescale = std::invocable<F&, std::int32_t> && std::convertible_to<std::invoke_result_t<F&, std::int32_t>, std::int64_t>;

/// Largest |value| whose rescaled value stays below the top of Q<integer_bits>: floor((2^m - 1) 2^(31 - m) / 2^left_shift).
/// 0 <= left_shift; devices leave a negative one undefined (scales below 2^(m - 31)).
[[nodiscard]] constexpr std::int32_t largest_fixed_input(int integer_bits, int left_shift) noexcept {
  const std::int64_t top = ((std::int64_t{1} << integer_bits) - 1) << (31 - integer_bits);
  return static_cast<std::int32_t>(narrow_saturate(top >> std::clamp(left_shift, 0, 62), 32));
}

inline constexpr std::int32_t one_q0_31 = std::numeric_limits<std::int32_t>::max();

/// exp(-2^(k-2)) in Q0.31, k = 0…6: the factors for 1/4, 1/2, 1, 2, 4, 8 and 16.
inline constexpr std::array<std::int32_t, 7> exp_factors_q0_31{1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};

/// Step 3 of exp: Q0.31 in [-1/4, 0) to Q0.31. With x = r + 1/8, |x| <= 1/8: e^(-1/8) (1 + x + (x^2 + (x^3 + x^4/4) / 3) / 2).
[[nodiscard]] constexpr std::int32_t fixed_exp_above_minus_quarter(std::int32_t r) noexcept {
  constexpr std::int32_t exp_minus_eighth = 1895147668;
  constexpr std::int32_t one_third = 715827883;
  const std::int32_t x = r + (std::int32_t{1} << 28);
  const std::int32_t x2 = doubling_high_multiply_i32(x, x);
  const std::int32_t x3 = doubling_high_multiply_i32(x2, x);
  const std::int32_t x4 = doubling_high_multiply_i32(x2, x2);
  const std::int32_t cubic = doubling_high_multiply_i32(divide_by_power_of_two_i32(x4, 2) + x3, one_third);
  const std::int32_t quadratic = divide_by_power_of_two_i32(cubic + x2, 1);
  return exp_minus_eighth + doubling_high_multiply_i32(exp_minus_eighth, x + quadratic);
}

/// exp of a value <= 0 in Q<integer_bits>.
template <int integer_bits>
[[nodiscard]] constexpr std::int32_t fixed_exp(std::int32_t value) noexcept {
  static_assert(integer_bits >= 0 && integer_bits <= 28);
  constexpr int fraction_bits = 31 - integer_bits;
  constexpr std::int32_t quarter = std::int32_t{1} << (fraction_bits - 2);
  LASTBIT_ASSERT(value <= 0);
  // 1.
  if (value == 0) return one_q0_31;
  if constexpr (integer_bits > 5) {
    if (value < -(std::int32_t{1} << (fraction_bits + 5))) return 0;
  }
  // 2. Both lie within 32 bits: remainder in [-quarter, -1], quarters below 2^(integer_bits + 2).
  const std::int32_t remainder = (value & (quarter - 1)) - quarter;
  const std::int32_t quarters = (remainder - value) >> (fraction_bits - 2);
  // 3.
  std::int32_t result = fixed_exp_above_minus_quarter(remainder * (std::int32_t{1} << integer_bits));
  // 4.
  for (std::size_t k = 0; k < exp_factors_q0_31.size(); ++k) {
    if (((quarters >> k) & 1) != 0) result = doubling_high_multiply_i32(result, exp_factors_q0_31[k]);
  }
  return result;
}

/// 2 / (1 + x) in Q2.29 for x in [0, 1] in Q0.31.
[[nodiscard]] constexpr std::int32_t fixed_two_over_one_plus(std::int32_t x) noexcept {
  constexpr std::int32_t one_q2_29 = std::int32_t{1} << 29;
  constexpr std::int32_t constant_48_over_17 = 1515870810;
  constexpr std::int32_t constant_minus_32_over_17 = -1010580540;
  LASTBIT_ASSERT(x >= 0);
  // 1. In 64 bits, since the sum needs 33; not negative, so half_up is also half_away.
  const auto half_denominator = static_cast<std::int32_t>(shift_right<Rounding::half_up>(std::int64_t{x} + one_q0_31, 1));
  // 2.
  std::int32_t y = constant_48_over_17 + doubling_high_multiply_i32(half_denominator, constant_minus_32_over_17);
  // 3. Q2.29 times Q2.29 is Q4.27, hence the factor 4.
  for (int i = 0; i < 3; ++i) {
    const std::int32_t error = one_q2_29 - doubling_high_multiply_i32(half_denominator, y);
    y += static_cast<std::int32_t>(narrow_exact(std::int64_t{doubling_high_multiply_i32(y, error)} * 4, 32));
  }
  return y;
}

/// 1 / (1 + x) for x in [0, 1], both Q0.31.
[[nodiscard]] constexpr std::int32_t fixed_one_over_one_plus(std::int32_t x) noexcept {
  return static_cast<std::int32_t>(narrow_saturate(std::int64_t{fixed_two_over_one_plus(x)} * 2, 32));
}

/// (1 - x) / (1 + x) for x in [0, 1], both Q0.31.
[[nodiscard]] constexpr std::int32_t fixed_one_minus_over_one_plus(std::int32_t x) noexcept {
  const std::int64_t difference_q2_29 = std::int64_t{fixed_two_over_one_plus(x)} - (std::int64_t{1} << 29);
  return static_cast<std::int32_t>(narrow_saturate(difference_q2_29 * 4, 32));
}

/// logistic of any value in Q<integer_bits>. The magnitude is kept negative, because -2^31 has no positive counterpart.
template <int integer_bits>
[[nodiscard]] constexpr std::int32_t fixed_logistic(std::int32_t value) noexcept {
  if (value == 0) return std::int32_t{1} << 30;
  const std::int32_t positive_side = fixed_one_over_one_plus(fixed_exp<integer_bits>(value > 0 ? -value : value));
  return value > 0 ? positive_side : one_q0_31 - positive_side;
}

/// tanh of any value in Q<integer_bits>. Doubling the argument is free: the same raw value is read with one more integer bit.
template <int integer_bits>
[[nodiscard]] constexpr std::int32_t fixed_tanh(std::int32_t value) noexcept {
  if (value == 0) return 0;
  const std::int32_t magnitude = fixed_one_minus_over_one_plus(fixed_exp<integer_bits + 1>(value > 0 ? -value : value));
  return value > 0 ? magnitude : -magnitude;
}

/// 1 / sum = reciprocal * 2^-31 * 2^-bits_over_unit, with reciprocal a Q0.31 value in [1/2, 1].
struct FixedReciprocal {
  std::int32_t reciprocal = 0;
  int bits_over_unit = 0;
};

/// Reciprocal of a positive sum with `integer_bits` integer bits: 1. normalise to 1.f in 31 fraction bits (bits below are cut; there are
/// none for sums below 2^32); 2. 1/(1 + 0.f).
[[nodiscard]] constexpr FixedReciprocal fixed_reciprocal(std::int64_t sum, int integer_bits) noexcept {
  LASTBIT_ASSERT(sum > 0);
  const int leading_bit = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(sum))) - 1;
  const std::int64_t normalised = leading_bit <= 31 ? sum << (31 - leading_bit) : sum >> (leading_bit - 31);
  const auto fraction = static_cast<std::int32_t>(narrow_exact(normalised - (std::int64_t{1} << 31), 32));
  return {fixed_one_over_one_plus(fraction), leading_bit - (31 - integer_bits)};
}

}  // namespace lastbit
