// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Softmax of one row in integers, as the TFLite, TFLM and CMSIS-NN reference kernels compute it. The rescaling of a difference is handed
// in as a function, since it is the only step in which their double- and single-rounding builds can differ.
//
// 8-bit input, 8- or 16-bit output with scale 2^-bits and the lowest value as zero point. Contract:
//   1. d = x - max(row) <= 0; a d below `smallest_difference` gives the lowest output and does not enter the sum;
//   2. e = exp(rescale(d)), Q5.26 to Q0.31 (fixed_function.hpp);
//   3. sum of e / 2^12, each half_away: Q12.19. Devices keep it in 32 bits, enough for 4,095 columns; here it has 64;
//   4. reciprocal of the sum in Q0.31 and its bits over unit;
//   5. y = reciprocal * e (half_up) / 2^(bits over unit + 31 - output bits) (half_away) + lowest output, clamped to the output type.
//      TFLM stops if that shift exceeds 31: from a sum of 512 on for 8-bit outputs. Here the shift goes on.
// 16-bit input and output with scale 2^-15. Contract:
//   1. d = x - max(row); t = rescale(d), where -65535 stands for -10; t + 32767 saturated to 16 bits;
//   2. e = interpolation in the exp table, Q0.15;  3. sum of e in 32 bits: at most 65,536 columns;
//   4. the sum, normalised to [2^16, 2^17] (half_up), minus 3 * 2^15, saturated to 16 bits, interpolated in the 1/(1+x) table (`reciprocals`):
//      r in Q0.15;
//   5. y = e * r / 2^(bits of the sum - 1), half_up, clamped to 0…32767.
//      (CMSIS-NN leaves the clamp out: a row of one column gives -32768.)
// Sources: tflite-micro reference/softmax.h, softmax_common.cc, quantization_util.cc.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>

#include "lastbit/arith/fixed_function.hpp"
#include "lastbit/arith/fixed_table.hpp"
#include "lastbit/arith/multiplier.hpp"

namespace lastbit {

/// Constants of one layer's softmax, as the kernel prepares them.
struct SoftmaxParameters {
  EncodedScale scale;
  std::int32_t smallest_difference = 0;

  friend constexpr bool operator==(const SoftmaxParameters&, const SoftmaxParameters&) = default;
};

/// For 8-bit inputs: beta * scale * 2^26 in double, capped below the largest power of two the encoding can shift by (2^31 at most).
[[nodiscard]] constexpr SoftmaxParameters softmax_parameters(const ScaleEncoding& rule, double beta, double input_scale) noexcept {
  constexpr int integer_bits = 5;
  const int largest_shift = has_exponent(rule) ? std::min<int>(rule.max_exponent, 31) : 31;
  const auto cap = static_cast<double>((std::int64_t{1} << largest_shift) - 1);
  const EncodedScale scale = encode(rule, std::min(beta * input_scale * static_cast<double>(1 << (31 - integer_bits)), cap));
  return {scale, -largest_fixed_input(integer_bits, scale.exponent)};
}

/// For 16-bit inputs.
[[nodiscard]] constexpr EncodedScale softmax_scale_i16(const ScaleEncoding& rule, double beta, double input_scale) noexcept {
  return encode(rule, input_scale * beta / (10.0 / 65535.0));
}

/// Step 2 for 8-bit inputs. `rescale` gives Q5.26 values that fit 32 bits for every difference from `smallest_difference` to 0.
template <DifferenceRescale Rescale>
[[nodiscard]] constexpr std::int32_t softmax_exponential(std::int32_t difference, Rescale&& rescale) noexcept {
  return fixed_exp<5>(static_cast<std::int32_t>(narrow_exact(std::int64_t{rescale(difference)}, 32)));
}

/// A row of one column or more; `exp_of` is step 2, for every difference from `smallest_difference` to 0.
template <ByteElement Input, class Output, DifferenceRescale Exponential>
requires ByteElement<Output> || std::same_as<Output, std::int16_t>
constexpr void softmax_row_of(std::span<const Input> input, std::span<Output> output, std::int32_t smallest_difference,
                              Exponential&& exp_of) noexcept {
  constexpr int accumulator_integer_bits = 12;
  constexpr int output_bits = static_cast<int>(sizeof(Output)) * 8;
  constexpr std::int32_t lowest = std::numeric_limits<Output>::min();
  LASTBIT_ASSERT(!input.empty() && input.size() == output.size());
  const std::int32_t top = *std::ranges::max_element(input);
  std::int64_t sum = 0;
  for (const std::int32_t value : input) {
    if (value - top < smallest_difference) continue;                                   // 1.
    sum += divide_by_power_of_two_i32(exp_of(value - top), accumulator_integer_bits);  // 3.
  }
  const FixedReciprocal inverse = fixed_reciprocal(sum, accumulator_integer_bits);  // 4.
  const int shift = inverse.bits_over_unit + 31 - output_bits;
  for (std::size_t i = 0; i < input.size(); ++i) {  // 5.
    const std::int32_t difference = input[i] - top;
    const std::int32_t share = difference < smallest_difference
                                   ? 0
                                   : divide_by_power_of_two_i32(doubling_high_multiply_i32(inverse.reciprocal, exp_of(difference)), shift);
    output[i] = static_cast<Output>(std::clamp<std::int32_t>(share + lowest, lowest, std::numeric_limits<Output>::max()));
  }
}

/// The same with the rescaling of a difference.
template <ByteElement Input, class Output, DifferenceRescale Rescale>
requires ByteElement<Output> || std::same_as<Output, std::int16_t>
constexpr void softmax_row(std::span<const Input> input, std::span<Output> output, std::int32_t smallest_difference,
                           Rescale&& rescale) noexcept {
  softmax_row_of<Input, Output>(input, output, smallest_difference,
                                [&](std::int32_t difference) { return softmax_exponential(difference, rescale); });
}

/// `rescale` maps a difference so that -65535 stands for -10. Input and output may be the same memory. A row has one column or more.
template <DifferenceRescale Rescale>
constexpr void softmax_row_i16(std::span<const std::int16_t> input, std::span<std::int16_t> output, Rescale&& rescale,
                               const InterpolationTable& reciprocals = one_over_one_plus_table_q0_15) noexcept {
  LASTBIT_ASSERT(!input.empty() && input.size() <= 65536 && input.size() == output.size());
  const auto saturate = [](std::int64_t value) { return static_cast<std::int16_t>(narrow_saturate(value, 16)); };
  const std::int32_t top = *std::ranges::max_element(input);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    output[i] = interpolate(exp_table_q0_15, saturate(std::int64_t{rescale(input[i] - top)} + 32767));  // 1. 2.
    sum += output[i];                                                                                   // 3.
  }
  const int sum_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(sum)));
  const std::int64_t normalised = shift_right<Rounding::half_up>(sum << (31 - sum_bits), 14);
  const std::int64_t reciprocal = interpolate(reciprocals, saturate(normalised - 3 * 32768));  // 4.
  for (std::int16_t& value : output) {                                                         // 5.
    const std::int64_t share = shift_right<Rounding::half_up>(value * reciprocal, sum_bits - 1);
    value = static_cast<std::int16_t>(std::clamp<std::int64_t>(share, 0, 32767));
  }
}

}  // namespace lastbit
