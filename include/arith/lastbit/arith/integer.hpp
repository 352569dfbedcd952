// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The wide integer of exact products, and the only three ways to a narrower type.
#pragma once

#include <bit>
#include <cassert>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "lastbit/arith/unstated.hpp"

#define LASTBIT_ASSERT(condition) assert(condition)

namespace lastbit {

/// Holds every product of two 64-bit values.
__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

template <class T>
concept SignedInteger = (std::signed_integral<T> && sizeof(T) >= 4) || std::same_as<T, Int128>;

template <SignedInteger T>
inline constexpr int width_of = static_cast<int>(sizeof(T)) * 8;

/// Modulo 2^128: the sum, the product itself wherever it fits.
[[nodiscard]] constexpr Int128 add_modulo(Int128 a, Int128 b) noexcept {
  return static_cast<Int128>(static_cast<UInt128>(a) + static_cast<UInt128>(b));
}
[[nodiscard]] constexpr Int128 multiply_modulo(Int128 a, Int128 b) noexcept {
  return static_cast<Int128>(static_cast<UInt128>(a) * static_cast<UInt128>(b));
}

/// Smallest and largest value of a two's complement integer of 2 to 64 bits.
[[nodiscard]] constexpr std::int64_t min_of_width(int bits) noexcept { return std::numeric_limits<std::int64_t>::min() >> (64 - bits); }
[[nodiscard]] constexpr std::int64_t max_of_width(int bits) noexcept { return std::numeric_limits<std::int64_t>::max() >> (64 - bits); }

[[nodiscard]] constexpr bool fits_width(SignedInteger auto value, int bits) noexcept {
  return value >= min_of_width(bits) && value <= max_of_width(bits);
}

/// Keeps the low `bits` bits, 1 to 64, and sign-extends them.
template <SignedInteger T>
[[nodiscard]] constexpr std::int64_t narrow_wrap(T value, int bits) {
  stated_width(bits, "narrow_wrap");
  const auto low = static_cast<std::uint64_t>(value) << (64 - bits);
  return static_cast<std::int64_t>(low) >> (64 - bits);
}

template <SignedInteger T>
[[nodiscard]] constexpr std::int64_t narrow_saturate(T value, int bits) {
  stated_width(bits, "narrow_saturate");
  if (value < min_of_width(bits)) return min_of_width(bits);
  if (value > max_of_width(bits)) return max_of_width(bits);
  return static_cast<std::int64_t>(value);
}

/// For values that provably fit; anything else is a broken precondition.
template <SignedInteger T>
[[nodiscard]] constexpr std::int64_t narrow_exact(T value, [[maybe_unused]] int bits) noexcept {
  LASTBIT_ASSERT(fits_width(value, bits));
  return static_cast<std::int64_t>(value);
}

}  // namespace lastbit
