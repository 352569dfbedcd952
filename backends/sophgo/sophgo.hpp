// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sophgo's chips as TPU-MLIR's host interpreter computes them: a multiplier of 31 bits and a shift that rounds half up (MultiplierShift, BM168x),
// and the way of TensorFlow Lite (QDM). Evidence: docs/backends/sophgo.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace sophgo {

/// get_scale_and_shift_positive: a multiplier below 2^31 - 1 and a shift of 0 to 30.
inline constexpr ScaleEncoding positive{.arithmetic = ScaleArithmetic::f32,
                                        .significant_bits = 31,
                                        .rounding = Rounding::half_away,
                                        .normalization = Normalization::least_error,
                                        .min_exponent = -30,
                                        .max_exponent = 0};

inline constexpr RescaleRule multiplier_shift{
    positive, {stage::multiply(), stage::shift_right(Rounding::half_up), stage::add_zero_point(), stage::clamp()}};

/// QuantizeMultiplier of the double scale; MultiplyByQuantizedMultiplier.
inline constexpr RescaleRule qdm{{.arithmetic = ScaleArithmetic::f64,
                                  .significant_bits = 31,
                                  .rounding = Rounding::half_away,
                                  .normalization = Normalization::half_to_one,
                                  .min_exponent = -31,
                                  .max_exponent = 31},
                                 {stage::shift_left(32, Overflow::wrap), stage::doubling_high_multiply(32, Rounding::half_up),
                                  stage::shift_right_by_exponent(Rounding::half_away), stage::add_zero_point(), stage::clamp()}};

/// Sums in float32, which are exact while they stay below 2^24; the bias is added in 64 bits.
inline constexpr AccumulatorRule float_sums{.bits = 64, .overflow = Overflow::exact, .when = NarrowingPoint::at_end};

[[nodiscard]] constexpr ConvByType sums(const RescaleRule& rule) {
  return {.i8 = {.sum = {.accumulator = float_sums, .output = rule},
                 .bias = BiasAt::accumulator_end,
                 .per_channel = PerChannelLowering::native}};
}

[[nodiscard]] constexpr Backend leaving_by(const RescaleRule& rule) {
  return {.coding = Coding::affine,
          .conv = sums(rule),
          .depthwise_conv = sums(rule),
          .fully_connected = sums(rule),
          .max_pool = MaxPool::largest_code,
          .requantize = rule};
}

}  // namespace sophgo

inline constexpr Backend sophgo_multiplier_shift = sophgo::leaving_by(sophgo::multiplier_shift);
inline constexpr Backend sophgo_qdm = sophgo::leaving_by(sophgo::qdm);

}  // namespace lastbit
