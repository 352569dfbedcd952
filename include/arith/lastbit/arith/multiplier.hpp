// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// From a real scale to what a device's registers hold. Contract:
//   1. effective scale: f64: double(in) * double(weight) / double(out); f32: float(float(in * weight) / out), all operands float;
//      f32_by_inverse_output: float(float(in * weight) * float(1 / out)); f32_of_inverses: float(float(1 / out) / float(float(1 / in) *
//      float(1 / weight))); f32_of_quotient: float(float(in / out) * weight);
//   2. the effective scale, a positive double or float, is written as multiplier * 2^(exponent - fraction_bits);
//   3. the multiplier has `significant_bits` bits, rounded from the significand by `rounding`, and one more is added where the rule says so
//      (`added`); one that comes to 2^significant_bits is halved and the exponent raised, saturates, is kept, or lost (`carry`): the
//      exponent stays, and of a scale in [2^k, 2^(k+1)) the multiplier becomes 2^(significant_bits - 1) if k is odd, if it is even
//      -2^significant_bits, which is 2^significant_bits in a signed register (Mesa's driver for RKNPU2, which adds the one to the bits of a
//      float32 with the lowest bit of its exponent above them);
//      `half_to_one` puts multiplier * 2^-fraction_bits in [0.5, 1) (TFLite's Q0.31), `one_to_two` in [1, 2) (VIPNano's implicit leading one);
//      `layer` puts that of the layer's largest scale in [0.5, 1), and its other channels share the exponent (N2D2's fractional bits): the
//      exponent is the smallest, but min_exponent or more, with which the largest scale, not rounded, is at most 2^significant_bits - 1;
//      `form` power_of_two and power_of_two_plus_one (multipliers 2^k + 1, k >= 0): the nearest such number; a device that can only shift
//      leaves the rest of the scale to its compiler, so a scale further from it than 2^-23 of itself is not one of the device (`holds`);
//      `odd`: a multiplier's trailing zeros are shifted out, and the exponent raised for each, up to max_exponent (GreenWaves' nntool);
//      `fixed_point` has `significant_bits` fraction bits whatever the scale: multiplier = scale * 2^significant_bits, at least 1;
//      `unit`: the layer's scales are whole multiples of one unit, the largest scale / (2^significant_bits - 1): multiplier = scale / unit by
//      `rounding`, in double (VIPNano's weights of an addition);
//      `unit_of_pair`: unit = max(smallest / 127, largest / 2^max_exponent); multipliers floor(scale / unit + 1/2); that of the smallest scale
//      is an 8-bit code, at most 127; of the others `significant_bits` leading bits are kept, truncated (Horizon's addition);
//      `least_error` has no fraction bits: of the exponents from max_exponent down to min_exponent the first whose multiplier, below
//      2^significant_bits - 1, is nearest to the scale (Sophgo's get_scale_and_shift_positive);
//      `largest_below` has none either: the smallest exponent with which the scale, not rounded, is below 2^significant_bits - 1 (Sophgo's
//      getRShiftAndMultiplierFromQScale);
//   4. exponents below `min_exponent` give multiplier 0, exponents above `max_exponent` the largest multiplier at that exponent.
// A device that holds fewer bits narrows again in its multiply stage (stages/multiply.hpp). A layer that states what its registers hold
// (ScaleRegister, model.hpp) leaves steps 2 to 4 out (`as_registers`).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/arith/rounding.hpp"
#include "lastbit/arith/unstated.hpp"

namespace lastbit {

/// In which type and in which steps: f32_by_inverse_output multiplies by the inverse of what divides, f32_of_inverses divides the inverses,
/// f32_of_quotient multiplies the quotient in / out by the weight.
enum class ScaleArithmetic : std::uint8_t { f64, f32, f32_by_inverse_output, f32_of_inverses, f32_of_quotient };
[[nodiscard]] constexpr bool is_in_double(ScaleArithmetic arithmetic) noexcept { return arithmetic == ScaleArithmetic::f64; }
enum class Normalization : std::uint8_t { half_to_one, one_to_two, layer, unit, unit_of_pair, fixed_point, least_error, largest_below };
enum class MultiplierForm : std::uint8_t { any, power_of_two, power_of_two_plus_one, odd };
/// What becomes of a multiplier that comes to the next power of two. keep: it has one bit more.
enum class MultiplierCarry : std::uint8_t { renormalize, saturate, keep, lost };
/// What is added to a multiplier once it is rounded.
enum class MultiplierAddend : std::uint8_t { nothing, one };

/// A rule: how a real scale becomes the multiplier and exponent that a device holds.
struct ScaleEncoding {
  ScaleArithmetic arithmetic = unstated<ScaleArithmetic>;
  std::uint8_t significant_bits = 0;
  Rounding rounding = unstated<Rounding>;
  Normalization normalization = unstated<Normalization>;
  MultiplierForm form = MultiplierForm::any;
  std::int16_t min_exponent = 0;
  std::int16_t max_exponent = 0;
  MultiplierCarry carry = MultiplierCarry::renormalize;
  MultiplierAddend added = MultiplierAddend::nothing;

