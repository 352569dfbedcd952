// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// N2D2's C++ export (the kernels that run on the device) and its simulator (what the tool computes itself), one backend for every way of
// approximating a scale. 8-bit data (4-bit data is 8-bit data with narrower bounds) with 32-bit sums, 16-bit data with 64-bit sums.
// Evidence: docs/backends/n2d2.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace n2d2 {

/// y = x * 2^-s. A device that can only shift: the quantiser has moved the rest of the scale into the weights.
inline constexpr ScaleEncoding power_of_two{.arithmetic = ScaleArithmetic::f64,
                                            .significant_bits = 1,
                                            .rounding = Rounding::half_away,
                                            .normalization = Normalization::one_to_two,
                                            .form = MultiplierForm::power_of_two,
                                            .min_exponent = -62,
                                            .max_exponent = 0};

/// y = (x + (x << s1)) >> s2, s1 = k and s2 = -e.
inline constexpr ScaleEncoding two_powers{.arithmetic = ScaleArithmetic::f64,
                                          .significant_bits = 24,
                                          .rounding = Rounding::half_away,
                                          .normalization = Normalization::one_to_two,
                                          .form = MultiplierForm::power_of_two_plus_one,
                                          .min_exponent = -62,
                                          .max_exponent = 0};

/// y = (x * m) >> f: one f <= 50 for a layer, the largest m of it within `bits` bits.
[[nodiscard]] constexpr ScaleEncoding fixed_point(std::uint8_t bits) {
  return {.arithmetic = ScaleArithmetic::f64,
          .significant_bits = bits,
          .rounding = Rounding::half_away,
          .normalization = Normalization::layer,
          .min_exponent = static_cast<std::int16_t>(bits - 50),
          .max_exponent = bits};
}

inline constexpr ScaleEncoding real{.arithmetic = ScaleArithmetic::f64};

/// A way from sum to output: with the half that the exporter adds to the bias of convolutions and fully connected layers, and without.
struct Scaling {
  RescaleRule with_bias{};
  RescaleRule without_bias{};
};

// The kernels of the export; `bits`: of the accumulator.

[[nodiscard]] constexpr Scaling single_shift(Width bits) {
  return {.with_bias = {power_of_two,
                        {stage::add_half_by_exponent(bits, Overflow::wrap), stage::relu(), stage::shift_right_by_exponent(Rounding::floor),
                         stage::clamp_to_type()}},
          .without_bias = {power_of_two, {stage::relu(), stage::shift_right_by_exponent(Rounding::floor), stage::clamp_to_type()}}};
}

[[nodiscard]] constexpr RescaleRule double_shift(Width bits) {
  return {two_powers,
          {stage::relu(), stage::two_term_shift(bits, Overflow::wrap), stage::add_half(bits, Overflow::wrap),
           stage::shift_right(Rounding::floor), stage::clamp_to_type()}};
}

/// The multiply takes an int32, whatever the accumulator is; its result is converted to the type of the accumulator.
[[nodiscard]] constexpr RescaleRule fixed_mult(Width bits, std::uint8_t multiplier_bits) {
  return {fixed_point(multiplier_bits),
          {stage::relu(), stage::clamp_accumulator(), stage::narrow_to(32, Overflow::wrap), stage::multiply(),
           stage::shift_right(Rounding::half_up), stage::narrow_to(bits, Overflow::wrap), stage::clamp_to_type()}};
}

inline constexpr RescaleRule float_mult{
    real,
    {stage::relu(), stage::clamp_accumulator(), stage::float_scale(Rounding::half_away, ProductArithmetic::f64), stage::clamp_to_type()}};

// The simulator: 64-bit integers throughout, one rounding.

inline constexpr RescaleRule simulated_single_shift{
    power_of_two, {stage::relu(), stage::shift_right_by_exponent(Rounding::half_up), stage::clamp_to_type()}};
inline constexpr RescaleRule simulated_double_shift{
    two_powers, {stage::relu(), stage::two_term_shift(64, Overflow::wrap), stage::shift_right(Rounding::half_up), stage::clamp_to_type()}};
[[nodiscard]] constexpr RescaleRule simulated_fixed_mult(std::uint8_t multiplier_bits) {
  return {fixed_point(multiplier_bits),
          {stage::relu(), stage::clamp_accumulator(), stage::multiply(), stage::shift_right(Rounding::half_up), stage::clamp_to_type()}};
}
inline constexpr RescaleRule simulated_float_mult{
    real, {stage::relu(), stage::clamp_accumulator(), stage::float_scale(Rounding::half_away), stage::clamp_to_type()}};

[[nodiscard]] constexpr ConvArithmetic sums(std::uint8_t bits, const RescaleRule& rescale) {
  return {.sum = {.accumulator = {.bits = bits, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add}, .output = rescale},
          .bias = BiasAt::accumulator_start,
          .per_channel = PerChannelLowering::native};
}

/// `narrow` for 8-bit data, `wide` for 16-bit data; `cell` and `wide_cell`: of cells that only scale, before branches join.
struct Ways {
  Scaling narrow{}, wide{};
  RescaleRule cell{}, wide_cell{};
};

