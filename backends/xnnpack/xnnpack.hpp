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
inline constexpr RescaleRule by_float{scale_f32, {stage::float_scale(Rounding::half_even), stage::add_zero_point(), stage::clamp()}};

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
                                                        {stage::multiply()},
                                                        in_per_out},
                                            .accumulator = int32_wraps,
                                            .output = {{.arithmetic = ScaleArithmetic::f64,
                                                        .significant_bits = 1,
                                                        .rounding = Rounding::floor,
                                                        .normalization = Normalization::one_to_two,
                                                        .form = MultiplierForm::power_of_two,
                                                        .min_exponent = -300,
                                                        .max_exponent = 300},
                                                       {stage::shift_right(Rounding::half_up), stage::add_zero_point(), stage::clamp()},
                                                       {{Quantity::unit, Quantity::one}, {}}}};

/// qs8-vcvt: the ratio of the scales with 8 fraction bits; one rounding.
inline constexpr RescaleRule by_8_fraction_bits{
    {.arithmetic = ScaleArithmetic::f32,
     .significant_bits = 8,
     .rounding = Rounding::half_even,
     .normalization = Normalization::fixed_point},
    {stage::multiply(), stage::shift_right(Rounding::half_up), stage::add_zero_point(), stage::clamp()}};

/// qs8-vlrelu: both slopes, in / out and in * alpha / out, so. It is bounded when the zero point joins.
inline constexpr FunctionArithmetic leaky_by_8_fraction_bits{
    .method = FunctionMethod::rescaled, .rescale = {by_8_fraction_bits.scale, {stage::multiply(), stage::shift_right(Rounding::half_up)}}};

/// What xnnpack_delegate.cc asks of a node before it takes it.
inline constexpr DelegatedLayers delegated{.data = DelegatedData::one_8bit_type,
                                           .add = {-10, 8, UpperEnd::excluded},
                                           .mean = {-8, 8, UpperEnd::excluded},
                                           .requantize = {-8, 7, UpperEnd::included},
                                           .leaky_relu = {-8, 7, UpperEnd::included},
                                           .mean_axes = DelegatedAxes::image};

/// y = clamp(round(float(sum) * float(in / (out * count))) + zero point)
[[nodiscard]] constexpr MeanArithmetic mean_by_float(Rounding rounding) {
  return {.count = CountIn::ratio,
          .sum = {.accumulator = int32_wraps,
                  .output = {scale_f32, {stage::float_scale(rounding), stage::add_zero_point(), stage::clamp()}, in_per_out_and_count}}};
}

/// What a function of two methods by the data's width is of 16-bit data.
[[nodiscard]] constexpr FunctionArithmetic of_16_bits(FunctionArithmetic rule) {
  rule.method = FunctionMethod::fixed_point;
  rule.rounding = unstated<Rounding>;
  return rule;
}

/// The built-in kernels, of the layers that the delegate leaves: of logistic and tanh those of 16 bits.
[[nodiscard]] constexpr LeftArithmetic left_to(const Backend& builtin) {
  return {.mean = mean_by_float(Rounding::half_away),
          .add = builtin.add.i8,
          .sub = builtin.sub.i8,
          .mul = builtin.mul,
          .requantize = builtin.requantize,
          .leaky_relu = builtin.leaky_relu,
          .logistic = of_16_bits(builtin.logistic),
          .tanh = of_16_bits(builtin.tanh),
          .resize = builtin.resize};
}

/// Without a 64-bit bias the built-in kernel goes through a matrix product that rounds once; 8-bit data get there by weights with a scale per channel.
[[nodiscard]] constexpr ConvByType through_matrix_product(ConvByType builtin) {
  builtin.i16_bias32 = builtin.i16_without_bias = tflite::dense(tflite::once).i16_bias32;
  builtin.i8_per_channel = tflite::dense(tflite::once).i8;
  return builtin;
}

/// 8-bit data here, 16-bit data in the built-in kernels.
[[nodiscard]] constexpr ConvByType with_i8(ConvByType builtin) {
  builtin.i8 = conv_i8;
  builtin.u8 = {};  // as int8
  return builtin;
}

/// s8-ibilinear, u8-ibilinear: weights of 11 bits, each rounded by itself. The nearest value is the built-in kernel's.
[[nodiscard]] constexpr ResizeArithmetic bilinear_by_11_bits(ResizeArithmetic builtin) {
  builtin.method_uint8 = ResizeMethod::absent;  // as int8
  builtin.other_quantization = OtherQuantization::refused;
  builtin.grid = ResizeGrid::coordinate;
  builtin.fraction_bits = 11;
  builtin.grid_rounding = Rounding::half_even;
  builtin.rounding = Rounding::half_up;
  return builtin;
}

[[nodiscard]] constexpr Backend over(Backend backend) {
  backend.conv = with_i8(backend.conv);
  backend.left = left_to(backend);
  backend.delegated = delegated;
  backend.depthwise_conv.i8_without_bias = backend.depthwise_conv.i8;
  backend.transposed_conv.i8_per_channel = backend.transposed_conv.i8;
  backend.transposed_conv.i16_bias32 = backend.transposed_conv.i16_without_bias = backend.conv.i16_bias32;
  backend.depthwise_conv = with_i8(backend.depthwise_conv);
  backend.transposed_conv = with_i8(backend.transposed_conv);
  backend.fully_connected = with_i8(through_matrix_product(backend.fully_connected));
  backend.matmul.i8.sum = conv_i8.sum;
  backend.mean = mean_by_float(Rounding::half_even);
  backend.add.i8 = backend.sub.i8 = weighted_sum;
  backend.mul = by_float;
  backend.concat.method_uint8 = ConcatMethod::copy;
  backend.requantize = by_8_fraction_bits;
  backend.quantize = {.division = ScaleDivision::multiply_by_inverse,
                      .rounding = Rounding::half_even,
                      .zero_point = ZeroPointAt::after_rounding,
                      .out_of_range = OutOfRange::saturate};
  backend.dequantize = {.arithmetic = DequantizeProduct::f32};
  backend.leaky_relu = leaky_by_8_fraction_bits;
  backend.tanh = {.method = FunctionMethod::float_table, .rounding = Rounding::half_away};
  backend.logistic = {.method = FunctionMethod::float_table, .rounding = Rounding::half_even};
  backend.resize = bilinear_by_11_bits(backend.resize);
  backend.dynamic = {};  // later versions have kernels of their own (qd8), which were not read
  return backend;
}

}  // namespace xnnpack

inline constexpr Backend xnnpack_delegate = xnnpack::over(tflite_builtin_double);

}  // namespace lastbit
