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
inline constexpr ScaleEncoding scale_f32{.arithmetic = ScaleArithmetic::f32};

/// y = clamp(half_even(float(sum) * scale) + zero point)
inline constexpr RescaleRule by_float{scale_f32, {float_scale(Rounding::half_even), add_zero_point(), clamp()}};

inline constexpr AccumulatorRule int32_wraps{.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};
inline constexpr ConvArithmetic conv_i8{
    .sum = {.accumulator = int32_wraps, .output = by_float}, .bias = BiasAt::accumulator_start, .per_channel = PerChannelLowering::native};

/// qs8-vadd: both ratios in / out as integers of one exponent, of which the larger has 21 bits; one rounding of their exact sum.
inline constexpr SumArithmetic weighted_sum{.operand = {{.arithmetic = ScaleArithmetic::f32,
                                                         .significant_bits = 21,
                                                         .rounding = Rounding::half_even,
                                                         .normalization = Normalization::layer,
                                                         .min_exponent = -300,
                                                         .max_exponent = 300,
                                                         .carry = MultiplierCarry::keep},
                                                        {multiply()},
                                                        in_per_out},
                                            .accumulator = int32_wraps,
                                            .output = {{.arithmetic = ScaleArithmetic::f64,
                                                        .significant_bits = 1,
                                                        .rounding = Rounding::floor,
                                                        .normalization = Normalization::one_to_two,
                                                        .form = MultiplierForm::power_of_two,
                                                        .min_exponent = -300,
                                                        .max_exponent = 300},
                                                       {shift_right(Rounding::half_up), add_zero_point(), clamp()},
                                                       {{Quantity::unit, Quantity::one}, {}}}};

/// qs8-vcvt: the ratio of the scales with 8 fraction bits; one rounding.
inline constexpr RescaleRule by_8_fraction_bits{{.arithmetic = ScaleArithmetic::f32,
                                                 .significant_bits = 8,
                                                 .rounding = Rounding::half_even,
                                                 .normalization = Normalization::fixed_point},
                                                {multiply(), shift_right(Rounding::half_up), add_zero_point(), clamp()}};

/// 8-bit data here, 16-bit data in the built-in kernels.
[[nodiscard]] constexpr ConvByType with_i8(ConvByType builtin) {
  builtin.i8 = conv_i8;
  builtin.u8 = {};  // as int8
  return builtin;
}

[[nodiscard]] constexpr Backend over(Backend backend) {
  backend.conv = with_i8(backend.conv);
  backend.depthwise_conv = with_i8(backend.depthwise_conv);
  backend.transposed_conv = with_i8(backend.transposed_conv);
  backend.fully_connected = with_i8(backend.fully_connected);
  backend.matmul.i8.sum = conv_i8.sum;
  backend.mean = {.count = CountIn::ratio, .sum = {.accumulator = int32_wraps, .output = by_float}};
  backend.mean.sum.output.by = in_per_out_and_count;
  backend.add.i8 = backend.sub.i8 = weighted_sum;
  backend.mul = by_float;
  backend.requantize_16bit = backend.requantize;
  backend.requantize = by_8_fraction_bits;
  backend.quantize = {.division = ScaleDivision::multiply_by_inverse,
                      .rounding = Rounding::half_even,
                      .zero_point = ZeroPointAt::after_rounding,
                      .out_of_range = OutOfRange::saturate};
  backend.dequantize = {.arithmetic = DequantizeProduct::f32};
  backend.logistic = {.method = FunctionMethod::float_table, .rounding = Rounding::half_even};
  return backend;
}

}  // namespace xnnpack

inline constexpr Backend xnnpack_delegate = xnnpack::over(tflite_builtin_double);

}  // namespace lastbit
