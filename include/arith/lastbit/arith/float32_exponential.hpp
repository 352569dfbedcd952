// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The exponential function of float32 values, and softmax of a row of them; each step is a fused multiply-add or another operation rounded to float32.
// Contract:
//   exp      x is raised to -103.972, below which the result is 0; m = x·log2(e) rounded half to even by adding and taking away 1.5·2^23;
//            r = x - m·ln 2, of two parts; p = c[0]·r^6 + … + c[6] by Horner's scheme; p·2^m, rounded once where it is subnormal. NaN stays NaN;
//   softmax  e[i] = exp(x[i] - max); 16 lanes, each adding up every sixteenth e from +0; t[i] = l[i + 8] + l[i], and their sum is
//            ((t0 + t1) + (t2 + t3)) + ((t4 + t5) + (t6 + t7)); y[i] = e[i] · float(1 / sum). No row is empty.
// Source: ONNX Runtime core/mlas/lib/compute.cpp and x86_64/TransKernelAvx512F.S (without AVX-512 the lanes are others); version 1.30 run, every value of
// random rows equal.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace lastbit {

[[nodiscard]] inline float exp_by_polynomial(float x) {
  constexpr float least = -103.9720840454F, half_even = 0x1.8p23F, log2_e = 1.44269504088896341F;
  constexpr std::array<float, 2> minus_ln2{-6.93145752e-1F, -1.42860677e-6F};
  constexpr std::array<float, 7> coefficients{0x1.694p-10F, 0x1.125edcp-7F, 0x1.555b5ap-5F, 0x1.55545p-3F, 0x1.fffff6p-2F, 1.0F, 1.0F};
  if (x == std::numeric_limits<float>::infinity()) return x;
  const float bounded = x < least ? least : x;
  const float power = std::fma(bounded, log2_e, half_even) - half_even;
  float rest = bounded;
  for (const float part : minus_ln2) rest = std::fma(power, part, rest);
  float value = coefficients[0];
  for (std::size_t i = 1; i < coefficients.size(); ++i) value = std::fma(value, rest, coefficients[i]);
  constexpr float beyond = 1024;  // any result is 0 or infinite there
  return std::isnan(x) ? x : std::ldexp(value, static_cast<int>(std::min(power, beyond)));
}

inline void softmax_row_by_lanes(std::span<const float> in, std::span<float> out) {
  const float top = *std::max_element(in.begin(), in.end());
  std::array<float, 16> lanes{};
  for (std::size_t i = 0; i < in.size(); ++i) lanes[i % lanes.size()] += out[i] = exp_by_polynomial(in[i] - top);
  const auto pair = [&](std::size_t i) { return (lanes[i + 8] + lanes[i]) + (lanes[i + 9] + lanes[i + 1]); };
  const float factor = 1 / ((pair(0) + pair(2)) + (pair(4) + pair(6)));
  for (float& value : out) value *= factor;
}

}  // namespace lastbit
