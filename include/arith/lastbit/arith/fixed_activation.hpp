// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Logistic, tanh and hard swish of one quantised value in integers, as the TFLM reference kernels compute them.
//
// logistic, tanh of int8 (output scale 1/256 and zero point -128; 1/128 and 0). Contract:
//   1. d = x - zero point; |d| >= radius gives -128 or 127;  2. f(rescale(d)), Q4.27 to Q0.31;
//   3. / 2^23 (logistic) or 2^24 (tanh), half_away;  4. logistic: - 128;  clamp.
// logistic, tanh of int16 (zero points 0, output scale 2^-15). Contract:
//   1. a = |x * multiplier / 2^shift|, half_up before the sign is taken off; its unit is 1/12288;
//   2. linear interpolation in the sigmoid table, exact: step 512 (logistic) or 256 (tanh, which is 2 sigmoid(2x) - 1) units, from entry
//      255 on the largest output;  3. half_up to 15 fraction bits;  4. negative x: 32768 - y (logistic), -y (tanh).
// hard swish of int8 and uint8, all in 16 bits. Contract:
//   1. h = (x - input zero point) * 2^7;  2. p = h * output multiplier / 2^15, half_up, saturated;
//   3. r = h, shifted left by exponent - 1 (saturating), times the reluish multiplier / 2^15 (half_up), then the last bit of the left
//      shift (saturating) or, for a negative exponent, the right shift (half_away): the real value 3 is 2^15 now;
//   4. r = (r + 2^15) / 2, floor;  5. o = r * p / 2^15 toward zero;  6. o / 2^-(output exponent), half_away;
//   7. + output zero point, wrapping at 16 bits, clamped to the type.
// Sources: tflite-micro integer_ops/{logistic,tanh}.h, logistic_common.cc, tanh.cc, reference/hard_swish.h, hard_swish_common.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "lastbit/arith/fixed_function.hpp"
#include "lastbit/arith/fixed_table.hpp"
#include "lastbit/arith/multiplier.hpp"

namespace lastbit {

enum class Sigmoid : std::uint8_t { logistic, tanh };

/// Constants of one layer's logistic or tanh, as the kernel prepares them.
struct SigmoidParameters {
  EncodedScale scale;
  std::int32_t radius = 0;

  friend constexpr bool operator==(const SigmoidParameters&, const SigmoidParameters&) = default;
};

/// For int8: the scale to Q4.27, and the smallest distance from the zero point at which the output is saturated.
[[nodiscard]] constexpr SigmoidParameters sigmoid_parameters(const ScaleEncoding& rule, double input_scale) noexcept {
  constexpr int integer_bits = 4;
  const EncodedScale scale = encode(rule, input_scale * static_cast<double>(1 << (31 - integer_bits)));
  return {scale, largest_fixed_input(integer_bits, scale.exponent)};
}

/// `centered` is x - zero point; `rescale` gives Q4.27 values that fit 32 bits for every |centered| < radius.
template <Sigmoid function, DifferenceRescale Rescale>
[[nodiscard]] constexpr std::int8_t sigmoid_i8(std::int32_t centered, std::int32_t radius, Rescale&& rescale) noexcept {
  if (centered <= -radius) return -128;  // 1.
  if (centered >= radius) return 127;
  const auto argument = static_cast<std::int32_t>(narrow_exact(std::int64_t{rescale(centered)}, 32));
  const std::int32_t y = function == Sigmoid::logistic ? divide_by_power_of_two_i32(fixed_logistic<4>(argument), 23) - 128  // 2. 3. 4.
                                                       : divide_by_power_of_two_i32(fixed_tanh<4>(argument), 24);
  return static_cast<std::int8_t>(narrow_saturate(y, 8));
}

/// From an int16 input to the table's unit of 1/12288.
struct SigmoidTableInput {
  std::int32_t multiplier = 0;
  int shift = 0;

