// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Espressif. ESP-DL on the ESP32-S3 and on the ESP32-P4: scales are powers of two, so that a sum leaves by one shift; the chips differ in
// its ties. ESP-NN, the kernels of TensorFlow Lite Micro there: TFLite's arithmetic with two roundings, logistic apart. Evidence: docs/backends/espressif.md.
#pragma once

#include "lastbit/backend.hpp"
#include "lastbit/backends/tflite.hpp"

namespace lastbit {

namespace espdl {

/// acc / 2^shift, shift = exponent of the output less those of input and weights; below 0 it is a shift left.
inline constexpr ScaleEncoding exponents{.arithmetic = ScaleArithmetic::f64,
                                         .significant_bits = 1,
                                         .rounding = Rounding::floor,
                                         .normalization = Normalization::one_to_two,
                                         .form = MultiplierForm::power_of_two,
                                         .min_exponent = -31,
                                         .max_exponent = 31};
/// shift_and_round.
[[nodiscard]] constexpr RescaleRule shift_and_round(Rounding ties) { return {exponents, {stage::shift_right(ties), stage::clamp()}}; }

inline constexpr AccumulatorRule int32_wraps{.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};
inline constexpr AccumulatorRule int64_wraps{.bits = 64, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};

[[nodiscard]] constexpr ConvArithmetic with_bias_last(const AccumulatorRule& accumulator, const RescaleRule& output) {
  return {
      .sum = {.accumulator = accumulator, .output = output}, .bias = BiasAt::accumulator_end, .per_channel = PerChannelLowering::native};
}

[[nodiscard]] constexpr ConvByType conv(Rounding ties) {
  return {.i8 = with_bias_last(int32_wraps, shift_and_round(ties)), .i16_bias64 = with_bias_last(int64_wraps, shift_and_round(ties))};
}

/// A product with a float scale, rounded to an integer.
[[nodiscard]] constexpr RescaleRule float_product(Rounding ties, const Ratio& by) {
  return {{.arithmetic = ScaleArithmetic::f32}, {stage::float_scale(ties), stage::clamp()}, by};
}

[[nodiscard]] constexpr AveragePoolArithmetic average(Rounding ties) {
  return {.padding = PaddingCount::included,
          .output_scale = OutputScale::own,
          .sum = {.accumulator = int32_wraps, .output = float_product(ties, in_per_out_and_count)}};
}

/// Codes of equal scales, summed as they are.
inline constexpr SumArithmetic plain_sum{.accumulator = int32_wraps, .output = {.chain = {stage::clamp()}}};

[[nodiscard]] constexpr Backend of_chip(Rounding ties) {
  return {.coding = Coding::symmetric,
          .conv = conv(ties),
          .depthwise_conv = conv(ties),
          .fully_connected = conv(ties),
          .max_pool = MaxPool::largest_code,
          .average_pool = average(ties),
          .global_average_pool = average(ties),
          .add = {.i8 = plain_sum, .i16 = plain_sum},
          .sub = {.i8 = plain_sum, .i16 = plain_sum},
          .mul = float_product(ties, in_weight_per_out),
          .requantize = shift_and_round(ties)};
}

}  // namespace espdl

inline constexpr Backend espdl_s3 = espdl::of_chip(Rounding::half_up);
/// Here alone weights may have an exponent per channel.
inline constexpr Backend espdl_p4 = [] {
  Backend backend = espdl::of_chip(Rounding::half_even);
  for (ConvByType* const sums : {&backend.conv, &backend.depthwise_conv, &backend.fully_connected}) sums->i8_per_channel = sums->i8;
  return backend;
}();

/// TFLite's arithmetic, but for a table of the float function.
inline constexpr Backend esp_nn = [] {
  Backend backend = tflite_double;
  backend.logistic = tflite_builtin_double.logistic;
  return backend;
}();
/// CONFIG_NN_SKIP_NUDGE: where ESP-NN computes convolutions and products itself, the half before the last shift is added in 32 bits, which wrap.
inline constexpr Backend esp_nn_fast = [] {
  Backend backend = esp_nn;
  const Chain fast{stage::shift_left(32, Overflow::wrap), stage::doubling_high_multiply(32, Rounding::half_up),
                   stage::add_half_by_sign_by_exponent(32, Overflow::wrap), stage::shift_right_by_exponent(Rounding::floor)};
  for (ConvByType* const sums : {&backend.conv, &backend.depthwise_conv, &backend.fully_connected})
    sums->i8.sum.output.chain = fast + stage::add_zero_point() + stage::clamp();
  backend.mul.chain = fast + stage::add_zero_point() + stage::clamp();
  return backend;
}();

}  // namespace lastbit
