// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Element-wise sums of quantised tensors: add, sub, add_n. Contract, for one output and the codes q1, q2, … that meet there:
//   1. each code less its zero point by the rule's `centring`;
//   2. through the `operand` chain with the operand's scale, the scales of all operands encoded together (multiplier.hpp); sub negates the
//      result of every operand but the first;
//   3. summed in the operands' order in the width and by the overflow rule of `accumulator`, beginning with the offset that centring leaves:
//      of operand i the integer half_away((zero1 - zeroi) * ini / (unit * in1)), or (zero1 - zeroi) * half_away(ini / (unit * in1)), both in
//      the arithmetic of the operands' encoding;
//   4. through the `output` chain, zero point and bounds included. An int32 output without a scale takes the sum of step 3 as it is.
// in_float: 1. c = float(zero_out - fma(ra, zero_a, float(rb * zero_b))), ra = float(in_a / out), rb likewise;
//           2. fma(qa, ra, fma(qb, rb, c)), one rounding to an integer; 3. bounds. sub negates in_b.
// in_float, dequantized: 1. va = fma(in_a, qa, float(in_a * -zero_a)), vb likewise, s = float(va + vb), sub: float(va - vb); 2. float(s * float(1 /
//           out)), one rounding to an integer; 3. + zero point; bounds.
// Shapes: add, sub: two inputs, broadcast to the output as numpy does; add_n, sub of more than two: every input has the output's shape.
// Units: codes of one type, each input and the output with a scale of its own (add_n: also one per index of the last axis, zero point 0).
// Errors: shape_mismatch; unsupported_operation where the output chain is empty, where the operand chain is and quantisations differ, where a
//   scale has no encoding, where a sum of more than 32 bits would go out as int32, and for in_float of more than two inputs.
// Sources: TFLite reference_integer_ops/add.h (operands shifted left, rescaled to twice the larger scale); XNNPACK qs8-vadd (weights of one
// exponent); Mesa etnaviv, traces of VeriSilicon's driver (a convolution with two 8-bit weights); Horizon's compiler front end (one unit for
// both operands); N2D2 Scaling.hpp (codes of one quantisation); ONNX Runtime MLAS qladd (in_float); PyTorch's native quantised add (dequantized).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "lastbit/arith/accumulator.hpp"
#include "lastbit/backend.hpp"

namespace lastbit {

/// What a layer brings to a sum: the scales and zero points of its operands, and its output's scale.
struct SumLayer {
  /// A tensor that is added.
  struct Operand {
    double scale = 1;
    std::int64_t zero_point = 0;
    std::int64_t sign = 1;  ///< -1: subtracted
  };
  std::vector<Operand> operands;
  double out_scale = 1;
  std::int64_t count = 1;  ///< of the values summed, for averages
};

/// The rule with the layer's numbers: what executors compute, proofs bound and formulas state.
struct ResolvedSum {
  /// A code that is added, and how it is brought to the sum.
  struct Term {
    std::int64_t zero_point = 0;  ///< subtracted from the code
    std::int64_t sign = 1;
    RescaleOperands rescale{};
  };
  std::vector<Term> terms;
  std::int64_t offset = 0;
  double output_scale = 1;  ///< what the output chain's encoding takes
};

/// What centring leaves of an operand, in units of the sum.
template <class Real>
[[nodiscard]] constexpr std::int64_t centring_offset(const SumArithmetic& rule, const SumLayer& layer, const SumLayer::Operand& operand,
                                                     double unit) {
  const SumLayer::Operand& first = layer.operands.front();
  const std::int64_t difference = first.zero_point - operand.zero_point;
  const Real unit_scale = static_cast<Real>(unit) * static_cast<Real>(first.scale);
  const auto in_units = [=](Real scale) {
    return round_to_integer(static_cast<double>(scale) / static_cast<double>(unit_scale), Rounding::half_away);
  };
  const auto scale = static_cast<Real>(operand.scale);
  if (rule.centring == Centring::first_zero_point_factor_rounded) return difference * in_units(scale);
  return in_units(static_cast<Real>(difference) * scale);
}

[[nodiscard]] constexpr bool centres_on_first(const SumArithmetic& rule) {
  return rule.centring == Centring::first_zero_point_product_rounded || rule.centring == Centring::first_zero_point_factor_rounded;
}

[[nodiscard]] constexpr std::int64_t zero_point_of(const SumArithmetic& rule, const SumLayer& layer, const SumLayer::Operand& operand) {
  if (rule.centring == Centring::nothing) return 0;
  return centres_on_first(rule) ? layer.operands.front().zero_point : operand.zero_point;
}

[[nodiscard]] constexpr ResolvedSum resolve(const SumArithmetic& rule, const SumLayer& layer) {
  LayerQuantities quantities{.in = layer.operands.front().scale, .out = layer.out_scale, .count = layer.count};
  quantities.first_in = quantities.larger_in = quantities.in;
  for (const SumLayer::Operand& operand : layer.operands) quantities.larger_in = std::max(quantities.larger_in, operand.scale);
  std::vector<double> scales;
  for (const SumLayer::Operand& operand : layer.operands) {
    quantities.in = operand.scale;
    scales.push_back(effective_scale(rule.operand, quantities));
  }
  EncodedTogether encoded = encode_together(rule.operand.scale, scales);
  ResolvedSum sum;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const SumLayer::Operand& operand = layer.operands[i];
    sum.terms.push_back({zero_point_of(rule, layer, operand), operand.sign, {.scale = encoded.scales[i]}});
    if (!centres_on_first(rule)) continue;
    sum.offset += operand.sign * (is_in_double(rule.operand.scale.arithmetic) ? centring_offset<double>(rule, layer, operand, encoded.unit)
                                                                              : centring_offset<float>(rule, layer, operand, encoded.unit));
  }
  quantities.in = quantities.first_in;
  quantities.unit = encoded.unit;
  sum.output_scale = effective_scale(rule.output, quantities);
  return sum;
}

/// Steps 1 and 2: what one operand adds to the sum.
[[nodiscard]] constexpr std::int64_t value_of(const SumArithmetic& rule, const ResolvedSum::Term& term, std::int64_t code) {
  return narrow_saturate(Int128{term.sign} * finish(rule.operand.chain, code - term.zero_point, term.rescale), 64);
}

/// Steps 1 to 3.
[[nodiscard]] constexpr std::int64_t sum_of(const SumArithmetic& rule, const ResolvedSum& sum, std::span<const std::int64_t> codes) {
  Accumulator accumulator(rule.accumulator, sum.offset);
  for (std::size_t i = 0; i < codes.size(); ++i) accumulator.add(value_of(rule, sum.terms[i], codes[i]));
  return accumulator.result();
}

/// Constants of a sum in float32.
struct FloatSum {
  float ratio_a, ratio_b, fixed;
};

/// Step 1 of in_float.
[[nodiscard]] inline FloatSum float_sum_of(float scale_a, float scale_b, float scale_out, float zero_a, float zero_b,
                                           float zero_out) noexcept {
  const float ratio_a = scale_a / scale_out, ratio_b = scale_b / scale_out;
  const float product_b = ratio_b * zero_b;  // rounded by itself: compiled without contraction
  return {ratio_a, ratio_b, zero_out - std::fma(ratio_a, zero_a, product_b)};
}

}  // namespace lastbit
