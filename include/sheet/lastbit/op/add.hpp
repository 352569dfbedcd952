// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Element-wise sum of two quantised tensors, a = qa - zero_a and b = qb - zero_b. One contract per method of AddArithmetic:
//
//   aligned_operands  1. a, b shifted left by 20 (8-bit data) or 15 (16-bit), modulo 2^32; 2. each through the `operand` chain with
//                     s / (2 max(sa, sb)); 3. summed modulo 2^32; 4. the `output` chain with 2 max(sa, sb) / (2^shift * s_out).
//                     Source: TFLite reference_integer_ops/add.h.
//   weighted_sum      1. weights Ma, Mb = half_even(float(s / s_out) * 2^k), k giving the larger one `weight_bits` bits;
//                     2. (a*Ma + b*Mb) / 2^k, one rounding; 3. zero point, bounds. weight_bits 0: both float ratios exactly.
//                     Source: XNNPACK qs8-vadd.
//   float_sum         1. c = float(zero_out - float(float(ra * zero_a) + float(rb * zero_b))), ra = float(sa / s_out), rb likewise;
//                     2. fma(qa, ra, fma(qb, rb, c)), one rounding to an integer; 3. bounds. Source: ONNX Runtime MLAS qladd.
//   convolution_8bit  1. ws = float(max(float(sb / sa), 1) / 255); weights round(1 / ws), round((sb / sa) / ws) half away, 8 bits;
//                     2. bias = (zero_a - zero_b) * sb / (ws * sa), rounded half away as a whole or before the product; 3. wa*(qa - zero_a) + wb*(qb - zero_a) + bias modulo
//                     2^32; 4. the `output` chain with float(float(sa * ws) / s_out). Source: Mesa etnaviv (traces of the vendor's driver).
//   common_scale      1. of the operands, x is the one with the smaller scale sx, y the other (a is x if they are equal); t = max(sx / 127,
//                     sy / 2^25); mx = clip(floor(sx / t + 1/2), -128, 127); w = floor(sy / t + 1/2) = m * 2^e with m in [1/2, 1);
//                     my = min(trunc(m * 2^min(15, e)), 32767), k = max(0, e - 15); in the arithmetic of the output's scale;
//                     2. x * mx + (y << k) * my, narrowed to 32 bits by `sum_overflow`; 3. the `output` chain with t / s_out.
//                     Source: Horizon's compiler front end, read.
// Subtraction negates b (weighted_sum, common_scale), its scale (float_sum), or its weight and the bias (convolution_8bit).
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/arith/multiplier.hpp"
#include "lastbit/backend.hpp"