/// Codes of one quantisation, added as they are.
[[nodiscard]] constexpr SumArithmetic sum_of_codes(RescaleRule output) {
  output.by = in_per_out;
  return {.accumulator = {.bits = 64, .overflow = Overflow::wrap, .when = NarrowingPoint::at_end}, .output = output};
}
[[nodiscard]] constexpr AddArithmetic sums_of_tensors(const Ways& ways) {
  return {.i8 = sum_of_codes(ways.narrow.without_bias), .i16 = sum_of_codes(ways.wide.without_bias)};
}

[[nodiscard]] constexpr Backend common(const Ways& ways, std::uint8_t narrow_bits) {
  const auto& [narrow, wide, cell, wide_cell] = ways;
  // Not const: g++ 12 will not fill the arrays of a constant on its way.
  ConvByType biased{.i8 = sums(narrow_bits, narrow.with_bias), .i16_bias64 = sums(64, wide.with_bias)};
  ConvByType unbiased{.i8 = sums(narrow_bits, narrow.without_bias), .i16_bias64 = sums(64, wide.without_bias)};
  return {.coding = Coding::zero_based,
          .conv = biased,
          .depthwise_conv = biased,
          .transposed_conv = unbiased,
          .fully_connected = biased,
          .max_pool = MaxPool::largest_code,
          .add = sums_of_tensors(ways),
          .add_n = sums_of_tensors(ways),
          .concat = {.method = ConcatMethod::copy, .method_uint8 = ConcatMethod::copy},
          .quantize = {.division = ScaleDivision::multiply_by_inverse,
                       .rounding = Rounding::toward_zero,
                       .zero_point = ZeroPointAt::after_rounding,
                       .out_of_range = OutOfRange::saturate},
          .dequantize = {.arithmetic = DequantizeProduct::f32},
          .requantize = cell,
          .requantize_16bit = wide_cell};
}

[[nodiscard]] constexpr Backend exported(const Ways& ways) {
  Backend backend = common(ways, 32);
  backend.average_pool = {.padding = PaddingCount::included,
                          .output_scale = OutputScale::of_input,
                          .sum = {.centring = Centring::nothing,
                                  .accumulator = {.bits = 64, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add},
                                  .output = {.chain = {stage::divide_by_count(Rounding::toward_zero), stage::clamp()}}}};
  backend.global_average_pool = backend.average_pool;
  backend.argmax = {
      .method = ArgmaxMethod::first_maximum, .running_maximum = RunningMaximum::carried_over, .single_channel = SingleChannel::upper_half};
  return backend;
}
/// Where layers only shift, cells that only scale multiply all the same, and so do sums whose scale is above 1.
[[nodiscard]] constexpr Backend exported_shift(const Scaling& narrow, const Scaling& wide) {
  Backend backend = exported({narrow, wide, fixed_mult(32, 15), fixed_mult(64, 15)});
  // A sum of fewer than 2^16 codes times it fits either accumulator.
  backend.add.above_one = backend.add_n.above_one = sum_of_codes(fixed_mult(64, 15));
  return backend;
}
[[nodiscard]] constexpr Backend exported_shift(const RescaleRule& narrow, const RescaleRule& wide) {
  return exported_shift(Scaling{narrow, narrow}, Scaling{wide, wide});
}
[[nodiscard]] constexpr Backend exported_factor(const RescaleRule& narrow, const RescaleRule& wide) {
  return exported({{narrow, narrow}, {wide, wide}, narrow, wide});
}

/// No pooling by averages: the simulator's result is a fraction, which its next layer multiplies.
[[nodiscard]] constexpr Backend simulated(const RescaleRule& rescale, const RescaleRule& cell) {
  return common({{rescale, rescale}, {rescale, rescale}, cell, {}}, 64);
}

[[nodiscard]] constexpr Backend simulated_shift(const RescaleRule& rescale) {
  Backend backend = simulated(rescale, simulated_fixed_mult(15));
  backend.add.above_one = backend.add_n.above_one = sum_of_codes(simulated_fixed_mult(15));
  return backend;
}

}  // namespace n2d2

inline constexpr Backend n2d2_single_shift = n2d2::exported_shift(n2d2::single_shift(32), n2d2::single_shift(64));
inline constexpr Backend n2d2_double_shift = n2d2::exported_shift(n2d2::double_shift(32), n2d2::double_shift(64));
inline constexpr Backend n2d2_fixed_mult16 = n2d2::exported_factor(n2d2::fixed_mult(32, 15), n2d2::fixed_mult(64, 15));
inline constexpr Backend n2d2_fixed_mult32 = n2d2::exported_factor(n2d2::fixed_mult(32, 31), n2d2::fixed_mult(64, 31));
inline constexpr Backend n2d2_float_mult = n2d2::exported_factor(n2d2::float_mult, n2d2::float_mult);

inline constexpr Backend n2d2_simulator_single_shift = n2d2::simulated_shift(n2d2::simulated_single_shift);
inline constexpr Backend n2d2_simulator_double_shift = n2d2::simulated_shift(n2d2::simulated_double_shift);
inline constexpr Backend n2d2_simulator_fixed_mult16 = n2d2::simulated(n2d2::simulated_fixed_mult(15), n2d2::simulated_fixed_mult(15));
inline constexpr Backend n2d2_simulator_fixed_mult32 = n2d2::simulated(n2d2::simulated_fixed_mult(31), n2d2::simulated_fixed_mult(31));
inline constexpr Backend n2d2_simulator_float_mult = n2d2::simulated(n2d2::simulated_float_mult, n2d2::simulated_float_mult);

}  // namespace lastbit
