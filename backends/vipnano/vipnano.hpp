// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// VeriSilicon VIPNano / VIP8000: V8 (NXP i.MX 8M Plus) with a 24-bit multiplier, V7 (Amlogic A311D, ST STM32MP2) with 16 bits.
// 8-bit data only. Evidence: docs/backends/vipnano.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace vipnano {

/// The compiler's float32 scale: 24 significant bits, the leading one implicit in the register.
inline constexpr ScaleEncoding scale_f32{.arithmetic = ScaleArithmetic::f32,
                                         .significant_bits = 24,
                                         .rounding = Rounding::floor,
                                         .normalization = Normalization::one_to_two,
                                         .min_exponent = -300,
                                         .max_exponent = 300};

inline constexpr Stage multiply_v8 = stage::multiply();
inline constexpr Stage multiply_v7 = stage::multiply(MultiplierBits{16}, Rounding::floor);

/// The NN core's way to the output: the rectifier stands before the multiplier.
[[nodiscard]] constexpr RescaleRule rectified(const Stage& multiplication) {
  return {scale_f32, {stage::relu(), multiplication, stage::shift_right(Rounding::half_even), stage::add_zero_point(), stage::clamp()}};
}
/// Assumed where no convolution is computed.
[[nodiscard]] constexpr RescaleRule rescaled(const Stage& multiplication) {
  return {scale_f32, {multiplication, stage::shift_right(Rounding::half_even), stage::add_zero_point(), stage::clamp()}};
}

[[nodiscard]] constexpr ConvByType conv(const RescaleRule& rescale) {
  return {.i8 = {.sum = {.accumulator = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add}, .output = rescale},
                 .bias = BiasAt::accumulator_start,
                 .per_channel = PerChannelLowering::native}};
}

/// A convolution of both operands with two 8-bit weights, 1 and in_b / in_a, whose scale makes the larger one 255. The bias can only be
/// `centring`: the core subtracts the zero point of the first operand from both.
[[nodiscard]] constexpr SumArithmetic convolved(const Stage& multiplication, Centring centring) {
  RescaleRule output = rectified(multiplication);
  output.by = {{Quantity::first_in, Quantity::unit}, {Quantity::out, Quantity::one}};
  return {.centring = centring,
          .operand = {{.arithmetic = ScaleArithmetic::f32,
                       .significant_bits = 8,
                       .rounding = Rounding::half_away,
                       .normalization = Normalization::unit,
                       .min_exponent = 0,
                       .max_exponent = 0},
                      {stage::multiply()},
                      {{Quantity::in, Quantity::one}, {Quantity::first_in, Quantity::one}}},
          .accumulator = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add},
          .output = output};
}

[[nodiscard]] constexpr Backend neural_processor(const Stage& multiplication, Centring centring_of_add) {
  const ConvByType convolution = conv(rectified(multiplication));
  const RescaleRule rescale = rescaled(multiplication);
  AveragePoolArithmetic average{.padding = PaddingCount::excluded,
                                .output_scale = OutputScale::of_input,
                                .sum = {.centring = Centring::nothing,
                                        .accumulator = {.bits = 64, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add},
                                        .output = {.chain = {stage::divide_by_count(Rounding::half_even), stage::clamp()}}}};
  RescaleRule per_count = rescale;
  per_count.by = in_per_out_and_count;
  AddArithmetic add{.i8 = convolved(multiplication, centring_of_add)};
  const FunctionArithmetic by_multiplier{.method = FunctionMethod::rescaled, .rescale = rescale};
  const FunctionArithmetic float_table{.method = FunctionMethod::float_table, .rounding = Rounding::half_even};
  return {
      .conv = convolution,
      .depthwise_conv = convolution,
      .transposed_conv = convolution,
      .fully_connected = convolution,
      .matmul = {.i8 = {convolution.i8.sum}},
      .max_pool = MaxPool::largest_code,
      .average_pool = average,
      .global_average_pool = average,
      .mean = {.count = CountIn::ratio,
               .sum = {.accumulator = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add}, .output = per_count}},
      .add = add,
      .sub = add,
      .mul = rescale,
      .concat = {.method = ConcatMethod::dequantize, .method_uint8 = ConcatMethod::dequantize},
      .quantize = {.division = ScaleDivision::divide,
                   .rounding = Rounding::half_even,
                   .zero_point = ZeroPointAt::after_rounding,
                   .out_of_range = OutOfRange::saturate},
      .dequantize = {.arithmetic = DequantizeProduct::f32},
      .requantize = rescale,
      .leaky_relu = by_multiplier,
      .prelu = by_multiplier,
      .hard_swish = float_table,
      .logistic = float_table,
      .tanh = float_table,
      .softmax = float_table};
}

}  // namespace vipnano

inline constexpr Backend vipnano_v8 = vipnano::neural_processor(vipnano::multiply_v8, Centring::first_zero_point_factor_rounded);
inline constexpr Backend vipnano_v7 = vipnano::neural_processor(vipnano::multiply_v7, Centring::first_zero_point_product_rounded);

}  // namespace lastbit
