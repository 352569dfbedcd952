// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sums of products of real data and integer weights: "hybrid" layers, whose file holds int8 weights, float32 data, bias and output ("dynamic
// range quantisation").
//
// Contract, for every row of a fully connected layer, or every image of a convolution, by itself:
//   1. least and most of its values x. Symmetric codes: r = max(|least|, |most|), in = r / 127, f = 127 / r, z = 0; where r is 0, in = 1 and every
//      code is 0. Asymmetric codes, in double, 0 counted among the values: d = (most - least) / 255, z = -128 - least / d where
//      128 + |least / d| < 127 + |most / d|, else 127 - most / d; z rounded, within -128 … 127; in = float(d), f = 1 / in; where d is 0 as above;
//   2. code = round(x * f) within ±127, or round(z + x * f), or z + round(x * f), within -128 … 127, each step in float32, rounded by the rule; beyond
//      int32, where a range below 2^-120 leads, round() is -2^31 (the conversion of x86 processors);
//   3. sum = Σ (code - z) * w in 32 bits, wrapping; taps in the padding add nothing;
//   4. y = float(sum) and the scales of data and weights multiplied in float32 as `product` says, + bias (0 where there is none), then bounded by
//      the activation. (Where the whole input of a fully connected layer is zeros, TensorFlow Lite hands a bias of -0 through; here it is 0.)
// Shapes: as op/conv2d.hpp has them. Units: x, bias and y are real values; the weights have a scale for all, or one per output channel.
// Errors: unsupported_operation where the device lacks such layers, or weights have a zero point, or one scale where each channel must have its own.
// Source: TensorFlow Lite portable_tensor_utils.cc (SymmetricQuantizeFloats, AsymmetricQuantizeFloats), fully_connected.cc, conv.cc and
//   depthwise_conv.cc (EvalHybrid, EvalHybridPerChannel). Values that are not finite have no defined result there, and none here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/op/quantize.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

/// How the values of one row, or one image, become codes.
struct DynamicInput {
  float scale = 1;
  float factor = 0;  ///< 0: every value is 0
  std::int64_t zero_point = 0;
  IntegerRange codes{};
};

/// Step 1.
[[nodiscard]] inline DynamicInput symmetric_input(std::span<const float> values) noexcept {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const IntegerRange codes{-range_of(ElementType::int8).max, range_of(ElementType::int8).max};
  const float range = std::max(std::abs(*least), std::abs(*most)), steps = static_cast<float>(codes.max);
  if (range == 0) return {.codes = codes};
  return {range / steps, steps / range, 0, codes};
}
[[nodiscard]] inline DynamicInput asymmetric_input(std::span<const float> values, Rounding rounding) noexcept {
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  const IntegerRange codes = range_of(ElementType::int8);
  const double least = std::min(0.0F, *lowest), most = std::max(0.0F, *highest);
  if (least == most) return {.codes = codes};
  const auto first = static_cast<double>(codes.min), last = static_cast<double>(codes.max);
  const double step = (most - least) / (last - first);
  const bool from_least = std::abs(first) + std::abs(least / step) < std::abs(last) + std::abs(most / step);
  const double zero = from_least ? first - least / step : last - most / step;
  const auto scale = static_cast<float>(step);
  return {scale, 1.0F / scale, std::clamp(round_to_integer(zero, rounding), codes.min, codes.max), codes};
}

[[nodiscard]] inline DynamicInput dynamic_input(DynamicCodes codes, std::span<const float> values, Rounding rounding) noexcept {
  return codes == DynamicCodes::symmetric ? symmetric_input(values) : asymmetric_input(values, rounding);
}

/// Step 2, and of step 3 code - z.
[[nodiscard]] inline std::int64_t centred_code(const DynamicArithmetic& rule, const DynamicInput& input, float value) noexcept {
  if (input.factor == 0) return 0;
  const QuantizeArithmetic by_factor{.rounding = rule.rounding, .zero_point = rule.zero_point, .out_of_range = OutOfRange::int32_min};
  return quantize_scaled(by_factor, value * input.factor, input.zero_point, input.codes) - input.zero_point;
}

/// Step 4, without the activation.
[[nodiscard]] constexpr float dynamic_output(DynamicProduct product, std::int32_t sum, float input_scale, float weight_scale,
                                             float bias) noexcept {
  const auto acc = static_cast<float>(sum);
  const float scaled = product == DynamicProduct::scales_first        ? acc * (input_scale * weight_scale)
                       : product == DynamicProduct::input_scale_first ? (acc * input_scale) * weight_scale
                                                                      : (acc * weight_scale) * input_scale;
  return scaled + bias;
}

}  // namespace lastbit
