// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// From a real scale to what a device's registers hold. Contract:
//   1. effective scale: f64: double(in) * double(weight) / double(out); f32: float(float(in * weight) / out), all operands float;
//   2. the effective scale, a positive double or float, is written as multiplier * 2^(exponent - fraction_bits);
//   3. the multiplier has `significant_bits` bits, rounded from the significand by `rounding`;
//      one that rounds up to 2^significant_bits is halved and the exponent raised, or saturates (`carry`);
//      `half_to_one` puts multiplier * 2^-fraction_bits in [0.5, 1) (TFLite's Q0.31), `one_to_two` in [1, 2) (VIPNano's implicit leading one);
//   4. exponents below `min_exponent` give multiplier 0, exponents above `max_exponent` the largest multiplier at that exponent.
// A device that holds fewer bits narrows again in its multiply stage (rescale.hpp).
#pragma once

#include <cstdint>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/arith/rounding.hpp"

namespace lastbit {

enum class ScaleArithmetic : std::uint8_t { f64, f32 };
enum class Normalization : std::uint8_t { half_to_one, one_to_two };
/// What becomes of a multiplier that rounds up to the next power of two.
enum class MultiplierCarry : std::uint8_t { renormalize, saturate };

struct ScaleEncoding {
  ScaleArithmetic arithmetic = ScaleArithmetic::f64;
  std::uint8_t significant_bits = 31;
  Rounding rounding = Rounding::half_away;
  Normalization normalization = Normalization::half_to_one;
  std::int16_t min_exponent = -31;
  std::int16_t max_exponent = 127;
  MultiplierCarry carry = MultiplierCarry::renormalize;

  friend constexpr bool operator==(const ScaleEncoding&, const ScaleEncoding&) = default;
};

/// real ≈ multiplier * 2^(exponent - fraction_bits); `real_f32` is the effective scale as float, for stages that multiply in float.
struct EncodedScale {
  std::int64_t multiplier = 0;
  int significant_bits = 31;
  int fraction_bits = 31;
  int exponent = 0;
  float real_f32 = 0;

  friend constexpr bool operator==(const EncodedScale&, const EncodedScale&) = default;
};

/// Step 1. Scales are positive and finite.
[[nodiscard]] constexpr double effective_scale(ScaleArithmetic arithmetic, double input, double weight, double output) noexcept {
  if (arithmetic == ScaleArithmetic::f64) return input * weight / output;
  const float product = static_cast<float>(input) * static_cast<float>(weight);
  return static_cast<double>(product / static_cast<float>(output));
}

/// Steps 2 to 4. `real` is not negative; zero gives multiplier 0.
[[nodiscard]] constexpr EncodedScale encode(const ScaleEncoding& rule, double real) noexcept {
  const int bits = rule.significant_bits;
  EncodedScale encoded{0, bits, rule.normalization == Normalization::half_to_one ? bits : bits - 1, 0, static_cast<float>(real)};
  const Decomposed parts = decompose(real);
  if (parts.significand == 0) return encoded;
  std::int64_t multiplier = shift_right(parts.significand, FloatFormat<double>::precision - bits, rule.rounding);
  int scale_of_multiplier = parts.exponent + FloatFormat<double>::precision - bits;
  if (multiplier == std::int64_t{1} << bits) {  // rounded up to the next power of two
    const bool renormalizes = rule.carry == MultiplierCarry::renormalize;
    multiplier = renormalizes ? multiplier / 2 : multiplier - 1;
    if (renormalizes) ++scale_of_multiplier;
  }
  const int exponent = scale_of_multiplier + encoded.fraction_bits;
  if (exponent < rule.min_exponent) return encoded;
  encoded.multiplier = exponent > rule.max_exponent ? (std::int64_t{1} << bits) - 1 : multiplier;
  encoded.exponent = exponent > rule.max_exponent ? rule.max_exponent : exponent;
  return encoded;
}

}  // namespace lastbit
