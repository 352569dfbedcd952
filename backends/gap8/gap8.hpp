// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// GreenWaves GAP8 and GAP9 by the SDK's SQ8 kernels: everything leaves by one step, a multiplier of 8 bits and a shift, half up, in 32 bits that wrap.
// Evidence: docs/backends/gap8.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace gap8_rules {

inline constexpr AccumulatorRule int32_wraps{.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};

/// nntool's compute_scales: 8 bits, trailing zeros shifted out.
inline constexpr ScaleEncoding odd_8_bits{.arithmetic = ScaleArithmetic::f32,
                                          .significant_bits = 8,
                                          .rounding = Rounding::half_up,
                                          .normalization = Normalization::half_to_one,
                                          .form = MultiplierForm::odd,
                                          .min_exponent = -16,
                                          .max_exponent = 8};

/// AT_SCALE: the product and the half added to it wrap; no half where nothing is shifted.
inline constexpr Chain scaled{stage::multiply(),
                              stage::narrow_to(32, Overflow::wrap),
                              stage::add_half(32, Overflow::wrap),
                              stage::shift_right(Rounding::floor),
                              stage::add_zero_point(),
                              stage::clamp()};
inline constexpr RescaleRule at_scale{odd_8_bits, scaled};
/// Of a product of two values of 32 bits, which wraps first.
inline constexpr RescaleRule of_product{odd_8_bits, Chain{stage::narrow_to(32, Overflow::wrap)} + scaled};

inline constexpr ConvByType sums{.i8 = {.sum = {.accumulator = int32_wraps, .output = at_scale},
                                        .bias = BiasAt::accumulator_start,
                                        .per_channel = PerChannelLowering::native}};

/// floor(2^16 / count) in place of a division.
inline constexpr AveragePoolArithmetic average{
    .padding = PaddingCount::included,
    .output_scale = OutputScale::of_input,
    .sum = {.accumulator = int32_wraps,
            .output = {{.arithmetic = ScaleArithmetic::f64,
                        .significant_bits = 16,
                        .rounding = Rounding::floor,
                        .normalization = Normalization::fixed_point},
                       {stage::multiply(), stage::shift_right_by(16, Rounding::half_up), stage::clamp()},
                       {{}, {Quantity::count, Quantity::one}}}}};

/// The quotient with 7 more bits, toward zero; then scaled by what is left of in / out.
inline constexpr AveragePoolArithmetic global_average{
    .padding = PaddingCount::included,
    .output_scale = OutputScale::own,
    .sum = {.accumulator = int32_wraps,
            .output = {odd_8_bits,
                       Chain{stage::shift_left_by(7, 32, Overflow::wrap), stage::divide_by_count(Rounding::toward_zero)} + scaled,
                       {{Quantity::in, Quantity::one}, {Quantity::out, Quantity::one}, -7}}}};

}  // namespace gap8_rules

inline constexpr Backend gap8{.coding = Coding::affine,
                              .conv = gap8_rules::sums,
                              .depthwise_conv = gap8_rules::sums,
                              .fully_connected = gap8_rules::sums,
                              .max_pool = MaxPool::largest_code,
                              .average_pool = gap8_rules::average,
                              .global_average_pool = gap8_rules::global_average,
                              .add_n = {.i8 = {.accumulator = gap8_rules::int32_wraps, .output = gap8_rules::at_scale}},
                              .mul = gap8_rules::of_product,
                              .requantize = gap8_rules::at_scale,
                              .logistic = {.method = FunctionMethod::table_entry},
                              .tanh = {.method = FunctionMethod::table_entry}};

}  // namespace lastbit
