// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Gemmini, UC Berkeley's systolic array for RISC-V chips, in its default configuration, whose scales are float32, and in one that shifts.
// Evidence: docs/backends/gemmini.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace gemmini {

inline constexpr AccumulatorRule int32_wraps{.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};

/// ACC_SCALE and MVIN_SCALE: half_even(float(x) * s), s a float32 that the program brings.
inline constexpr ScaleEncoding float32_scale{.arithmetic = ScaleArithmetic::f64};
inline constexpr RescaleRule acc_scale{float32_scale, {stage::float_scale(Rounding::half_even), stage::clamp()}};

/// ROUNDING_RIGHT_SHIFT, of configurations without floats.
inline constexpr RescaleRule acc_shift{{.arithmetic = ScaleArithmetic::f64,
                                        .significant_bits = 1,
                                        .rounding = Rounding::floor,
                                        .normalization = Normalization::one_to_two,
                                        .form = MultiplierForm::power_of_two,
                                        .min_exponent = -31,
                                        .max_exponent = 0},
                                       {stage::shift_right(Rounding::half_even), stage::clamp()}};

/// resadd: each operand is moved in as 8 bits, with a scale of its own; their sum leaves through the accumulator's scale, which is 1 unless the
/// program says otherwise.
inline constexpr SumArithmetic residual{
    .operand = {float32_scale, {stage::float_scale(Rounding::half_even), stage::narrow_to(8, Overflow::saturate)}, in_per_out},
    .accumulator = int32_wraps,
    .output = {float32_scale, {stage::float_scale(Rounding::half_even), stage::clamp()}, {}}};

[[nodiscard]] constexpr ConvByType sums(const RescaleRule& rescale) {
  return {.i8 = {.sum = {.accumulator = int32_wraps, .output = rescale},
                 .bias = BiasAt::accumulator_start,
                 .per_channel = PerChannelLowering::native}};
}

/// Everything that leaves the accumulator leaves it in the same way.
[[nodiscard]] constexpr Backend leaving_by(const RescaleRule& rescale) {
  return {.coding = Coding::symmetric,
          .conv = sums(rescale),
          .depthwise_conv = sums(rescale),
          .fully_connected = sums(rescale),
          .matmul = {.i8 = {sums(rescale).i8.sum}},
          .max_pool = MaxPool::largest_code,
          .requantize = rescale};
}

}  // namespace gemmini

inline constexpr Backend gemmini_float = [] {
  Backend backend = gemmini::leaving_by(gemmini::acc_scale);
  backend.add.i8 = gemmini::residual;
  return backend;
}();
inline constexpr Backend gemmini_shift = gemmini::leaving_by(gemmini::acc_shift);

}  // namespace lastbit
