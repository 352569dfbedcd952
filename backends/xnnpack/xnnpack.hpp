// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// XNNPACK, what a TensorFlow Lite or LiteRT user gets on desktop, phone and web: one rounding, half to even, of a float product.
// Operations that its delegate leaves to the built-in kernels follow those. Evidence: docs/backends/xnnpack.md.
#pragma once

#include "lastbit/backends/tflite.hpp"

namespace lastbit {

namespace xnnpack {

/// The effective scale as float32 arithmetic delivers it.
inline constexpr ScaleEncoding scale_f32{.arithmetic = ScaleArithmetic::f32,
                                         .significant_bits = 24,
                                         .rounding = Rounding::floor,
                                         .normalization = Normalization::one_to_two,
                                         .min_exponent = -149,
                                         .max_exponent = 127};

/// y = clamp(half_even(float(sum) * scale) + zero point)
inline constexpr RescaleRule by_float{scale_f32, {float_scale(Rounding::half_even), add_zero_point(), clamp()}};

inline constexpr AccumulatorRule int32_wraps{.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};
inline constexpr ConvArithmetic conv_i8{.accumulator = int32_wraps, .bias = BiasAt::accumulator_start, .rescale = by_float};

/// 8-bit data here, 16-bit data in the built-in kernels.
[[nodiscard]] constexpr ConvByType with_i8(ConvByType builtin) {
  builtin.i8 = conv_i8;
  builtin.u8 = {};  // as int8
  builtin.u8 = {};
  return builtin;
}

[[nodiscard]] constexpr Backend over(Backend backend) {
  backend.conv = with_i8(backend.conv);
  backend.depthwise_conv = with_i8(backend.depthwise_conv);
  backend.transposed_conv = with_i8(backend.transposed_conv);
  backend.fully_connected = with_i8(backend.fully_connected);
  backend.matmul = with_i8(backend.matmul);
  backend.mean = {.method = MeanMethod::scale_per_count, .rescale = by_float};
  backend.add = backend.sub = {.method = AddMethod::weighted_sum, .weight_bits = 21, .rounding = Rounding::half_up};
  backend.mul = {.method = MulMethod::rescaled, .rescale = by_float};
  backend.quantize = {
      .division = ScaleDivision::multiply_by_inverse, .rounding = Rounding::half_even, .zero_point = ZeroPointAt::after_rounding};
  backend.dequantize = {.arithmetic = ScaleArithmetic::f32};
  backend.logistic = backend.tanh = {.method = FunctionMethod::float_table, .rounding = Rounding::half_even};
  return backend;
}

}  // namespace xnnpack

inline constexpr Backend xnnpack_delegate = xnnpack::over(tflite_single);

}  // namespace lastbit
