// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// NVDLA (nv_full), 8-bit: two scales in turn, SDP's X with a multiplier per channel and its output converter C with one per layer, each rounded half
// away from zero. Evidence: docs/backends/nvdla.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace nvdla_rules {

/// scaleAndShiftFromScalarImpl2: 15 bits, truncated; one shift for all channels.
inline constexpr ScaleEncoding int16_factor{.arithmetic = ScaleArithmetic::f32_of_quotient,
                                            .significant_bits = 15,
                                            .rounding = Rounding::floor,
                                            .normalization = Normalization::layer,
                                            .min_exponent = -48,
                                            .max_exponent = 15,
                                            .carry = MultiplierCarry::keep};

/// X: multiplier, shift, rectifier, in 32 bits that saturate.
inline constexpr Chain x{stage::multiply(), stage::shift_right(Rounding::half_away), stage::narrow_to(32, Overflow::saturate),
                         stage::relu()};
/// X alone, whose ALU has an operand for every channel, and whose multiplier may leave out what is not below 0.
inline constexpr Chain x_with_operand = Chain{stage::add_offset(), stage::scale_below_zero(32, Rounding::half_away)} + x;
/// C: offset, multiplier, shift, in 17 bits that saturate. A layer that states no converter passes it as it is.
inline constexpr Chain c{stage::add_converter_offset(), stage::multiply_by_converter(16),
                         stage::shift_right_by_converter(Rounding::half_away), stage::narrow_to(17, Overflow::saturate),
                         stage::clamp_to_type()};

inline constexpr RescaleRule x_and_c{int16_factor, x + c};

/// CACC has 48 bits; X adds the bias behind it.
inline constexpr ConvByType sums{
    .i8 = {.sum = {.accumulator = {.bits = 48, .overflow = Overflow::saturate, .when = NarrowingPoint::at_end}, .output = x_and_c},
           .bias = BiasAt::accumulator_end,
           .per_channel = PerChannelLowering::native}};

/// PDP: floor(65536 / width), then floor(65536 / height), each rounded; padding is 0 and counts.
inline constexpr AveragePoolArithmetic average{
    .padding = PaddingCount::included,
    .output_scale = OutputScale::of_input,
    .scales = AverageScales::of_width_then_height,
    .sum = {.accumulator = {.bits = 32, .overflow = Overflow::saturate, .when = NarrowingPoint::at_end},
            .output = {{.arithmetic = ScaleArithmetic::f64,
                        .significant_bits = 16,
                        .rounding = Rounding::floor,
                        .normalization = Normalization::fixed_point},
                       {stage::multiply(), stage::shift_right_by(16, Rounding::half_away), stage::narrow_to(32, Overflow::saturate),
                        stage::multiply_by_converter(18), stage::shift_right_by_converter(Rounding::half_away), stage::clamp()},
                       {{}, {Quantity::count, Quantity::one}}}}};

}  // namespace nvdla_rules

inline constexpr Backend nvdla{.coding = Coding::symmetric,
                               .conv = nvdla_rules::sums,
                               .depthwise_conv = nvdla_rules::sums,
                               .fully_connected = nvdla_rules::sums,
                               .max_pool = MaxPool::largest_code,
                               .average_pool = nvdla_rules::average,
                               .global_average_pool = nvdla_rules::average,
                               .requantize = {nvdla_rules::int16_factor, nvdla_rules::x_with_operand + nvdla_rules::c},
                               .requantize_to_32bit = {nvdla_rules::int16_factor, nvdla_rules::x_with_operand + stage::clamp_to_type()},
                               .extreme = Extreme::of_codes};

}  // namespace lastbit
