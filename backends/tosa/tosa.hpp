// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Arm's TOSA, whose integer results are the same on every conforming device: RESCALE with rounding mode SINGLE_ROUND and with DOUBLE_ROUND.
// Evidence: docs/backends/tosa.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace tosa {

/// A multiplier of `bits` and a shift of 2 to 62 places, which RESCALE is given; here as a compiler makes them of a scale.
[[nodiscard]] constexpr ScaleEncoding multiplier(std::uint8_t bits) {
  return {.arithmetic = ScaleArithmetic::f64,
          .significant_bits = bits,
          .rounding = Rounding::half_away,
          .normalization = Normalization::half_to_one,
          .min_exponent = static_cast<std::int16_t>(bits - 62),
          .max_exponent = static_cast<std::int16_t>(bits - 2)};
}

/// apply_scale_32 without double_round, apply_scale_16: (v * m + 2^(s - 1)) >> s.
[[nodiscard]] constexpr RescaleRule single_round(std::uint8_t bits) {
  return {multiplier(bits), {stage::multiply(), stage::shift_right(Rounding::half_up), stage::add_zero_point(), stage::clamp()}};
}
/// apply_scale_32 with double_round. Of shifts beyond 31 it adds another 2^30, of the value's sign: a first rounding at 31 places, half up, and a
/// second of the rest, half away from zero.
inline constexpr RescaleRule double_round{multiplier(31),
                                          {stage::shift_left(32, Overflow::exact), stage::doubling_high_multiply(32, Rounding::half_up),
                                           stage::shift_right_by_exponent(Rounding::half_away), stage::add_zero_point(), stage::clamp()}};

/// A sum that leaves its width makes the program invalid.
[[nodiscard]] constexpr AccumulatorRule exact(std::uint8_t bits) {
  return {.bits = bits, .overflow = Overflow::exact, .when = NarrowingPoint::at_end};
}

[[nodiscard]] constexpr ConvArithmetic sums(std::uint8_t bits, const RescaleRule& rescale) {
  return {
      .sum = {.accumulator = exact(bits), .output = rescale}, .bias = BiasAt::accumulator_end, .per_channel = PerChannelLowering::native};
}
/// 16-bit data have sums of 48 bits, which RESCALE takes with a multiplier of 16 bits and one rounding alone.
[[nodiscard]] constexpr ConvByType conv(const RescaleRule& rescale) {
  return {.i8 = sums(32, rescale), .i16_bias64 = sums(48, single_round(15))};
}

/// AVG_POOL2D: apply_scale_32 by m = ((2^30 + 1) << k) / n, s = 30 + k, k = ceil(log2 n). For sums below 2^28 it is the division, half away from
/// zero: m exceeds 2^s / n by less than 2 and by more than 0, which moves a tie outwards, and nothing else across one.
inline constexpr AveragePoolArithmetic average{
    .padding = PaddingCount::excluded,
    .output_scale = OutputScale::scale_of_input,
    .sum = {.accumulator = exact(32),
            .output = {.chain = {stage::divide_by_count(Rounding::half_away), stage::add_zero_point(), stage::clamp()}}}};

[[nodiscard]] constexpr Backend with_rescale(const RescaleRule& rescale) {
  return {
      .conv = conv(rescale),
      .depthwise_conv = conv(rescale),
      .transposed_conv = conv(rescale),
      .fully_connected = conv(rescale),
      .matmul = {.i8 = {conv(rescale).i8.sum}, .i16 = {conv(rescale).i16_bias64.sum}},
      .max_pool = MaxPool::largest_code,
      .average_pool = average,
      .global_average_pool = average,
      .mul = rescale,
      .concat = {.method = ConcatMethod::copy, .method_uint8 = ConcatMethod::copy},
      .requantize = rescale,
      .argmax = {
          .method = ArgmaxMethod::first_maximum, .running_maximum = RunningMaximum::per_position, .single_channel = SingleChannel::zero}};
}

}  // namespace tosa

inline constexpr Backend tosa_single = tosa::with_rescale(tosa::single_round(31));
inline constexpr Backend tosa_double = tosa::with_rescale(tosa::double_round);

}  // namespace lastbit
