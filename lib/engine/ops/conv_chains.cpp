// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/conv_chains.hpp"

#include <algorithm>

#include "engine/operands.hpp"
#include "engine/ops/layer_parts.hpp"

namespace lastbit {

std::vector<std::int64_t> subtracted(const SumArithmetic& rule, const ModelTensor& tensor) {
  return rule.centring == Centring::nothing ? std::vector<std::int64_t>{0} : tensor.quantization.zero_points;
}

std::int64_t largest_value(const SumArithmetic& rule, const ModelTensor& tensor) {
  const IntegerRange range = range_of(tensor.type);
  return rule.centring == Centring::nothing ? std::max(range.max, -range.min) : largest_centred(tensor);
}

OutputBounds output_bounds(const Operation& operation) {
  if (const auto* conv = std::get_if<Conv2dAttributes>(&operation.attributes)) return conv->bounds;
  if (const auto* dense = std::get_if<FullyConnectedAttributes>(&operation.attributes)) return dense->bounds;
  return std::get<MatmulAttributes>(operation.attributes).bounds;
}

bool delivers_accumulators(const ModelTensor& output, const SumArithmetic& sum) {
  const bool unscaled = !output.quantization.present() || output.quantization.per_channel();
  return (output.type == ElementType::int32 && unscaled) || !applies_scale(sum);
}

std::vector<RescaleOperands> chain_operands(const Operation& operation, const RescaleRule& rule, const ModelTensor& input,
                                            const Quantization& weights, const ModelTensor& output, const OutputBounds& bounds) {
  std::vector<double> scales;
  const double out = output.quantization.present() ? output.quantization.scale() : 1;
  for (std::size_t o = 0; o < std::max<std::size_t>(1, weights.scales.size()); ++o)
    scales.push_back(effective_scale(rule, one_operand(input.quantization.scale(), weights.scale(o), out)));
  return layer_operands(operation, rule.scale, scales, output, bounds);
}

std::vector<RescaleOperands> term_operands(const Operation& operation, const SumArithmetic& sum, const ModelTensor& input,
                                           const Quantization& weights, const ModelTensor& output) {
  if (sum.operand.chain.empty()) return {};
  OutputBounds bounds = output_bounds(operation);
  bounds.registers.clear();  // of the output's chain, as the others are
  bounds.below_zero.clear();
  bounds.converter.clear();
  return chain_operands(operation, sum.operand, input, weights, output, bounds);
}

Chain chain_of(const Operation& operation, const SumArithmetic& sum) {
  return output_chain(operation, sum.output.chain, output_bounds(operation));
}

}  // namespace lastbit
