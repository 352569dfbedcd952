// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "prove/elementwise.hpp"

#include <algorithm>
#include <cmath>

#include "lastbit/op/add.hpp"

namespace lastbit {
namespace {

/// The operands where they are added, and what the sum is narrowed to.
struct Operands {
  std::vector<IntegerRange> ranges;
  AccumulatorRule rule{.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::at_end};
  std::int64_t offset = 0;
  bool has_width = true;
};

struct Pair {
  IntegerRange a, b;
  std::int64_t a_zero = 0, b_zero = 0;
  double a_scale = 1, b_scale = 1, out_scale = 1;
  bool wide = false;  ///< 16-bit output
};

IntegerRange times(const IntegerRange& range, std::int64_t factor) { return product(range, {factor, factor}); }

/// A function that keeps the order, or turns it round, at both ends.
template <class Function>
IntegerRange mapped(const IntegerRange& range, Function&& function) {
  const std::int64_t a = function(range.min), b = function(range.max);
  return {std::min(a, b), std::max(a, b)};
}

/// An operand through its chain: a scale of at most a half and roundings, which keep the order.
IntegerRange aligned(const AddArithmetic& rule, const IntegerRange& values, double scale, const Pair& pair) {
  const int left_shift = pair.wide ? rule.left_shift_16bit : rule.left_shift_8bit;
  const ScaleEncoding& encoding = rule.operand.scale;
  const double twice_larger = 2.0 * std::max(pair.a_scale, pair.b_scale);
  const RescaleOperands operands{.scale = encode(encoding, effective_scale(encoding.arithmetic, scale, 1.0, twice_larger))};
  return mapped(times(values, std::int64_t{1} << left_shift),
                [&](std::int64_t value) { return finish(rule.operand.chain, narrow_wrap(value, 32), operands); });
}

IntegerRange shifted(const IntegerRange& values, double scale, double out_scale) {
  int exponent = 0;
  static_cast<void>(std::frexp(scale / out_scale, &exponent));
  return mapped(values, [&](std::int64_t value) { return shift_right(value, 1 - exponent, Rounding::half_away); });
}

Operands operands_of(const AddArithmetic& rule, const Pair& pair, bool power_of_two) {
  Operands found;
  if (power_of_two) {
    found.rule = {.bits = 16, .overflow = Overflow::saturate, .when = NarrowingPoint::at_end};
    found.ranges = {shifted(pair.a, pair.a_scale, pair.out_scale), shifted(pair.b, pair.b_scale, pair.out_scale)};
    return found;
  }
  switch (rule.method) {
    case AddMethod::aligned_operands:
      found.ranges = {aligned(rule, pair.a, pair.a_scale, pair), aligned(rule, pair.b, pair.b_scale, pair)};
      return found;
    case AddMethod::convolution_8bit: {
      const ConvolutionAdd add = convolution_add(rule.convolution_bias, pair.a_scale, pair.b_scale, pair.a_zero - pair.b_zero);
      // The zero point of the first input is subtracted from both.
      const IntegerRange b = centred(pair.b, pair.a_zero - pair.b_zero);
      found.ranges = {times(pair.a, add.weight_a), times(b, add.weight_b)};
      found.offset = add.bias;
      return found;
    }
    case AddMethod::common_scale: {
      const bool in_double = rule.output.scale.arithmetic == ScaleArithmetic::f64;
      const CommonScale common = in_double ? common_scale(pair.a_scale, pair.b_scale)
                                           : common_scale(static_cast<float>(pair.a_scale), static_cast<float>(pair.b_scale));
      found.ranges = {times(pair.a, common.multiplier_a), times(pair.b, common.multiplier_b)};
      found.rule.overflow = rule.sum_overflow;
      return found;
    }
    default: return {};  // weighted_sum and float_sum name no width and lose nothing
  }
}

}  // namespace

std::vector<Sums> elementwise_sums(const Model& model, const Operation& operation, const Backend& backend, const TensorRanges& ranges) {
  const AddArithmetic& rule = operation.kind == OperationKind::sub ? backend.sub : backend.add;
  const auto values = [&](std::size_t position) {
    const auto index = operation.inputs[position];
    return centred(ranges[static_cast<std::size_t>(index)], model.tensor(index).quantization.zero_point());
  };
  Operands found;
  if (rule.method == AddMethod::equal_scales && operation.kind != OperationKind::sub) {
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) found.ranges.push_back(values(i));
    found.rule.bits = 64;
  } else {
    const Quantization &a = model.tensor(operation.inputs[0]).quantization, &b = model.tensor(operation.inputs[1]).quantization;
    const ModelTensor& output = model.tensor(operation.outputs[0]);
    const Pair pair{.a = values(0),
                    .b = values(1),
                    .a_zero = a.zero_point(),
                    .b_zero = b.zero_point(),
                    .a_scale = a.scale(),
                    .b_scale = b.scale(),
                    .out_scale = output.quantization.scale(),
                    .wide = size_of(output.type) != 1};
    found = operands_of(rule, pair, std::get<ElementwiseAttributes>(operation.attributes).power_of_two_scales);
  }
  if (found.ranges.empty()) return {};
  if (operation.kind == OperationKind::sub) {
    found.ranges[1] = times(found.ranges[1], -1);
    found.offset = -found.offset;
  }
  std::vector<SumTerm> terms;
  for (std::size_t i = 0; i < found.ranges.size(); ++i) terms.push_back({i, 1});
  Sums sums;
  sums.rule = found.rule;
  sums.inputs = found.ranges;
  sums.each = [terms, offset = SumRange{found.offset, found.offset}](const VisitSum& visit) {
    visit({.terms = terms, .runs = {}, .bias = offset});
  };
  return {sums};
}

}  // namespace lastbit