  friend constexpr bool operator==(const SigmoidTableInput&, const SigmoidTableInput&) = default;
};

/// The multiplier is cut, not rounded, to 15 bits. A scale within 2^±0.001 of 2^-12 (tanh: also 2^-11) counts as that power of two; the
/// device decides this by a float logarithm, whose last bit depends on its C library. Scales up to 2.66 keep every product in 32 bits.
[[nodiscard]] constexpr SigmoidTableInput sigmoid_table_input(Sigmoid function, double input_scale) noexcept {
  const auto close_to_one = [](double ratio) { return ratio > 0.99930709254 && ratio < 1.00069338746; };
  if (close_to_one(input_scale * 4096.0)) return {3, 0};
  if (function == Sigmoid::tanh && close_to_one(input_scale * 2048.0)) return {6, 0};
  double multiplier = input_scale * 4096.0 * 3.0;
  int shift = 0;
  while (multiplier <= 32767.0 / 2.0 && shift <= 30) {
    ++shift;
    multiplier *= 2.0;
  }
  return {static_cast<std::int32_t>(narrow_saturate(round_to_integer(multiplier, Rounding::toward_zero), 32)), shift};
}

template <Sigmoid function>
[[nodiscard]] constexpr std::int16_t sigmoid_i16(std::int16_t value, SigmoidTableInput input) noexcept {
  constexpr int step_bits = function == Sigmoid::logistic ? 9 : 8;
  const std::int64_t x = shift_right<Rounding::half_up>(std::int64_t{value} * input.multiplier, input.shift);  // 1.
  const std::int64_t magnitude = x < 0 ? -x : x;
  const auto index = static_cast<std::size_t>(magnitude >> step_bits);
  std::int64_t y = 32767;
  if (index < 255) {  // 2. 3.
    const std::int64_t base = sigmoid_table_u0_16[index];
    const std::int64_t slope = sigmoid_table_u0_16[index + 1] - base;
    const std::int64_t sigmoid = base * (1 << step_bits) + (magnitude & ((1 << step_bits) - 1)) * slope;
    y = function == Sigmoid::logistic ? shift_right<Rounding::half_up>(sigmoid, 10)
                                      : shift_right<Rounding::half_up>(sigmoid - (std::int64_t{1} << 23), 8);
  }
  if (x < 0) y = function == Sigmoid::logistic ? 32768 - y : -y;  // 4.
  return static_cast<std::int16_t>(narrow_exact(y, 16));
}

/// Of x in units of 2^-12 that entry of the table which the magnitude, in units of 1/12288, cut to a step, has reached; the last one beyond the
/// table. In units of 2^-15; of x = 0 the negative branch.
template <Sigmoid function>
[[nodiscard]] constexpr std::int32_t sigmoid_entry(std::int64_t x) noexcept {
  constexpr int step_bits = function == Sigmoid::logistic ? 9 : 8;
  const std::int64_t magnitude = (x < 0 ? -x : x) * 3;
  const std::int64_t entry = sigmoid_table_u0_16[static_cast<std::size_t>(std::min<std::int64_t>(magnitude >> step_bits, 255))];
  if (function == Sigmoid::logistic) return static_cast<std::int32_t>((x > 0 ? entry : 65536 - entry) >> 1);
  return static_cast<std::int32_t>(x > 0 ? entry - 32768 : 32768 - entry);
}

/// Constants of one layer's hard swish, as the kernel prepares them.
struct HardSwishParameters {
  std::int32_t input_zero_point = 0;
  std::int32_t output_zero_point = 0;
  std::int16_t reluish_multiplier = 0;
  int reluish_exponent = 0;
  std::int16_t output_multiplier = 0;
  int output_exponent = 0;  ///< at most 0

  friend constexpr bool operator==(const HardSwishParameters&, const HardSwishParameters&) = default;
};

/// A Q0.31 multiplier in 16 bits: / 2^16, half_up, saturated.
[[nodiscard]] constexpr std::int16_t halve_multiplier(const EncodedScale& scale) noexcept {
  return static_cast<std::int16_t>(narrow_saturate(shift_right<Rounding::half_up>(scale.multiplier, 16), 16));
}

/// Scales and quotients in float32. The device refuses output exponents above 0 (input scale of 128 output scales or more).
[[nodiscard]] constexpr HardSwishParameters hard_swish_parameters(const ScaleEncoding& rule, float input_scale,
                                                                  std::int32_t input_zero_point, float output_scale,
                                                                  std::int32_t output_zero_point) noexcept {
  const float fine_scale = (1.0F / 128.0F) * input_scale;
  const EncodedScale output = encode(rule, static_cast<double>(fine_scale / output_scale));
  const EncodedScale reluish = encode(rule, static_cast<double>(fine_scale / (3.0F / 32768.0F)));
  return {input_zero_point, output_zero_point, halve_multiplier(reluish), reluish.exponent, halve_multiplier(output), output.exponent};
}

/// gemmlowp's 16-bit division by 2^exponent, half_away. Beyond 15 its 16-bit mask is all ones, and only ±1 comes out.
[[nodiscard]] constexpr std::int16_t divide_by_power_of_two_i16(std::int16_t value, int exponent) noexcept {
  if (exponent > 15) return value < 0 ? -1 : 1;
  return static_cast<std::int16_t>(shift_right<Rounding::half_away>(std::int32_t{value}, exponent));
}

/// Step 3 and 4 of hard swish: x / 6 + 1/2, clamped to 0…1, with 15 fraction bits.
[[nodiscard]] constexpr std::int16_t hard_swish_gate(const HardSwishParameters& p, std::int16_t fine) noexcept {
  const auto shift_left = [](std::int16_t value, int amount) {
    return static_cast<std::int16_t>(narrow_saturate(std::int64_t{value} << std::min(amount, 32), 16));
  };
  const int exponent = p.reluish_exponent;
  std::int16_t gate = exponent > 0 ? shift_left(fine, exponent - 1) : fine;
  gate = doubling_high_multiply_i16(gate, p.reluish_multiplier);
  if (exponent > 0) gate = shift_left(gate, 1);
  if (exponent < 0) gate = divide_by_power_of_two_i16(gate, -exponent);
  return static_cast<std::int16_t>((gate + 32768) >> 1);
}

template <ByteElement T>
[[nodiscard]] constexpr T hard_swish(const HardSwishParameters& p, T value) noexcept {
  LASTBIT_ASSERT(p.output_exponent <= 0);
  const auto fine = static_cast<std::int16_t>((value - p.input_zero_point) * 128);                          // 1. 9 bits and 7
  const std::int16_t preshift = doubling_high_multiply_i16(fine, p.output_multiplier);                      // 2.
  const std::int16_t gate = hard_swish_gate(p, fine);                                                       // 3. 4.
  const auto product = static_cast<std::int16_t>(shift_right<Rounding::toward_zero>(gate * preshift, 15));  // 5. gate >= 0: no overflow
  const std::int16_t scaled = divide_by_power_of_two_i16(product, -p.output_exponent);                      // 6.
  const std::int64_t result = narrow_wrap(scaled + p.output_zero_point, 16);                                // 7.
  return static_cast<T>(std::clamp<std::int64_t>(result, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

}  // namespace lastbit
