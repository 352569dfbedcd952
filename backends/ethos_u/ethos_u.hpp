// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Arm Ethos-U55, U65 and U85, as their compiler Vela programs them for .tflite networks: TFLite's two roundings. Of a sum the first two scale one
// operand, the U85 both. What the rounding modes compute is how the compiler itself folds constants by them. Evidence: docs/backends/ethos_u.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace ethos {

/// quantise_scale: a multiplier of 31 bits, a shift of 0 to 63 places.
inline constexpr ScaleEncoding scale_q31{.arithmetic = ScaleArithmetic::f64,
                                         .significant_bits = 31,
                                         .rounding = Rounding::half_away,
                                         .normalization = Normalization::half_to_one,
                                         .min_exponent = -32,
                                         .max_exponent = 31};

/// Rounding mode TFL, of the U85 DOUBLE_SYMMETRIC.
inline constexpr Chain rounded_twice{stage::shift_left(32, Overflow::exact), stage::doubling_high_multiply(32, Rounding::half_up),
                                     stage::shift_right_by_exponent(Rounding::half_away)};
/// Rounding mode NATURAL.
inline constexpr Chain rounded_once{stage::multiply(), stage::shift_right(Rounding::half_up)};

[[nodiscard]] constexpr RescaleRule to_output(const Chain& chain, const Ratio& by = in_weight_per_out) {
  return {scale_q31, chain + stage::add_zero_point() + stage::clamp(), by};
}

[[nodiscard]] constexpr AccumulatorRule exact(std::uint8_t bits) {
  return {.bits = bits, .overflow = Overflow::exact, .when = NarrowingPoint::at_end};
}

[[nodiscard]] constexpr ConvArithmetic sums(std::uint8_t bits, const RescaleRule& output) {
  return {
      .sum = {.accumulator = exact(bits), .output = output}, .bias = BiasAt::accumulator_end, .per_channel = PerChannelLowering::native};
}

/// 16-bit data round once; with a 64-bit bias their multiplier keeps 15 bits (reduced_quantise_scale).
inline constexpr ConvByType conv{
    .i8 = sums(32, to_output(rounded_twice)),
    .u8 = sums(32, to_output(rounded_twice, float_in_weight_per_out)),
    .i16_bias32 = sums(40, to_output(rounded_once)),
    .i16_bias64 = sums(40, to_output({stage::multiply(MultiplierBits{15}, Rounding::half_up), stage::shift_right(Rounding::half_up)}))};
inline constexpr ConvByType dense{.i8 = sums(32, to_output(rounded_twice, float_in_weight_per_out))};

/// Both operands in units of the larger scale / 2^places: the operand of that scale is shifted, the other one multiplied and rounded.
[[nodiscard]] constexpr SumArithmetic one_scaled(std::int8_t places) {
  return {.operand = {scale_q31, rounded_once, {{Quantity::in, Quantity::one}, {Quantity::larger_in, Quantity::one}, places}},
          .accumulator = exact(32),
          .output = to_output(rounded_twice,
                              {{Quantity::larger_in, Quantity::one}, {Quantity::out, Quantity::one}, static_cast<std::int8_t>(-places)})};
}
inline constexpr AddArithmetic add{.i8 = one_scaled(19), .i16 = one_scaled(14)};

/// Both operands times 2^places, in units of twice the larger scale; the U85 rounds each twice, as TFLite does.
[[nodiscard]] constexpr SumArithmetic both_scaled(ConstantShift places) {
  return {.operand = {scale_q31,
                      Chain{stage::shift_left_by(places, 32, Overflow::exact)} + rounded_twice,
                      {{Quantity::in, Quantity::one}, {Quantity::larger_in, Quantity::one}, -1}},
          .accumulator = exact(32),
          .output = to_output(
              rounded_twice,
              {{Quantity::larger_in, Quantity::one}, {Quantity::out, Quantity::one}, static_cast<std::int8_t>(1 - places.value)})};
}
inline constexpr AddArithmetic add_on_u85{.i8 = both_scaled(20), .i16 = both_scaled(15)};

/// The count of the window as a multiplier of 31 bits: of 8-bit data, the division.
inline constexpr AveragePoolArithmetic average{.padding = PaddingCount::excluded,
                                               .output_scale = OutputScale::of_input,
                                               .sum = {.centring = Centring::nothing,
                                                       .accumulator = exact(32),
                                                       .output = {.chain = {stage::divide_by_count(Rounding::half_away), stage::clamp()}}}};

/// elementwise_mul_scale: a quotient of floats.
inline constexpr RescaleRule mul = [] {
  RescaleRule rule = to_output(rounded_twice);
  rule.scale.arithmetic = ScaleArithmetic::f32;
  return rule;
}();

}  // namespace ethos

inline constexpr Backend ethos_u{.conv = ethos::conv,
                                 .depthwise_conv = ethos::conv,
                                 .transposed_conv = ethos::conv,
                                 .fully_connected = ethos::dense,
                                 .max_pool = MaxPool::largest_code,
                                 .average_pool = ethos::average,
                                 .global_average_pool = ethos::average,
                                 .add = ethos::add,
                                 .sub = ethos::add,
                                 .mul = ethos::mul,
                                 .concat = {.method = ConcatMethod::copy, .method_uint8 = ConcatMethod::copy},
                                 .requantize = ethos::to_output(ethos::rounded_twice)};

inline constexpr Backend ethos_u85 = [] {
  Backend backend = ethos_u;
  backend.add = backend.sub = ethos::add_on_u85;
  return backend;
}();

}  // namespace lastbit