  friend constexpr bool operator==(const ScaleEncoding&, const ScaleEncoding&) = default;
};

/// real ≈ multiplier * 2^(exponent - fraction_bits); `real_f32` and `real_f64` are the effective scale itself, for stages that multiply in
/// float or double.
struct EncodedScale {
  std::int64_t multiplier = 0;
  int significant_bits = 31;
  int fraction_bits = 31;
  int exponent = 0;
  float real_f32 = 0;
  double real_f64 = 0;

  friend constexpr bool operator==(const EncodedScale&, const EncodedScale&) = default;
};

/// Places of the multiplier below the binary point.
[[nodiscard]] constexpr int fraction_bits_of(const ScaleEncoding& rule) noexcept {
  if (rule.form == MultiplierForm::power_of_two_plus_one) return 0;
  if (rule.normalization == Normalization::least_error || rule.normalization == Normalization::largest_below) return 0;
  const int bits = rule.form == MultiplierForm::power_of_two ? 1 : rule.significant_bits;
  return bits - (rule.normalization == Normalization::one_to_two ? 1 : 0);
}

/// What registers hold, by which a value is multiplied and shifted to the right, in place of what the rule makes of `real`.
[[nodiscard]] constexpr EncodedScale as_registers(const ScaleEncoding& rule, std::int64_t multiplier, int shift, double real) noexcept {
  const int fraction_bits = fraction_bits_of(rule);
  return {multiplier, rule.significant_bits, fraction_bits, fraction_bits - shift, static_cast<float>(real), real};
}

/// Step 1. Scales are positive and finite.
[[nodiscard]] constexpr double effective_scale(ScaleArithmetic arithmetic, double input, double weight, double output) {
  if (is_in_double(arithmetic)) return input * weight / output;
  const auto in = static_cast<float>(input), by = static_cast<float>(weight), out = static_cast<float>(output);
  if (arithmetic == ScaleArithmetic::f32_of_quotient) return static_cast<double>(in / out * by);
  const float product = in * by, inverse = 1 / out;
  if (arithmetic == ScaleArithmetic::f32_by_inverse_output) return static_cast<double>(product * inverse);
  if (arithmetic == ScaleArithmetic::f32) return static_cast<double>(product / out);
  if (arithmetic != ScaleArithmetic::f32_of_inverses) refuse_unstated("effective_scale", "arithmetic");
  const float inverse_in = 1 / in, inverse_by = 1 / by, inverses = inverse_in * inverse_by;
  return static_cast<double>(inverse / inverses);
}

/// Step 3, normalization `layer`.
[[nodiscard]] constexpr EncodedScale encode_in_layer(const ScaleEncoding& rule, double real, double largest) {
  const int bits = rule.significant_bits;
  EncodedScale encoded{0, bits, bits, 0, static_cast<float>(real), real};
  const Decomposed top = decompose(largest), parts = decompose(real);
  if (top.significand == 0) return encoded;
  // At this exponent `largest` lies in [2^(bits-1), 2^bits); one more where it lies above 2^bits - 1, unless that may carry.
  constexpr int precision = FloatFormat<double>::precision;
  const std::int64_t limit = ((std::int64_t{1} << bits) - 1) << (precision - bits);
  const int exponent =
      std::max<int>(top.exponent + precision + (rule.carry != MultiplierCarry::keep && top.significand > limit ? 1 : 0), rule.min_exponent);
  const int dropped = exponent - bits - parts.exponent;  // at least precision - bits
  const std::int64_t multiplier = dropped > 62 ? 0 : shift_right(parts.significand, dropped, rule.rounding);
  encoded.exponent = std::min<int>(exponent, rule.max_exponent);
  encoded.multiplier = exponent > rule.max_exponent ? (std::int64_t{1} << bits) - 1 : multiplier;
  return encoded;
}

/// Step 3, normalization `fixed_point`.
[[nodiscard]] constexpr EncodedScale encode_fixed_point(const ScaleEncoding& rule, double real) {
  EncodedScale encoded{1, rule.significant_bits, rule.significant_bits, 0, static_cast<float>(real), real};
  const Decomposed parts = decompose(real);
  const int dropped = -(parts.exponent + rule.significant_bits);
  if (dropped > 62) return encoded;
  const std::int64_t multiplier = dropped >= 0 ? shift_right(parts.significand, dropped, rule.rounding)
                                               : narrow_saturate(static_cast<Int128>(parts.significand) << std::min(-dropped, 64), 62);
  encoded.multiplier = std::max<std::int64_t>(multiplier, 1);
  return encoded;
}

/// Step 3, normalization `least_error`. Errors are counted in units of the significand of `real`.
[[nodiscard]] constexpr EncodedScale encode_least_error(const ScaleEncoding& rule, double real) {
  EncodedScale encoded{0, rule.significant_bits, 0, rule.max_exponent, static_cast<float>(real), real};
  const Decomposed parts = decompose(real);
  if (parts.significand == 0) return encoded;
  const std::int64_t largest = (std::int64_t{1} << rule.significant_bits) - 2;
  encoded.multiplier = largest;  // unless one is nearer
  Int128 least = -1;
  for (int exponent = rule.max_exponent; exponent >= rule.min_exponent; --exponent) {
    const int dropped = std::min(exponent - parts.exponent, 64);  // more leave nothing of 53 bits
    if (dropped < 0) break;
    const Int128 multiplier = shift_right(Int128{parts.significand}, dropped, rule.rounding);
    if (multiplier > largest) break;
    const Int128 error = (multiplier << dropped) - parts.significand, distance = error < 0 ? -error : error;
    if (least >= 0 && distance >= least) continue;
    least = distance;
    encoded.multiplier = static_cast<std::int64_t>(multiplier);
    encoded.exponent = exponent;
  }
  return encoded;
}

/// Step 3, normalization `largest_below`.
[[nodiscard]] constexpr EncodedScale encode_largest_below(const ScaleEncoding& rule, double real) {
  const int bits = rule.significant_bits;
  EncodedScale encoded{0, bits, 0, 0, static_cast<float>(real), real};
  const Decomposed parts = decompose(real);
  if (parts.significand == 0) return encoded;
  constexpr int precision = FloatFormat<double>::precision;
  const std::int64_t bound = (std::int64_t{1} << bits) - 1;
  // Here `real` is 2^(bits-1) to 2^bits; one further where it is not below the bound.
  const int dropped = precision - bits + (parts.significand >= bound << (precision - bits) ? 1 : 0);
  const int exponent = parts.exponent + dropped;
  if (exponent < rule.min_exponent) return encoded;
  encoded.multiplier = exponent > rule.max_exponent ? bound : shift_right(parts.significand, dropped, rule.rounding);
  encoded.exponent = std::min<int>(exponent, rule.max_exponent);
  return encoded;
}

/// Step 3, form power_of_two_plus_one: multiplier 2^k + 1 with k < significant_bits, no fraction bits. The significand of `real` is 1 (the
/// multiplier 2, halved), 1 + 2^-k, or, just below the next power of two, 2.
[[nodiscard]] constexpr EncodedScale encode_power_plus_one(const ScaleEncoding& rule, double real) noexcept {
  EncodedScale encoded{0, rule.significant_bits, 0, 0, static_cast<float>(real), real};
  const Decomposed parts = decompose(real);
  if (parts.significand == 0) return encoded;
  constexpr int places = FloatFormat<double>::precision - 1;
  constexpr std::int64_t one = std::int64_t{1} << places;
  std::int64_t smallest = 2 * one;
  const auto consider = [&](std::int64_t significand, std::int64_t multiplier, int exponent) {
    const std::int64_t distance = significand > parts.significand ? significand - parts.significand : parts.significand - significand;
    if (distance >= smallest) return;
    smallest = distance;
    encoded.multiplier = multiplier;
    encoded.exponent = parts.exponent + places + exponent;
  };
  consider(one, 2, -1);
  for (int k = 1; k < rule.significant_bits; ++k) consider(one + (one >> k), (std::int64_t{1} << k) + 1, -k);
  consider(2 * one, 2, 0);
  if (encoded.exponent < rule.min_exponent || encoded.exponent > rule.max_exponent) encoded.multiplier = encoded.exponent = 0;
  return encoded;
}

/// Whether the encoding is of a device that multiplies in float and holds no multiplier: it states nothing of one.
[[nodiscard]] constexpr bool is_in_float_alone(const ScaleEncoding& rule) noexcept {
  return rule.significant_bits == 0 && rule.rounding == unstated<Rounding> && rule.normalization == unstated<Normalization>;
}
/// Refuses an encoding that leaves out the multiplier's width, how it is rounded or where its binary point lies.
constexpr void require_stated(const ScaleEncoding& rule) {
  stated(rule.normalization, "scale", "normalization");
  if (rule.normalization != Normalization::unit_of_pair) stated(rule.rounding, "scale", "rounding");
  if (rule.significant_bits == 0) refuse_unstated("scale", "significant_bits");
}

/// Steps 2 to 4. `real` is not negative; zero gives multiplier 0. `largest` is the largest scale of the layer. An encoding in float alone gives the scale
/// itself and 0 significant bits: a stage that reads a multiplier refuses it.
[[nodiscard]] constexpr EncodedScale encode(const ScaleEncoding& rule, double real, double largest) {
  if (is_in_float_alone(rule)) return {0, 0, 0, 0, static_cast<float>(real), real};
  require_stated(rule);
  if (rule.normalization == Normalization::layer) return encode_in_layer(rule, real, largest);
  if (rule.normalization == Normalization::fixed_point) return encode_fixed_point(rule, real);
  if (rule.normalization == Normalization::least_error) return encode_least_error(rule, real);
  if (rule.normalization == Normalization::largest_below) return encode_largest_below(rule, real);
  if (rule.form == MultiplierForm::power_of_two_plus_one) return encode_power_plus_one(rule, real);
  const int bits = rule.form == MultiplierForm::power_of_two ? 1 : rule.significant_bits;
  EncodedScale encoded{0, bits, fraction_bits_of(rule), 0, static_cast<float>(real), real};
  const Decomposed parts = decompose(real);
  if (parts.significand == 0) return encoded;
  // unit_of_pair states no rounding: it cuts bits off (multiple_of_unit)
  const Rounding rounding = rule.normalization == Normalization::unit_of_pair ? Rounding::floor : rule.rounding;
  std::int64_t multiplier = shift_right(parts.significand, FloatFormat<double>::precision - bits, rounding);
  if (rule.added == MultiplierAddend::one) ++multiplier;
  int scale_of_multiplier = parts.exponent + FloatFormat<double>::precision - bits;
  if (multiplier >= std::int64_t{1} << bits) {  // it has come to the next power of two
    const bool even = (scale_of_multiplier + bits - 1) % 2 == 0;
    switch (rule.carry) {
      case MultiplierCarry::renormalize: multiplier /= 2, ++scale_of_multiplier; break;
      case MultiplierCarry::saturate: multiplier = (std::int64_t{1} << bits) - 1; break;
      case MultiplierCarry::keep: break;
      case MultiplierCarry::lost: multiplier = even ? -(std::int64_t{1} << bits) : std::int64_t{1} << (bits - 1); break;
    }
  }
  const int exponent = scale_of_multiplier + encoded.fraction_bits;
  if (exponent < rule.min_exponent) return encoded;
  encoded.multiplier = exponent > rule.max_exponent ? (std::int64_t{1} << bits) - 1 : multiplier;
  encoded.exponent = exponent > rule.max_exponent ? rule.max_exponent : exponent;
  if (rule.form != MultiplierForm::odd) return encoded;
  for (; encoded.multiplier % 2 == 0 && encoded.exponent < rule.max_exponent; encoded.multiplier /= 2) ++encoded.exponent;
  return encoded;
}
[[nodiscard]] constexpr EncodedScale encode(const ScaleEncoding& rule, double real) { return encode(rule, real, real); }

[[nodiscard]] constexpr bool has_common_unit(const ScaleEncoding& rule) noexcept {
  return rule.normalization == Normalization::unit || rule.normalization == Normalization::unit_of_pair;
}
/// Whether the encoding has exponents, which `min_exponent` and `max_exponent` bound.
[[nodiscard]] constexpr bool has_exponent(const ScaleEncoding& rule) noexcept {
  return !has_common_unit(rule) && rule.normalization != Normalization::fixed_point;
}

/// Step 3, normalizations `unit` and `unit_of_pair`.
template <std::floating_point Real>
[[nodiscard]] constexpr Real unit_of(const ScaleEncoding& rule, Real smallest, Real largest) noexcept {
  if (rule.normalization == Normalization::unit)
    return static_cast<Real>(static_cast<double>(largest) / static_cast<double>((std::int64_t{1} << rule.significant_bits) - 1));
  return std::max(smallest / Real{127}, largest / static_cast<Real>(std::int64_t{1} << std::clamp<int>(rule.max_exponent, 0, 62)));
}

template <std::floating_point Real>
[[nodiscard]] constexpr std::int64_t multiple_of_unit(const ScaleEncoding& rule, Real scale, Real smallest, Real unit) {
  if (rule.normalization == Normalization::unit)
    return round_to_integer(static_cast<double>(scale) / static_cast<double>(unit), rule.rounding);
  const std::int64_t whole = round_to_integer(scale / unit + Real{0.5}, Rounding::floor);
  if (scale <= smallest) return std::clamp<std::int64_t>(whole, -128, 127);
  const int bits = rule.significant_bits;
  const int shift = std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(whole))) - bits);
  return std::min<std::int64_t>(whole >> shift, (std::int64_t{1} << bits) - 1) << shift;
}