namespace lastbit {

struct SumWeights {
  Int128 a = 0, b = 0;
  int shift = 0;  ///< may be negative: then the sum is shifted left
};

/// Step 1 of weighted_sum.
[[nodiscard]] constexpr SumWeights sum_weights(int weight_bits, double scale_a, double scale_b, double scale_out) noexcept {
  const float ratio_a = static_cast<float>(scale_a) / static_cast<float>(scale_out);
  const float ratio_b = static_cast<float>(scale_b) / static_cast<float>(scale_out);
  const Decomposed a = decompose(ratio_a), b = decompose(ratio_b);
  if (weight_bits == 0) {  // exact: both significands on the smaller exponent; 24 bits shifted by at most 60 fit
    const int shift = -std::max(std::min(a.exponent, b.exponent), std::max(a.exponent, b.exponent) - 60);
    const auto place = [shift](const Decomposed& part) {
      const int up = part.exponent + shift;
      return up >= 0 ? static_cast<Int128>(part.significand) << up : static_cast<Int128>(part.significand) >> std::min(-up, 100);
    };
    return {place(a), place(b), shift};
  }
  // The larger ratio lies in [2^e, 2^(e+1)); decompose gives 24-bit significands.
  const int exponent = std::max(a.exponent, b.exponent) + FloatFormat<float>::precision - 1;
  const int shift = weight_bits - 1 - exponent;
  const auto weight = [shift](const Decomposed& part) {
    const int down = -(part.exponent + shift);
    return down <= 0 ? static_cast<Int128>(part.significand) << std::min(-down, 60)
                     : shift_right(static_cast<Int128>(part.significand), std::min(down, 100), Rounding::half_even);
  };
  return {weight(a), weight(b), shift};
}

/// Step 2 of weighted_sum.
[[nodiscard]] constexpr std::int64_t add_weighted(const SumWeights& weights, std::int64_t a, std::int64_t b, Rounding rounding) noexcept {
  const Int128 sum = a * weights.a + b * weights.b;
  if (weights.shift <= 0) return narrow_saturate(sum * (Int128{1} << std::min(-weights.shift, 40)), 62);
  return narrow_saturate(shift_right(sum, std::min(weights.shift, 126), rounding), 62);
}

struct FloatSum {
  float ratio_a, ratio_b, fixed;
};

/// Step 1 of float_sum. Each product is rounded to float on its own (compile without contraction).
[[nodiscard]] constexpr FloatSum float_sum_of(float scale_a, float scale_b, float scale_out, float zero_a, float zero_b,
                                              float zero_out) noexcept {
  const float ratio_a = scale_a / scale_out;
  const float ratio_b = scale_b / scale_out;
  const float product_a = ratio_a * zero_a;
  const float product_b = ratio_b * zero_b;
  const float zeros = product_a + product_b;
  return {ratio_a, ratio_b, zero_out - zeros};
}

struct ConvolutionAdd {
  std::int64_t weight_a, weight_b, bias;
  double scale;  ///< of the two weights
};

/// Steps 1 and 2 of convolution_8bit. `zero_difference` = zero_a - zero_b.
[[nodiscard]] constexpr ConvolutionAdd convolution_add(ConvolutionBias rule, double scale_a, double scale_b,
                                                       std::int64_t zero_difference) noexcept {
  const auto half_away = [](double value) { return round_to_integer(value, Rounding::half_away); };
  const float ratio = static_cast<float>(scale_b) / static_cast<float>(scale_a);
  const float weight_scale = static_cast<float>(static_cast<double>(std::max(ratio, 1.0F)) / 255.0);
  const float unit = weight_scale * static_cast<float>(scale_a);
  const float offset = static_cast<float>(zero_difference) * static_cast<float>(scale_b);
  const std::int64_t bias = rule == ConvolutionBias::product_rounded
                                ? half_away(static_cast<double>(offset) / static_cast<double>(unit))
                                : zero_difference * half_away(static_cast<double>(static_cast<float>(scale_b)) / static_cast<double>(unit));
  return {half_away(1.0 / static_cast<double>(weight_scale)), half_away(static_cast<double>(ratio) / static_cast<double>(weight_scale)),
          bias, static_cast<double>(weight_scale)};
}

struct CommonScale {
  std::int64_t multiplier_a, multiplier_b;  ///< the left shift of the larger scale's operand included
  double scale;                             ///< t
};

/// Step 1 of common_scale.
template <std::floating_point Real>
[[nodiscard]] constexpr CommonScale common_scale(Real scale_a, Real scale_b) noexcept {
  const bool a_is_smaller = scale_a <= scale_b;
  const Real smaller = std::min(scale_a, scale_b), larger = std::max(scale_a, scale_b);
  const Real unit = std::max(smaller / Real{127}, larger / Real{1 << 25});
  const auto count = [&](Real scale) { return round_to_integer(scale / unit + Real{0.5}, Rounding::floor); };
  const std::int64_t whole = count(larger);  // at least 127, at most 2^25
  const int exponent = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(whole)));
  const int shift = std::max(0, exponent - 15);
  const std::int64_t of_smaller = std::clamp<std::int64_t>(count(smaller), -128, 127);
  const std::int64_t of_larger = std::min<std::int64_t>(whole >> shift, 32767) << shift;
  return {a_is_smaller ? of_smaller : of_larger, a_is_smaller ? of_larger : of_smaller, static_cast<double>(unit)};
}

}  // namespace lastbit
