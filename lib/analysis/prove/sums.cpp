// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/prove/sums.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "analysis/prove/ranges.hpp"

namespace lastbit {
namespace {

/// Outputs that add the same taps in the same order and by the same rule.
struct OutputClass {
  ConvIndex first;
  std::size_t group = 1;
  std::vector<ConvTerm> terms;  ///< of output channel 0
  std::vector<std::size_t> runs;
  std::vector<ConvIndex> positions;  ///< all of them
};

/// Which taps a position has does not depend on the channels: one channel per group tells.
ConvLayer taps_only(const ConvLayer& layer) {
  ConvLayer taps{.shape = layer.shape,
                 .direction = layer.direction,
                 .arithmetic = {},
                 .weights = {},
                 .bias = {},
                 .multipliers = {},
                 .operands = {},
                 .zero_points = {}};
  taps.shape.in_channels = taps.shape.groups;
  return taps;
}

std::vector<OutputClass> output_classes(const ConvLayer& layer) {
  const ConvLayer taps = taps_only(layer);
  std::map<std::vector<std::size_t>, std::size_t> known;
  std::vector<OutputClass> classes;
  for (std::int64_t y = 0; y < layer.shape.out_height; ++y) {
    for (std::int64_t x = 0; x < layer.shape.out_width; ++x) {
      const ConvIndex at{0, y, x, 0};
      std::vector<std::size_t> key{layer.shape.group_at(x)};
      for (const ConvTerm& term : terms_of(taps, at)) key.push_back(term.weight);
      const auto [found, is_new] = known.emplace(std::move(key), classes.size());
      if (is_new) {
        OutputClass& added = classes.emplace_back(OutputClass{at, layer.shape.group_at(x), {}, {}, {}});
        added.terms = terms_of(layer, at, &added.runs);
      }
      classes[found->second].positions.push_back(at);
    }
  }
  return classes;
}

std::int64_t index_of(const ConvShape& shape, const ConvIndex& at) {
  return ((at.n * shape.out_height + at.y) * shape.out_width + at.x) * shape.out_channels + at.o;
}

/// The biases of the outputs of a class in one channel, and where the lowest and the highest are.
void add_bias(const ConvLayer& layer, const OutputClass& outputs, Sum& sum) {
  bool first = true;
  for (ConvIndex at : outputs.positions) {
    at.o = sum.channel;
    const Int128 bias = bias_at_output(layer.shape, at, layer.bias);
    const std::int64_t index = index_of(layer.shape, at);
    if (first || bias < sum.bias.lower) {
      sum.bias.lower = bias;
      sum.lowest_bias_index = index;
    }
    if (first || bias > sum.bias.upper) {
      sum.bias.upper = bias;
      sum.highest_bias_index = index;
    }
    first = false;
    if (layer.bias.size() <= static_cast<std::size_t>(layer.shape.out_channels)) break;
  }
}

/// What cross terms add, by itself: the data of the window within its ranges.
SumRange range_of(const DataTerm& term, std::span<const SumTerm> terms, const std::vector<IntegerRange>& inputs) {
  std::int64_t low = 0, high = 0;
  for (const SumTerm& each : terms) low += inputs[each.input % inputs.size()].min, high += inputs[each.input % inputs.size()].max;
  const auto [least, most] = std::minmax({term(low), term(high)});
  return {least, most};
}

void each_sum(const ConvLayer& layer, const std::vector<OutputClass>& classes, const std::vector<IntegerRange>& inputs,
              const VisitSum& visit) {
  const auto per_channel = static_cast<std::size_t>(layer.shape.taps());
  const std::int64_t outputs_per_group = layer.shape.out_channels / layer.shape.groups;
  std::vector<SumTerm> terms;
  for (std::int64_t o = 0; o < layer.shape.out_channels; ++o) {
    const auto first_weight = static_cast<std::size_t>(o) * per_channel;
    const auto first_input = static_cast<std::size_t>(o / outputs_per_group * layer.shape.group_channels());
    for (const OutputClass& outputs : classes) {
      terms.clear();
      for (const ConvTerm& term : outputs.terms)
        terms.push_back({term.input == in_padding ? in_padding : term.input + first_input, layer.weights[term.weight + first_weight]});
      Sum sum{.channel = o,
              .terms = terms,
              .runs = outputs.runs,
              .group = outputs.group,
              .multiplier = layer.multiplier(o),
              .bias = {},
              .bias_at = layer.arithmetic.bias};
      add_bias(layer, outputs, sum);
      if (layer.data_term) {
        const SumRange added = range_of(*layer.data_term, terms, inputs);
        sum.bias.lower += added.lower, sum.bias.upper += added.upper;
      }
      sum.index = sum.lowest_bias_index;
      visit(sum);
    }
  }
}

}  // namespace

Sums sums_of_layer(ConvLayer layer, std::vector<IntegerRange> inputs, std::string rule_path) {
  Sums sums;
  sums.rule = layer.arithmetic.sum.accumulator;
  sums.operand = layer.arithmetic.sum.operand.chain;
  sums.term_operands = layer.term_operands;
  sums.code_zeros = layer.code_zeros;
  sums.rule_path = std::move(rule_path);
  sums.channels = layer.shape.out_channels;
  sums.inputs = std::move(inputs);
  sums.layer = std::make_shared<ConvLayer>(std::move(layer));
  const auto classes = std::make_shared<const std::vector<OutputClass>>(output_classes(*sums.layer));
  sums.each = [layer = sums.layer, classes, ranges = sums.inputs](const VisitSum& visit) { each_sum(*layer, *classes, ranges, visit); };
  return sums;
}

namespace {

SumRange through(const TermRule& term_of, const SumRange& products) {
  if (term_of.chain == nullptr) return products;
  const IntegerRange range{narrow_saturate(products.lower, 64), narrow_saturate(products.upper, 64)};
  const IntegerRange term = range_of_term(*term_of.chain, range, *term_of.operands);
  return {term.min, term.max};
}

}  // namespace

BoundAccumulator bound(const Sums& sums, const Sum& sum) {
  const bool at_start = sum.bias_at == BiasAt::accumulator_start;
  const TermRule term_of = sums.term_rule(sum.channel);
  BoundAccumulator total(sums.rule, at_start ? sum.bias : SumRange{}, sum.group, sum.multiplier);
  walk(
      sum, [&](std::int64_t length) { total.begin_run(length); },
      [&](const SumTerm& term) {
        const IntegerRange range = sums.range_of(term.input);
        const SumRange input{range.min, range.max};
        const Int128 beyond = term_of.beyond(0, term.weight);
        total.add(through(term_of, input * term.weight), SumRange{beyond, beyond} + input * term_of.weight_zero + sums.beyond);
      });
  if (!at_start) total.add_beside(sum.bias);
  total.finish();
  return total;
}

IntegerRange product(const IntegerRange& a, const IntegerRange& b) {
  const auto corners = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
  return {std::min(corners), std::max(corners)};
}

IntegerRange centred(const IntegerRange& codes, std::int64_t zero_point) { return {codes.min - zero_point, codes.max - zero_point}; }

}  // namespace lastbit
