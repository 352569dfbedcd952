// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/prove/elementwise.hpp"

#include <algorithm>

#include "engine/broadcast.hpp"
#include "engine/finisher.hpp"
#include "engine/ops/elementwise.hpp"
#include "lastbit/op/add.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

/// What the device makes of a code, less its tensor's zero point, before it adds it: the chain keeps the order of values, or turns it round.
using Scaled = std::function<std::int64_t(std::int64_t)>;

/// The operands where they are added, and what the sum is narrowed to.
struct Operands {
  std::vector<Scaled> scaled;
  AccumulatorRule rule{};
  std::int64_t offset = 0;
};

/// None where the device sums in float, which names no width.
Operands operands_of(const Model& model, const Operation& operation, const Backend& backend) {
  const SumArithmetic* const rule = sum_arithmetic_of(model, operation, backend).second;
  if (rule == nullptr) return {};
  const SumLayer layer = sum_layer_of(model, operation, 0);
  const ResolvedSum sum = resolve(*rule, layer);
  Operands found{.scaled = {}, .rule = rule->accumulator, .offset = sum.offset};
  if (is_order_independent(found.rule)) found.rule.when = NarrowingPoint::at_end;  // what it comes to
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    const std::int64_t own = layer.operands[i].zero_point;
    found.scaled.emplace_back(
        [=, term = sum.terms[i], rules_of = *rule](std::int64_t value) { return value_of(rules_of, term, value + own); });
  }
  return found;
}

/// One input of the operation and where its values meet the output's.
struct Source {
  std::int64_t zero_point = 0;
  IntegerRange values{};
  std::vector<std::int64_t> offsets;
  Constant constant;
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
    const auto terms = static_cast<std::int64_t>(sources.size());
    for (std::int64_t index = 0; index < count.sums; ++index) {
      Int128 sum = operands.offset;
      std::optional<OverflowCount::First> left;
      for (std::int64_t i = 0; i < terms; ++i) {
        const Source& source = sources[static_cast<std::size_t>(i)];
        const Tensor& tensor = inputs[static_cast<std::size_t>(i)] == nullptr ? *source.constant : *inputs[static_cast<std::size_t>(i)];
        const std::int64_t code = tensor.integer_at(source.offsets[static_cast<std::size_t>(index)]);
        sum += operands.scaled[static_cast<std::size_t>(i)](code - source.zero_point);
        const bool narrows = i + 1 == terms || operands.rule.when == NarrowingPoint::every_add;
        if (!narrows || fits_width(sum, bits)) continue;
        if (!left) left = {0, index, i + 1, terms, sum};
        if (operands.rule.overflow != Overflow::exact) sum = narrow(sum, bits, operands.rule.overflow);
      }
      if (!left) continue;
      ++count.overflowing;
      if (!count.first) count.first = left;
    }
    count.events = count.overflowing;
    return count;
  };
}

}  // namespace

std::vector<Sums> elementwise_sums(const Model& model, const Operation& operation, const Backend& backend, const TensorRanges& ranges) {
  const Operands operands = operands_of(model, operation, backend);
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
