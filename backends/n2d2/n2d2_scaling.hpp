// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How N2D2 approximates the scale of a layer, and the figures that its export prints. Source: src/DeepNetQuantization.cpp, read; the figures
// of a published log are reproduced (tests/unit/n2d2_scaling_test.cpp).
//
// A layer with input threshold a, output threshold b, weights within w and n bits has the scale (a / U_in) * (w / S) / (b / U_out), where
// S = 2^(n-1) - 1 and U is the largest code of a tensor: 2^n - 1 unsigned, S signed. Where a scale is approximated by s * p, the rest of it
// can go into the weights: multiplied by 1/p before they are rounded.
#pragma once

#include <cstdint>
#include <string>

namespace lastbit::n2d2 {

/// The figures that the export prints of a layer: prev, act, bias, quant → global, cell.
struct PrintedScaling {
  double global = 0;  ///< act / bias: the threshold of the outputs in units of the normalised network
  double cell = 0;    ///< prev / global / quant: the scale
};
/// `previous`: `global` of the layer before, 1 at the input. `bias`: the product of the largest weights so far.
[[nodiscard]] PrintedScaling printed_scaling(double previous, double activation, double bias, double quant);

enum class CodeSign : std::uint8_t { is_signed, is_unsigned };

/// S and U of n bits.
[[nodiscard]] std::int64_t largest_code(int bits, CodeSign sign);
/// `quant` of a layer with weights: S * U_in / U_out.
[[nodiscard]] double quant_factor(int bits, CodeSign input, CodeSign output);

/// An approximation is kept as it is from this share of the scale on; below it, the next larger one is taken and the weights shrink.
inline constexpr double kept_precision = 0.98;

/// 2^-shift for the scale.
struct SingleShift {
  int shift = 0;
  double precision = 1;      ///< p: what stands for the scale, as a share of it
  double weight_factor = 1;  ///< 1/p, or 1 where p is near enough to 1
};
[[nodiscard]] SingleShift single_shift_for(double scale);

/// 2^-first + 2^-second for the scale, first <= second; a power of two is twice its half.
struct DoubleShift {
  int first = 0, second = 0;
  double precision = 1;
  double weight_factor = 1;
};
[[nodiscard]] DoubleShift double_shift_for(double scale);

/// multiplier * 2^-fraction_bits for the scale.
struct FixedMultiplier {
  std::int64_t multiplier = 0;
  int fraction_bits = 0;
};
/// min(floor(log2(limit / largest)), 50), limit = 2^bits - 1, for the largest scale of a layer; the logarithm in double, as there.
[[nodiscard]] int fixed_fraction_bits(int bits, double largest);
/// round half away(scale * 2^fraction_bits).
[[nodiscard]] FixedMultiplier fixed_multiplier_for(double scale, int fraction_bits);

/// As the exporter prints it into the source: six significant digits.
[[nodiscard]] double printed_factor(double scale);

}  // namespace lastbit::n2d2
