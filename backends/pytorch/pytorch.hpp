// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's quantised operators on a CPU: float scales, one rounding, half to even; engine qnnpack, and engine onednn with and without VNNI. The
// engines differ in the last bit of the scale, in where the zero point joins, and in add. Evidence: docs/backends/pytorch.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace pytorch {

inline constexpr AccumulatorRule int32_wraps{.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};

/// vpmaddubsw: x0*w0 + x1*w1 of uint8 codes and int8 weights saturates at 16 bits; neighbours among the channels of one position are a pair.
inline constexpr AccumulatorRule pairs_saturate{.bits = 32,
                                                .overflow = Overflow::wrap,
                                                .when = NarrowingPoint::at_end,
                                                .partial = {.method = PartialMethod::consecutive_codes,
                                                            .terms = 2,
                                                            .vector = 0,
                                                            .tail = PartialTail::exact,
                                                            .bits = 16,
                                                            .overflow = Overflow::saturate,
                                                            .emptied = 0}};

/// s = float(float(in * weight) * float(1 / out)); y = clamp(half_even(float(sum) * s) + zero point)
inline constexpr RescaleRule by_inverse_output{{.arithmetic = ScaleArithmetic::f32_by_inverse_output},
                                               {stage::float_scale(Rounding::half_even), stage::add_zero_point(), stage::clamp()}};
/// s = float(float(1 / out) / float(float(1 / in) * float(1 / weight))); y = clamp(half_even(float(float(sum) * s) + zero point))
inline constexpr RescaleRule by_inverses{{.arithmetic = ScaleArithmetic::f32_of_inverses},
                                         {stage::float_scale_with_zero_point(Rounding::half_even), stage::clamp()}};

[[nodiscard]] constexpr ConvArithmetic products(const RescaleRule& rescale, const AccumulatorRule& accumulator) {
  return {
      .sum = {.accumulator = accumulator, .output = rescale}, .bias = BiasAt::accumulator_start, .per_channel = PerChannelLowering::native};
}

[[nodiscard]] constexpr ConvByType sums(const RescaleRule& rescale) { return {.i8 = products(rescale, int32_wraps)}; }

/// q8vadd: both ratios in / out as integers of one exponent, of which the larger has 22 bits; one rounding of their exact sum.
inline constexpr SumArithmetic weighted_sum{.operand = {{.arithmetic = ScaleArithmetic::f32,
                                                         .significant_bits = 22,
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
                                                       {stage::shift_right(Rounding::half_away), stage::add_zero_point(), stage::clamp()},
                                                       {{Quantity::unit, Quantity::one}, {}}}};

/// Every engine's but qnnpack's.
inline constexpr AddArithmetic dequantized_sum{.in_float = {.method = FloatSumMethod::dequantized, .rounding = Rounding::half_even}};

/// y = clamp(half_even(float(sum) * float(1 / count)) + zero point), of the input's quantisation. Engine qnnpack's factor is float(in / float(out * count)),
/// which is another float for some scales, though in is out.
inline constexpr Ratio scales_per_count{{Quantity::in, Quantity::one}, {Quantity::out, Quantity::count}};
[[nodiscard]] constexpr AveragePoolArithmetic average(PaddingCount padding) {
  return {.padding = padding,
          .output_scale = OutputScale::of_input,
          .sum = {.accumulator = int32_wraps,
                  .output = {{.arithmetic = ScaleArithmetic::f32},
                             {stage::float_scale(Rounding::half_even), stage::add_zero_point(), stage::clamp()},
                             {{}, {Quantity::count, Quantity::one}}}}};
}

inline constexpr FunctionArithmetic by_table{.method = FunctionMethod::float_table_by_inverse, .rounding = Rounding::half_even};

/// What the engines have in common.
[[nodiscard]] constexpr Backend operators(const RescaleRule& rescale) {
  return {.conv = sums(rescale),
          .depthwise_conv = sums(rescale),
          .fully_connected = sums(rescale),
          .max_pool = MaxPool::largest_code,
          .average_pool = average(PaddingCount::excluded),
          .global_average_pool = average(PaddingCount::excluded),
          .add = dequantized_sum,
          .mul = by_inverse_output,
          .quantize = {.division = ScaleDivision::multiply_by_inverse,
                       .rounding = Rounding::half_even,
                       .zero_point = ZeroPointAt::after_rounding,
                       .out_of_range = OutOfRange::saturate},
          .dequantize = {.arithmetic = DequantizeProduct::f32},
          .leaky_relu = by_table,
          .hard_swish = by_table,
          .logistic = by_table,
          .tanh = by_table};
}

}  // namespace pytorch

inline constexpr Backend pytorch_qnnpack = [] {
  Backend backend = pytorch::operators(pytorch::by_inverse_output);
  backend.add.in_float = {};
  backend.add.i8 = pytorch::weighted_sum;
  backend.average_pool.padding = PaddingCount::included;
  for (AveragePoolArithmetic* average : {&backend.average_pool, &backend.global_average_pool})
    average->sum.output.by = pytorch::scales_per_count;
  backend.hard_swish.method = FunctionMethod::float_table_onto_zero_point;
  return backend;
}();

/// Of contiguous tensors (NCHW) y = clamp(half_even(float(float(sum) * float(1 / count)) + zero point)): the zero point joins before the rounding.
inline constexpr Backend pytorch_x86 = [] {
  Backend backend = pytorch::operators(pytorch::by_inverses);
  backend.planar_average_pool = backend.average_pool;
  backend.planar_average_pool.sum.output.chain = {stage::float_scale_with_zero_point(Rounding::half_even), stage::clamp()};
  return backend;
}();

/// uint8 data alone: what the kernels make of int8 data was not recorded.
inline constexpr Backend pytorch_x86_avx2 = [] {
  Backend backend = pytorch_x86;
  for (ConvByType* by_type : {&backend.conv, &backend.fully_connected}) {
    by_type->i8 = {};
    by_type->u8 = pytorch::products(pytorch::by_inverses, pytorch::pairs_saturate);
  }
  return backend;
}();

}  // namespace lastbit
