// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/prove/elementwise.hpp"

#include <algorithm>
#include <cmath>

#include "engine/broadcast.hpp"
#include "engine/finisher.hpp"
#include "lastbit/op/add.hpp"

namespace lastbit {
namespace {

/// What the device makes of a value before it adds it: it keeps the order of values, or turns it round.
using Scaled = std::function<std::int64_t(std::int64_t)>;

/// The operands where they are added, and what the sum is narrowed to.
struct Operands {
  std::vector<Scaled> scaled;
  AccumulatorRule rule{.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::at_end};
  std::int64_t offset = 0;
};

struct Pair {
  std::int64_t a_zero = 0, b_zero = 0;
  double a_scale = 1, b_scale = 1, out_scale = 1;
  bool wide = false;  ///< 16-bit output
};

Scaled times(std::int64_t factor) {
  return [factor](std::int64_t value) { return value * factor; };
}

/// An operand through its chain: a scale of at most a half and roundings, which keep the order.
Scaled aligned(const AddArithmetic& rule, double scale, const Pair& pair) {
  const std::int64_t factor = std::int64_t{1} << (pair.wide ? rule.left_shift_16bit : rule.left_shift_8bit);
  const ScaleEncoding& encoding = rule.operand.scale;
  const double twice_larger = 2.0 * std::max(pair.a_scale, pair.b_scale);
  const RescaleOperands operands{.scale = encode(encoding, effective_scale(encoding.arithmetic, scale, 1.0, twice_larger))};
  return [=, chain = rule.operand.chain](std::int64_t value) { return finish(chain, narrow_wrap(value * factor, 32), operands); };
}

Scaled shifted(double scale, double out_scale) {
  int exponent = 0;
  static_cast<void>(std::frexp(scale / out_scale, &exponent));
  return [places = 1 - exponent](std::int64_t value) { return shift_right(value, places, Rounding::half_away); };
}

Operands operands_of(const AddArithmetic& rule, const Pair& pair, bool power_of_two) {
  Operands found;
  if (power_of_two) {
    found.rule = {.bits = 16, .overflow = Overflow::saturate, .when = NarrowingPoint::at_end};
    found.scaled = {shifted(pair.a_scale, pair.out_scale), shifted(pair.b_scale, pair.out_scale)};
    return found;
  }
  switch (rule.method) {
    case AddMethod::aligned_operands: found.scaled = {aligned(rule, pair.a_scale, pair), aligned(rule, pair.b_scale, pair)}; return found;
    case AddMethod::convolution_8bit: {
      const std::int64_t difference = pair.a_zero - pair.b_zero;
      const ConvolutionAdd add = convolution_add(rule.convolution_bias, pair.a_scale, pair.b_scale, difference);
      // The zero point of the first input is subtracted from both.
      found.scaled = {times(add.weight_a), [=](std::int64_t value) { return (value - difference) * add.weight_b; }};
      found.offset = add.bias;
      return found;
    }
    case AddMethod::common_scale: {
      const bool in_double = rule.output.scale.arithmetic == ScaleArithmetic::f64;
      const CommonScale common = in_double ? common_scale(pair.a_scale, pair.b_scale)
                                           : common_scale(static_cast<float>(pair.a_scale), static_cast<float>(pair.b_scale));
      found.scaled = {times(common.multiplier_a), times(common.multiplier_b)};
      found.rule.overflow = rule.sum_overflow;
      return found;
    }
    default: return {};  // weighted_sum and float_sum name no width and lose nothing
  }
}

Operands operands_of(const Model& model, const Operation& operation, const AddArithmetic& rule) {
  if (rule.method == AddMethod::equal_scales && operation.kind != OperationKind::sub) {
    Operands found{.scaled = std::vector<Scaled>(operation.inputs.size(), times(1))};
    found.rule.bits = 64;
    return found;
  }
  const Quantization &a = model.tensor(operation.inputs[0]).quantization, &b = model.tensor(operation.inputs[1]).quantization;
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const Pair pair{.a_zero = a.zero_point(),
                  .b_zero = b.zero_point(),
                  .a_scale = a.scale(),
                  .b_scale = b.scale(),
                  .out_scale = output.quantization.scale(),
                  .wide = size_of(output.type) != 1};
  Operands found = operands_of(rule, pair, std::get<ElementwiseAttributes>(operation.attributes).power_of_two_scales);
  if (operation.kind != OperationKind::sub || found.scaled.empty()) return found;
  found.scaled[1] = [plus = found.scaled[1]](std::int64_t value) { return -plus(value); };
  found.offset = -found.offset;
  return found;
}

/// One input of the operation and where its values meet the output's.
struct Source {
  std::int64_t zero_point = 0;
  IntegerRange values{};
  std::vector<std::int64_t> offsets;
  std::optional<Tensor> constant;
  ElementType type = ElementType::int8;
  Shape shape;
};

std::vector<Source> sources_of(const Model& model, const Operation& operation, const TensorRanges& ranges) {
  std::vector<Source> sources;
  for (const std::int32_t index : operation.inputs) {
    const ModelTensor& tensor = model.tensor(index);
    const std::int64_t zero = tensor.quantization.zero_point();
    sources.push_back({zero, centred(ranges[static_cast<std::size_t>(index)], zero),
                       broadcast_offsets(tensor.shape, model.tensor(operation.outputs[0]).shape), tensor.constant, tensor.type,
                       tensor.shape});
  }
  return sources;
}

/// Whether the inputs can be chosen one by one: none is a constant, none stands twice.
bool are_free(const Model& model, const Operation& operation) {
  for (const std::int32_t index : operation.inputs) {
    if (model.tensor(index).constant || std::ranges::count(operation.inputs, index) > 1) return false;
  }
  return true;
}

/// The inputs all of whose values are scaled to the ones given.
std::function<std::vector<Tensor>(std::span<const std::int64_t>)> place_of(const std::vector<Source>& sources, const Operands& operands) {
  return [=](std::span<const std::int64_t> scaled) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Source& source = sources[i];
      const bool is_lowest = operands.scaled[i](source.values.min) == scaled[i];
      const std::int64_t code = (is_lowest ? source.values.min : source.values.max) + source.zero_point;
      const std::vector<std::int64_t> codes(static_cast<std::size_t>(source.shape.element_count()), code);
      store(codes, inputs.emplace_back(source.type, source.shape));
    }
    return inputs;
  };
}

