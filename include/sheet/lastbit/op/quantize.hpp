// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Between float and integer, and between two quantisations in float.
//
// Contract of quantize: 1. v = x / s, or x * float(1 / s), in float, or double(x) / double(s); 2. rounded to an integer by the rule, beyond int32 as `out_of_range`
//   says; 3. + zero point (int32_min: modulo 2^32); with ZeroPointAt::before_rounding it is added to v in float instead; 4. clamped to the
//   type. NaN gives the value for -infinity.
// Contract of dequantize: float(s * (q - zero point)), the product in double or in float.
// Contract of scale_and_bias: round half away(float(q * r) + b) with r = float(s_in * float(1 / s_out)), b = float(-zero_in * r).
// Shapes: the output has the input's; concat: inputs are equal but for the axis, along which the output is their sum.
// Units: x and the result of dequantize are real values, codes count in units of s, one scale for the tensor or one per channel.
// Errors: type_mismatch, shape_mismatch; unsupported_operation where the device has no quantize, dequantize or concat, or only copies and the
//   quantisations of a concat differ.
// Sources: TFLite AffineQuantize, Dequantize, ConcatenationWithScaling; ONNX Runtime MlasQuantizeLinear.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

/// Step 2: a float or double to int32.
template <std::floating_point Real>
[[nodiscard]] constexpr std::int64_t to_int32(Real value, Rounding rounding, OutOfRange rule) noexcept {
  const std::int64_t rounded = value != value ? min_of_width(62) : round_to_integer(value, rounding);
  if (fits_width(rounded, 32) || rule == OutOfRange::saturate) return narrow_saturate(rounded, 32);
  return min_of_width(32);
}

/// Steps 2 to 4.
template <std::floating_point Real>
[[nodiscard]] constexpr std::int64_t quantize_scaled(const QuantizeArithmetic& rule, Real scaled, std::int64_t zero_point,
                                                     IntegerRange range) noexcept {
  if (rule.zero_point == ZeroPointAt::before_rounding) {
    return std::clamp(to_int32(scaled + static_cast<Real>(zero_point), rule.rounding, rule.out_of_range), range.min, range.max);
  }
  const std::int64_t shifted = to_int32(scaled, rule.rounding, rule.out_of_range) + zero_point;
  return std::clamp(rule.out_of_range == OutOfRange::int32_min ? narrow_wrap(shifted, 32) : shifted, range.min, range.max);
}

/// round(x / scale) + zero point: what most runtimes do.
[[nodiscard]] constexpr QuantizeArithmetic by_division(Rounding rounding) noexcept {
  return {.division = ScaleDivision::divide,
          .rounding = rounding,
          .zero_point = ZeroPointAt::after_rounding,
          .out_of_range = OutOfRange::saturate};
}

[[nodiscard]] constexpr std::int64_t quantize(const QuantizeArithmetic& rule, float value, float scale, std::int64_t zero_point,
                                              IntegerRange range) noexcept {
  if (rule.division == ScaleDivision::divide_in_double)
    return quantize_scaled(rule, static_cast<double>(value) / static_cast<double>(scale), zero_point, range);
  const float scaled = rule.division == ScaleDivision::divide ? value / scale : value * (1.0F / scale);
  return quantize_scaled(rule, scaled, zero_point, range);
}

/// `centred` is q - zero point.
[[nodiscard]] constexpr float dequantize(const DequantizeArithmetic& rule, std::int64_t centred, double scale) noexcept {
  if (rule.arithmetic == DequantizeProduct::f64) return static_cast<float>(scale * static_cast<double>(centred));
  return static_cast<float>(scale) * static_cast<float>(centred);
}

/// Constants of a requantisation in float32.
struct ScaleAndBias {
  float ratio, bias;
};
[[nodiscard]] constexpr ScaleAndBias scale_and_bias(float input_scale, std::int64_t input_zero_point, float output_scale) noexcept {
  const float ratio = input_scale * (1.0F / output_scale);
  return {ratio, static_cast<float>(-input_zero_point) * ratio};
}
[[nodiscard]] constexpr std::int64_t apply(const ScaleAndBias& line, std::int64_t code) noexcept {
  const float scaled = static_cast<float>(code) * line.ratio;
  return round_to_integer(scaled + line.bias, Rounding::half_away);
}

}  // namespace lastbit
