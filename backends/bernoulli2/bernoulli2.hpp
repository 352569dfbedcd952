// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Horizon Robotics BPU, march bernoulli2 (X3, J3): a documented model, not verified on silicon. 8-bit symmetric data.
// Evidence: docs/backends/bernoulli2.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace bpu {

/// 15 bits of the significand in [1/2, 1), rounded half up and clipped to int16; the exponent goes into the shifts.
inline constexpr ScaleEncoding multiplier_q15{.arithmetic = ScaleArithmetic::f64,
                                              .significant_bits = 15,
                                              .rounding = Rounding::half_up,
                                              .normalization = Normalization::half_to_one,
                                              .min_exponent = -2000,
                                              .max_exponent = 2000,
                                              .carry = MultiplierCarry::saturate};

/// A shift before the 16-bit multiplier, as far as 30 bits less those of the output do not suffice, and the rest after it.
[[nodiscard]] constexpr RescaleRule split_shift(Rounding after) {
  return {multiplier_q15,
          {stage::shift_right_excess(30, 31, Rounding::floor), stage::narrow_to(16, Overflow::saturate), stage::multiply(),
           stage::shift_right_rest(31, after), stage::clamp()}};
}

/// Convolutions truncate at both shifts.
inline constexpr RescaleRule truncated = split_shift(Rounding::floor);
/// Requantisation, pools, sums and products round at the second.
inline constexpr RescaleRule rounded = split_shift(Rounding::half_up);

[[nodiscard]] constexpr ConvByType conv(const RescaleRule& rescale) {
  return {.i8 = {.sum = {.accumulator = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add}, .output = rescale},
                 .bias = BiasAt::accumulator_start,
                 .per_channel = PerChannelLowering::native,
                 .bias_bits = 32,
                 .bias_rounding = Rounding::floor}};
}

/// Both operands multiplied up to one unit, the one of smaller scale by 8 bits, the other by 15 and a shift.
inline constexpr SumArithmetic common_scale_sum = [] {
  RescaleRule output = rounded;
  output.by = {{Quantity::unit, Quantity::one}, {Quantity::out, Quantity::one}};
  return SumArithmetic{.operand = {{.arithmetic = ScaleArithmetic::f64,
                                    .significant_bits = 15,
                                    .normalization = Normalization::unit_of_pair,
                                    .max_exponent = 25},
                                   {stage::multiply()},
                                   {{Quantity::in, Quantity::one}, {}}},
                       .accumulator = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::at_end},
                       .output = output};
}();

[[nodiscard]] constexpr Backend bernoulli2_processor() {
  RescaleRule per_count = rounded;
  per_count.by = in_per_out_and_count;
  SumArithmetic sum{.accumulator = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::at_end}, .output = per_count};
  AveragePoolArithmetic average{.padding = PaddingCount::included, .output_scale = OutputScale::own, .sum = sum};
  AddArithmetic add{.i8 = common_scale_sum};
  const FunctionArithmetic table{.method = FunctionMethod::float_table, .rounding = Rounding::half_away};
  return {.coding = Coding::symmetric,
          .conv = conv(truncated),
          .depthwise_conv = conv(truncated),
          .transposed_conv = conv(truncated),
          .fully_connected = conv(truncated),
          .matmul = {.i8 = {conv(rounded).i8.sum}},
          .max_pool = MaxPool::largest_code,
          .average_pool = average,
          .global_average_pool = average,
          .mean = {.count = CountIn::ratio, .sum = sum},
          .add = add,
          .sub = add,
          .mul = rounded,
          .concat = {.method = ConcatMethod::rescaled},
          .quantize = {.division = ScaleDivision::divide_in_double,
                       .rounding = Rounding::half_away,
                       .zero_point = ZeroPointAt::after_rounding,
                       .out_of_range = OutOfRange::saturate},
          .dequantize = {.arithmetic = DequantizeProduct::f32},
          .requantize = rounded,
          .leaky_relu = table,
          .hard_swish = table,
          .logistic = table,
          .tanh = table,
          .softmax = table,
          .exp = table,
          .resize = {.method = ResizeMethod::fixed_point,
                     .grid = ResizeGrid::start_and_step,
                     .fraction_bits = 8,
                     .grid_rounding = Rounding::floor,
                     .rounding = Rounding::half_up},
          .float32 = Float32Operations::golden};
}

}  // namespace bpu

inline constexpr Backend bernoulli2 = bpu::bernoulli2_processor();

}  // namespace lastbit
