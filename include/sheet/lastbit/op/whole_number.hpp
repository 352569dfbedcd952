// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Contract of add, sub, mul, floor_div, maximum, minimum, abs, neg, less, less_or_equal, equal, select and concat on whole numbers: int32 or int64
// without a scale (select, equal and concat: truth values too). No device's arithmetic: the same on every integer backend, for any shapes that
// broadcast.
//   1. add, sub, mul, abs, neg: the exact result modulo 2^32 or 2^64, as a number of the type: neg and abs of the least number are that number.
//   2. floor_div: floor(a / b), exact; of the least number and -1, by step 1. b = 0 is an error, found when it is computed.
//   3. cast to an integer type: of an integer modulo 2^bits; of a float toward zero, where the type has that number: another one, infinity
//      or NaN is an error, found when it is computed (C++ leaves it undefined, and runtimes differ). To float32: the nearest, half_even.
// On real backends every tensor is float32, which has all whole numbers up to 2^24; there nothing wraps.
// Source: the reference kernels of TFLite and the CPU kernels of ONNX Runtime, which compute in the type.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lastbit {

/// Contract, step 1.
template <std::signed_integral T>
[[nodiscard]] constexpr T wrapped_sum(T a, T b) noexcept {
  using Bits = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Bits>(a) + static_cast<Bits>(b));
}
template <std::signed_integral T>
[[nodiscard]] constexpr T wrapped_difference(T a, T b) noexcept {
  using Bits = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Bits>(a) - static_cast<Bits>(b));
}
template <std::signed_integral T>
[[nodiscard]] constexpr T wrapped_product(T a, T b) noexcept {
  using Bits = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Bits>(a) * static_cast<Bits>(b));
}

/// Contract, step 2; b is not 0.
template <std::signed_integral T>
[[nodiscard]] constexpr T floored_quotient(T a, T b) noexcept {
  if (b == -1) return wrapped_difference(T{0}, a);
  const T quotient = static_cast<T>(a / b);
  return a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
}

/// Contract, step 3: whether the type has what is left of the number without its fraction.
template <std::integral T>
[[nodiscard]] constexpr bool has_truncated(float value) noexcept {
  constexpr auto least = static_cast<double>(std::numeric_limits<T>::min());
  constexpr T half = std::numeric_limits<T>::max() / 2 + 1;
  constexpr double beyond = 2 * static_cast<double>(half);
  const double real{value};
  return (real > least - 1 || real == least) && real < beyond;
}

}  // namespace lastbit