/// The scales of the operands of one sum. `unit` is what 1 stands for in their common encoding: 2^(exponent - fraction bits) of
/// normalization `layer`, the unit of `unit` and `unit_of_pair`, else 1, as each operand is then rescaled by itself.
struct EncodedTogether {
  std::vector<EncodedScale> scales;
  double unit = 1;
};

template <std::floating_point Real>
[[nodiscard]] constexpr EncodedTogether encode_multiples(const ScaleEncoding& rule, std::span<const double> reals) {
  const auto [smallest, largest] = std::minmax_element(reals.begin(), reals.end());
  const Real unit = unit_of<Real>(rule, static_cast<Real>(*smallest), static_cast<Real>(*largest));
  EncodedTogether encoded;
  encoded.unit = static_cast<double>(unit);
  for (const double real : reals) {
    encoded.scales.push_back({.multiplier = multiple_of_unit<Real>(rule, static_cast<Real>(real), static_cast<Real>(*smallest), unit),
                              .significant_bits = rule.significant_bits,
                              .fraction_bits = 0,
                              .real_f32 = static_cast<float>(real),
                              .real_f64 = real});
  }
  return encoded;
}

[[nodiscard]] constexpr EncodedTogether encode_together(const ScaleEncoding& rule, std::span<const double> reals) {
  if (has_common_unit(rule)) require_stated(rule);
  if (has_common_unit(rule))
    return is_in_double(rule.arithmetic) ? encode_multiples<double>(rule, reals) : encode_multiples<float>(rule, reals);
  EncodedTogether encoded;
  for (const double real : reals) encoded.scales.push_back(encode(rule, real, *std::max_element(reals.begin(), reals.end())));
  if (rule.normalization != Normalization::layer) return encoded;
  const EncodedScale& any = encoded.scales.front();
  encoded.unit = power_of_two(any.exponent - any.fraction_bits);
  return encoded;
}

/// Whether a device of this `form` has the scale: always for `any` and `odd`.
[[nodiscard]] constexpr bool holds(const ScaleEncoding& rule, const EncodedScale& encoded) noexcept {
  if (rule.form == MultiplierForm::any || rule.form == MultiplierForm::odd) return true;
  const Decomposed real = decompose(encoded.real_f64);
  // multiplier * 2^(exponent - fraction_bits) on the scale of the significand, which has 53 bits; a form has no more than 33.
  const int up = encoded.exponent - encoded.fraction_bits - real.exponent;
  if (encoded.multiplier == 0 || up < 0 || up > 62) return false;
  const Int128 difference = (static_cast<Int128>(encoded.multiplier) << up) - real.significand;
  return (difference < 0 ? -difference : difference) <= real.significand >> 23;
}

}  // namespace lastbit