std::function<OverflowCount(std::span<const Tensor* const>, int)> count_of(const std::vector<Source>& sources, const Operands& operands) {
  return [=](std::span<const Tensor* const> inputs, int bits) {
    OverflowCount count;
    count.sums = static_cast<std::int64_t>(sources[0].offsets.size());
    for (std::int64_t index = 0; index < count.sums; ++index) {
      Int128 sum = operands.offset;
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const Tensor& tensor = inputs[i] == nullptr ? *sources[i].constant : *inputs[i];
        sum += operands.scaled[i](tensor.integer_at(sources[i].offsets[static_cast<std::size_t>(index)]) - sources[i].zero_point);
      }
      if (fits_width(sum, bits)) continue;
      ++count.overflowing;
      const auto terms = static_cast<std::int64_t>(sources.size());
      if (!count.first) count.first = {0, index, terms, terms, sum};
    }
    count.events = count.overflowing;
    return count;
  };
}

}  // namespace

std::vector<Sums> elementwise_sums(const Model& model, const Operation& operation, const Backend& backend, const TensorRanges& ranges) {
  const Operands operands = operands_of(model, operation, operation.kind == OperationKind::sub ? backend.sub : backend.add);
  if (operands.scaled.empty()) return {};
  const std::vector<Source> sources = sources_of(model, operation, ranges);
  std::vector<SumTerm> terms;
  Sums sums;
  sums.rule = operands.rule;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    terms.push_back({i, 1});
    const std::int64_t low = operands.scaled[i](sources[i].values.min), high = operands.scaled[i](sources[i].values.max);
    sums.inputs.push_back({std::min(low, high), std::max(low, high)});
  }
  sums.each = [terms, offset = SumRange{operands.offset, operands.offset}](const VisitSum& visit) {
    visit({.terms = terms, .runs = {}, .bias = offset});
  };
  if (are_free(model, operation)) sums.place = place_of(sources, operands);
  sums.values = sources.size();
  sums.count = count_of(sources, operands);
  return {sums};
}

}  // namespace lastbit
