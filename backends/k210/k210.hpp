// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Kendryte K210's KPU, as nncase's simulator computes it: convolutions of uint8 codes whose zero points, scale per channel and activation are
// registers that the layer states. Evidence: docs/backends/k210.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace k210_rules {

/// The simulator asserts that a sum fits 36 bits.
inline constexpr AccumulatorRule bits36{.bits = 36, .overflow = Overflow::exact, .when = NarrowingPoint::at_end};

/// Registers of the batch normalisation: 24 bits, shifts of up to 15.
inline constexpr ScaleEncoding norm_mul{.arithmetic = ScaleArithmetic::f32,
                                        .significant_bits = 23,
                                        .rounding = Rounding::half_even,
                                        .normalization = Normalization::half_to_one,
                                        .min_exponent = 8,
                                        .max_exponent = 23,
                                        .carry = MultiplierCarry::renormalize};

inline constexpr Chain norm_and_activation{stage::multiply(), stage::shift_right(Rounding::floor), stage::add_offset(),
                                           stage::segments(16, 16, Rounding::half_even, RoundingStep::away_from_zero), stage::clamp()};

inline constexpr ConvByType sums{.u8 = {.sum = {.accumulator = bits36, .output = {norm_mul, norm_and_activation}},
                                        .bias = BiasAt::accumulator_end,
                                        .per_channel = PerChannelLowering::native,
                                        .cross_terms = {CrossTermMethod::each_shifted, Rounding::floor}}};

inline constexpr AveragePoolArithmetic average{
    .padding = PaddingCount::edge_repeated,
    .output_scale = OutputScale::of_input,
    .sum = {.centring = Centring::nothing,
            .accumulator = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::at_end},
            .output = {.chain = {stage::divide_by_count(Rounding::floor), stage::clamp()}}}};

}  // namespace k210_rules

inline constexpr Backend k210{.coding = Coding::affine,
                              .conv = k210_rules::sums,
                              .depthwise_conv = k210_rules::sums,
                              .max_pool = MaxPool::largest_code,
                              .average_pool = k210_rules::average};

}  // namespace lastbit
