// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "lastbit/op/add.hpp"

namespace lastbit {
namespace {

template <class Real>
std::int64_t centring_offset(const SumArithmetic& rule, const SumLayer& layer, const SumLayer::Operand& operand, double unit) {
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

bool centres_on_first(const SumArithmetic& rule) {
  return rule.centring == Centring::first_zero_point_product_rounded || rule.centring == Centring::first_zero_point_factor_rounded;
}

std::int64_t zero_point_of(const SumArithmetic& rule, const SumLayer& layer, const SumLayer::Operand& operand) {
  if (rule.centring == Centring::nothing) return 0;
  return centres_on_first(rule) ? layer.operands.front().zero_point : operand.zero_point;
}

}  // namespace

ResolvedSum resolve(const SumArithmetic& rule, const SumLayer& layer) {
  LayerQuantities quantities{.in = layer.operands.front().scale, .out = layer.out_scale, .count = layer.count};
  quantities.first_in = quantities.larger_in = quantities.in;
  for (const SumLayer::Operand& operand : layer.operands) quantities.larger_in = std::max(quantities.larger_in, operand.scale);
  std::vector<double> scales;
  for (const SumLayer::Operand& operand : layer.operands) {
    quantities.in = operand.scale;
    scales.push_back(effective_scale(rule.operand, quantities));
  }
  const EncodedTogether encoded = encode_together(rule.operand.scale, scales);
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

std::int64_t sum_of(const SumArithmetic& rule, const ResolvedSum& sum, std::span<const std::int64_t> codes) {
  Accumulator accumulator(rule.accumulator, sum.offset);
  for (std::size_t i = 0; i < codes.size(); ++i) accumulator.add(value_of(rule, sum.terms[i], codes[i]));
  return accumulator.result();
}

FloatSum float_sum_of(float scale_a, float scale_b, float scale_out, float zero_a, float zero_b, float zero_out) noexcept {
  const float ratio_a = scale_a / scale_out, ratio_b = scale_b / scale_out;
  const float product_b = ratio_b * zero_b;  // rounded by itself: compiled without contraction
  return {ratio_a, ratio_b, zero_out - std::fma(ratio_a, zero_a, product_b)};
}

}  // namespace lastbit
