// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Analog Devices MAX78000 and MAX78002: exact sums, one shift that rounds half up, bytes. Pools and element-wise operations stand before a
// convolution; the latter hand it more than 8 bits. Evidence: docs/backends/max78000.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace max78000_rules {

inline constexpr AccumulatorRule full_resolution{.bits = 32, .overflow = Overflow::exact, .when = NarrowingPoint::at_end};

/// acc / 2^(7 - output_shift), output_shift from -15 to 15.
inline constexpr ScaleEncoding output_shift{.arithmetic = ScaleArithmetic::f64,
                                            .significant_bits = 1,
                                            .rounding = Rounding::floor,
                                            .normalization = Normalization::one_to_two,
                                            .form = MultiplierForm::power_of_two,
                                            .min_exponent = -22,
                                            .max_exponent = 8};

inline constexpr ConvByType conv{
    .i8 = {.sum = {.accumulator = full_resolution,
                   .output = {output_shift, {stage::shift_right(Rounding::half_up), stage::absolute(), stage::clamp()}}},
           .bias = BiasAt::accumulator_start,
           .per_channel = PerChannelLowering::native}};

/// Codes summed as they are.
inline constexpr SumArithmetic plain_sum{.accumulator = full_resolution, .output = {.chain = {stage::clamp()}}};

inline constexpr AveragePoolArithmetic average{
    .padding = PaddingCount::included,
    .output_scale = OutputScale::of_input,
    .sum = {.accumulator = full_resolution, .output = {.chain = {stage::divide_by_count(Rounding::toward_zero), stage::clamp()}}}};

}  // namespace max78000_rules

inline constexpr Backend max78000{.coding = Coding::symmetric,
                                  .conv = max78000_rules::conv,
                                  .depthwise_conv = max78000_rules::conv,
                                  .transposed_conv = max78000_rules::conv,
                                  .fully_connected = max78000_rules::conv,
                                  .max_pool = MaxPool::largest_code,
                                  .average_pool = max78000_rules::average,
                                  .global_average_pool = max78000_rules::average,
                                  .add = {.i8 = max78000_rules::plain_sum},
                                  .sub = {.i8 = max78000_rules::plain_sum},
                                  .add_n = {.i8 = max78000_rules::plain_sum},
                                  .mul = {.chain = {stage::clamp()}},
                                  .bitwise = Bitwise::of_codes};

}  // namespace lastbit
