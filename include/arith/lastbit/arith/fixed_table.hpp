// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The interpolation tables of TFLite's 16-bit kernels, generated at compile time and equal to the recorded ones entry by entry.
//
//   exp_table_q0_15           exp(x), x = -10 + 10 i / 512,  i = 0…512
//   one_over_one_plus_table   1 / (1 + x), x = i / 512,      i = 0…512
//   sigmoid_table_u0_16       1 / (1 + exp(-i / 24)),        i = 0…255
//
// An entry is not the function at its point: it is moved by half the error that the chord to the next point makes in the middle.
// The first two tables do so in float32, in this order (tflite gen_lut<float>); all roundings to integers are half_away:
//   1. s = round(f(x_i) 2^15);  2. c = round((f(x_i+1) 2^15 + s) / 2), the sum rounded to float;  3. m = round(f(x_i+1/2) 2^15);
//   4. entry = s - round((c - m) / 2), clamped to 16 bits;  the last entry = round(f(x_512) 2^15), clamped.
// TensorFlow Lite makes them in double (…_by_double): the table of exp is the same, two entries of 1 / (1 + x) are others.
// The sigmoid table does so exactly: 2^16 (f(x_i) + (f(x_i+1/2) - (f(x_i) + f(x_i+1)) / 2) / 2), rounded once; the last entry is 65535.
// Source: tflite-micro kernels/internal/common.h and softmax_common.cc; the rule of the sigmoid table is inferred from its 256 values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/arith/integer.hpp"
#include "lastbit/arith/rounding.hpp"

namespace lastbit {

using InterpolationTable = std::array<std::int16_t, 513>;

namespace detail {

/// exp(-step k) for k = 0…count-1 in Q0.62, step = numerator / denominator < 1. Errors stay below 2^-50, since no factor exceeds 1.
template <std::size_t count>
consteval std::array<std::int64_t, count> exp_powers_q62(std::int64_t numerator, std::int64_t denominator) {
  constexpr std::int64_t one = std::int64_t{1} << 62;
  Int128 ratio = 0;
  Int128 term = one;
  for (std::int64_t n = 1; term != 0; ++n) {
    ratio += term;
    term = -term * numerator / (denominator * n);
  }
  std::array<std::int64_t, count> powers{};
  Int128 power = one;
  for (std::int64_t& entry : powers) {
    entry = static_cast<std::int64_t>(power);
    power = shift_right<Rounding::half_up>(power * ratio, 62);
  }
  return powers;
}

/// The function at the 513 points and the 512 middles between them, as float or double.
template <class Real>
using HalfStepSamples = std::array<Real, 1025>;

consteval HalfStepSamples<float> exp_samples() {
  constexpr auto powers = exp_powers_q62<1025>(5, 512);
  HalfStepSamples<float> samples{};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = static_cast<float>(powers[1024 - i]) / static_cast<float>(std::int64_t{1} << 62);
  }
  return samples;
}

template <class Real>
consteval HalfStepSamples<Real> one_over_one_plus_samples() {
  HalfStepSamples<Real> samples{};
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = 1 / (1 + static_cast<Real>(i) / 1024);
  return samples;
}

template <class Real>
consteval InterpolationTable interpolation_table(const HalfStepSamples<Real>& samples) {
  constexpr Real unit = 32768;
  const auto to_integer = [](Real value) { return round_to_integer(value, Rounding::half_away); };
  InterpolationTable table{};
  for (std::size_t i = 0; i + 1 < table.size(); ++i) {
    const std::int64_t sample = to_integer(samples[2 * i] * unit);                                       // 1.
    const std::int64_t chord = to_integer((samples[2 * i + 2] * unit + static_cast<Real>(sample)) / 2);  // 2.
    const std::int64_t middle = to_integer(samples[2 * i + 1] * unit);                                   // 3.
    const std::int64_t bias = shift_right<Rounding::half_away>(chord - middle, 1);                       // 4.
    table[i] = static_cast<std::int16_t>(narrow_saturate(sample - bias, 16));
  }
  table.back() = static_cast<std::int16_t>(narrow_saturate(to_integer(samples.back() * unit), 16));
  return table;
}

consteval std::array<std::uint16_t, 256> sigmoid_table() {
  constexpr auto powers = exp_powers_q62<512>(1, 48);
  const auto sigmoid_q16_40 = [&](std::size_t half_steps) {
    return static_cast<std::int64_t>((Int128{1} << 118) / ((Int128{1} << 62) + powers[half_steps]));
  };
  std::array<std::uint16_t, 256> table{};
  for (std::size_t i = 0; i < 255; ++i) {
    const std::int64_t four_times = 3 * sigmoid_q16_40(2 * i) + 2 * sigmoid_q16_40(2 * i + 1) - sigmoid_q16_40(2 * i + 2);
    table[i] = static_cast<std::uint16_t>(shift_right<Rounding::half_up>(four_times, 42));
  }
  table.back() = 65535;
  return table;
}

}  // namespace detail

inline constexpr InterpolationTable exp_table_q0_15 = detail::interpolation_table(detail::exp_samples());
inline constexpr InterpolationTable one_over_one_plus_table_q0_15 = detail::interpolation_table(detail::one_over_one_plus_samples<float>());
inline constexpr InterpolationTable one_over_one_plus_table_q0_15_by_double =
    detail::interpolation_table(detail::one_over_one_plus_samples<double>());
inline constexpr std::array<std::uint16_t, 256> sigmoid_table_u0_16 = detail::sigmoid_table();

/// base + slope * (low 7 bits) / 2^7, half_up; the table spans all int16 values in steps of 128.
[[nodiscard]] constexpr std::int16_t interpolate(const InterpolationTable& table, std::int16_t value) noexcept {
  const auto index = static_cast<std::size_t>(256 + (value >> 7));
  const std::int32_t base = table[index];
  const std::int32_t slope = table[index + 1] - base;
  return static_cast<std::int16_t>(base + shift_right<Rounding::half_up>(slope * (value & 127), 7));
}

}  // namespace lastbit
