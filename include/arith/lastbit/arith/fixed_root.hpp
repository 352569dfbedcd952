// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// 1/sqrt(n) of a 32-bit integer as a multiplier in Q0.31 and an exponent, as TensorFlow Lite's kernels compute it. Contract:
//   1. 0 and 1 give 2^31 - 1 and exponent 0;
//   2. n is divided by 4 (floor) until it is below 2^29, or multiplied by 4 until it is 2^27 or more: s = 11, one more for each division, one less
//      for each multiplication but the first of those that 31 bits have room for;
//   3. a = n / 2 in Q3.28, x = 1; five times x = 3/2 x - a/2 x^3, the products as fixed_function.hpp has them, each sum times 8, saturated;
//   4. x times sqrt(1/2); the exponent is -s, and a negative s is part of the multiplier.
// Source: tensorflow/lite/kernels/internal/common.h GetInvSqrtQuantizedMultiplierExp, gemmlowp fixedpoint.h.
#pragma once

#include "lastbit/arith/fixed_function.hpp"
#include "lastbit/arith/multiplier.hpp"

namespace lastbit {

/// Step 3: of Q3.28 in [1/4, 1).
[[nodiscard]] constexpr std::int32_t fixed_inverse_root(std::int32_t a) noexcept {
  constexpr std::int32_t one_q3_28 = std::int32_t{1} << 28, three_halves_q3_28 = one_q3_28 + one_q3_28 / 2;
  const auto times = [](std::int64_t value, int bits) { return static_cast<std::int32_t>(narrow_saturate(value << bits, 32)); };
  const std::int32_t half = divide_by_power_of_two_i32(a, 1);
  std::int32_t x = one_q3_28;
  for (int i = 0; i < 5; ++i) {
    const std::int32_t cube = times(doubling_high_multiply_i32(doubling_high_multiply_i32(x, x), x), 6);
    x = times(std::int64_t{doubling_high_multiply_i32(three_halves_q3_28, x)} - doubling_high_multiply_i32(half, cube), 3);
  }
  return x;
}

/// n >= 0.
[[nodiscard]] constexpr EncodedScale inverse_root_of(std::int32_t n) noexcept {
  constexpr std::int32_t root_of_half_q0_31 = 1518500250;
  LASTBIT_ASSERT(n >= 0);
  if (n <= 1) return {.multiplier = one_q0_31, .exponent = 0};  // 1.
  int shift = 11;                                               // 2.
  for (; n >= std::int32_t{1} << 29; n /= 4) ++shift;
  const int pairs = (std::countl_zero(static_cast<std::uint32_t>(n)) - 1) / 2 - 1;
  shift -= pairs;
  n <<= 2 * pairs;
  const std::int64_t root = doubling_high_multiply_i32(fixed_inverse_root(n / 2), root_of_half_q0_31);  // 3. 4.
  if (shift >= 0) return {.multiplier = root, .exponent = -shift};
  return {.multiplier = root << -shift, .exponent = 0};
}

}  // namespace lastbit
