// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A finite float or double taken apart into integers, and rounding to an integer without the floating-point environment.
#pragma once

#include <bit>
#include <cstdint>

#include "lastbit/arith/rounding.hpp"

namespace lastbit {

/// value = significand * 2^exponent; the significand of a non-zero value has exactly `precision` bits.
struct Decomposed {
  std::int64_t significand = 0;
  int exponent = 0;
};

template <class Float>
struct FloatFormat;
/// IEEE 754 binary32.
template <>
struct FloatFormat<float> {
  using Bits = std::uint32_t;
  static constexpr int precision = 24, bias = 127, storage = 32;
};
/// IEEE 754 binary64.
template <>
struct FloatFormat<double> {
  using Bits = std::uint64_t;
  static constexpr int precision = 53, bias = 1023, storage = 64;
};

/// Finite values only; subnormals are normalised.
template <class Float>
[[nodiscard]] constexpr Decomposed decompose(Float value) noexcept {
  using Format = FloatFormat<Float>;
  using Bits = typename Format::Bits;
  const auto bits = std::bit_cast<Bits>(value);
  const int stored_bits = Format::precision - 1;
  const Bits hidden = Bits{1} << stored_bits;
  const auto biased = static_cast<int>((bits >> stored_bits) & ((Bits{1} << (Format::storage - Format::precision)) - 1));
  auto significand = static_cast<std::int64_t>(bits & (hidden - 1));
  int exponent = (biased == 0 ? 1 : biased) - Format::bias - stored_bits;
  if (biased != 0) significand += static_cast<std::int64_t>(hidden);
  if (significand == 0) return {};
  while (significand < static_cast<std::int64_t>(hidden)) {
    significand *= 2;
    --exponent;
  }
  return {(bits >> (Format::storage - 1)) != 0 ? -significand : significand, exponent};
}

/// 2^exponent; 0 or infinity beyond a double's range.
[[nodiscard]] constexpr double power_of_two(int exponent) noexcept {
  double power = 1;
  for (const double factor = exponent < 0 ? 0.5 : 2.0; exponent != 0; exponent += exponent < 0 ? 1 : -1) power *= factor;
  return power;
}

/// The integer that `rule` gives for a value, saturated to 63 bits; for NaN the smallest one, as hosts' conversions give.
template <class Float>
[[nodiscard]] constexpr std::int64_t round_to_integer(Float value, Rounding rule) {
  constexpr Float limit = static_cast<Float>(std::int64_t{1} << 62);
  if (value >= limit) return max_of_width(63);
  if (!(value > -limit)) return min_of_width(63);
  const Decomposed parts = decompose(value);
  if (parts.exponent >= 0) return parts.significand << parts.exponent;
  // Beyond 62 places every bit is fraction; 2^-62 of the significand lies on the same side of a half as the value itself.
  return shift_right(parts.significand, parts.exponent < -62 ? 62 : -parts.exponent, rule);
}

}  // namespace lastbit
