// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rockchip's RKNPU2 as in RK3588 and RK3576: one output converter, whose multiplier is truncated and then one more; ties to even, or away from
// zero by a register. Evidence: docs/backends/rockchip.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace rockchip {

/// MUL and SHIFT from a float32 scale: the leading one and 14 bits of the mantissa, and one; SHIFT = 14 - exponent, from 0 to 63.
[[nodiscard]] constexpr ScaleEncoding out_cvt_scale(MultiplierCarry carry) {
  return {.arithmetic = ScaleArithmetic::f32,
          .significant_bits = 15,
          .rounding = Rounding::floor,
          .normalization = Normalization::one_to_two,
          .min_exponent = -49,
          .max_exponent = 14,
          .carry = carry,
          .added = MultiplierAddend::one};
}

/// OUT_CVT: the zero point behind the rounding, the bounds last.
[[nodiscard]] constexpr RescaleRule out_cvt(MultiplierCarry carry) {
  return {out_cvt_scale(carry), {stage::multiply(), stage::shift_right(Rounding::half_even), stage::add_zero_point(), stage::clamp()}};
}

/// What the bias stage's registers hold: a multiplier of 16 bits, its sign among them. Layers state them: how a compiler makes them is not established.
inline constexpr ScaleEncoding bias_stage_scale{.arithmetic = ScaleArithmetic::f32,
                                                .significant_bits = 15,
                                                .rounding = Rounding::floor,
                                                .normalization = Normalization::one_to_two,
                                                .min_exponent = -49,
                                                .max_exponent = 14};

/// The bias stage, then OUT_CVT: an offset, a multiplier and two shifts for each channel, one of products below 0; saturated to int32; then one scale.
inline constexpr RescaleRule per_channel{
    bias_stage_scale,
    {stage::add_offset(), stage::multiply(), stage::shift_right_by_sign(Rounding::half_even), stage::narrow_to(32, Overflow::saturate),
     stage::multiply_by_converter(16), stage::shift_right_by_converter(Rounding::half_even), stage::add_zero_point(), stage::clamp()}};

inline constexpr AccumulatorRule int32_wraps{.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};

[[nodiscard]] constexpr ConvArithmetic sum_by(const RescaleRule& rule) {
  return {
      .sum = {.accumulator = int32_wraps, .output = rule}, .bias = BiasAt::accumulator_start, .per_channel = PerChannelLowering::native};
}
[[nodiscard]] constexpr ConvByType sums(const RescaleRule& rule) { return {.i8 = sum_by(rule), .i8_per_channel = sum_by(per_channel)}; }

[[nodiscard]] constexpr Backend leaving_by(const RescaleRule& rule) {
  return {.coding = Coding::affine,
          .conv = sums(rule),
          .depthwise_conv = sums(rule),
          .fully_connected = sums(rule),
          .max_pool = MaxPool::largest_code,
          .requantize = rule};
}

}  // namespace rockchip

/// The vendor's own toolkit carries into the shift.
inline constexpr Backend rk3588 = rockchip::leaving_by(rockchip::out_cvt(MultiplierCarry::renormalize));
inline constexpr Backend rk3576 = rk3588;
/// Mesa's driver loses the carry.
inline constexpr Backend rk3588_mesa = rockchip::leaving_by(rockchip::out_cvt(MultiplierCarry::lost));

}  // namespace lastbit
