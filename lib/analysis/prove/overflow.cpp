// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/prove/overflow.hpp"

#include <algorithm>

namespace lastbit {
namespace {

/// One sum with the step at which the bound leaves, and to which side.
struct Target {
  Sum sum;
  std::vector<SumTerm> terms;
  std::vector<std::size_t> runs;
  BoundAccumulator::Leaving leaving;
  bool in_partial_sum = false;
};

/// The first sum of the channel that leaves the accumulator; or the first of any with a partial sum that leaves its width.
std::optional<Target> find_target(const Sums& sums, std::int64_t channel, bool in_partial_sum) {
  std::optional<Target> target;
  sums.each([&](const Sum& sum) {
    if (target || (sum.channel != channel && !in_partial_sum)) return;
    const BoundAccumulator total = bound(sums, sum);
    const auto& leaving = in_partial_sum ? total.partial_leaving() : total.leaving();
    if (!leaving) return;
    target = Target{sum, {sum.terms.begin(), sum.terms.end()}, {sum.runs.begin(), sum.runs.end()}, *leaving, in_partial_sum};
  });
  if (target) {
    target->sum.terms = target->terms;
    target->sum.runs = target->runs;
  }
  return target;
}

Int128 bias_of(const Target& target) { return target.leaving.above ? target.sum.bias.upper : target.sum.bias.lower; }

/// The input of every term up to the step at the end of its range, every other as near to 0 as it may be.
std::vector<std::int64_t> extreme_values(const Sums& sums, const Target& target) {
  std::size_t count = sums.values;
  for (const SumTerm& term : target.sum.terms)
    if (term.input != in_padding) count = std::max(count, term.input + 1);
  std::vector<std::int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::clamp<std::int64_t>(0, sums.range_of(i).min, sums.range_of(i).max);
  const auto steps = std::min<std::size_t>(static_cast<std::size_t>(target.leaving.steps), target.sum.terms.size());
  for (const SumTerm& term : target.sum.terms.first(steps)) {
    if (term.input == in_padding) continue;
    const IntegerRange range = sums.range_of(term.input);
    const bool highest = (term.weight * target.sum.multiplier >= 0) == target.leaving.above;
    values[term.input] = highest ? range.max : range.min;
  }
  return values;
}

/// The sums of values that are known: ranges of one value each.
Sums of_values(const Sums& sums, std::vector<IntegerRange> values) {
  Sums known;
  known.rule = sums.rule;
  known.operand = sums.operand;
  known.term_operands = sums.term_operands;
  known.code_zeros = sums.code_zeros;
  known.inputs = std::move(values);
  return known;
}

/// How often the accumulator of the device leaves its width on these values.
std::int64_t overflows_on_device(const Sums& sums, const Sum& sum, std::int64_t bias, std::span<const std::int64_t> values) {
  const TermRule term_of = sums.term_rule(sum.channel);
  const bool at_start = sum.bias_at == BiasAt::accumulator_start;
  Accumulator accumulator(sums.rule, at_start ? bias : 0, sum.group, sum.multiplier);
  walk(
      sum, [&](std::int64_t length) { accumulator.begin_run(length); },
      [&](const SumTerm& term) {
        const std::int64_t value = term.input == in_padding ? 0 : values[term.input];
        accumulator.add(term_of(value * term.weight), term_of.beyond(value, term.weight));
      });
  if (!at_start) accumulator.add_beside(bias);
  static_cast<void>(accumulator.result());
  return accumulator.overflow_count();
}

std::optional<OverflowExample> example_of(const Sums& sums, const Target& target, const Alone& operation) {
  const std::vector<std::int64_t> values = extreme_values(sums, target);
  OverflowExample example{.index = target.leaving.above ? target.sum.highest_bias_index : target.sum.lowest_bias_index,
                          .channel = target.sum.channel,
                          .terms = static_cast<std::int64_t>(target.sum.terms.size()),
                          .in_partial_sum = target.in_partial_sum,
                          .inputs = {}};
  Sum sum = target.sum;
  sum.bias = {bias_of(target), bias_of(target)};
  std::vector<IntegerRange> ranges;
  for (const std::int64_t value : values) ranges.push_back({value, value});
  const BoundAccumulator total = bound(of_values(sums, std::move(ranges)), sum);
  const auto& leaving = target.in_partial_sum ? total.partial_leaving() : total.leaving();
  if (!leaving) return std::nullopt;
  example.step = leaving->steps;
  example.sum = leaving->sum;
  example.overflows = overflows_on_device(sums, sum, static_cast<std::int64_t>(bias_of(target)), values);
  if (example.overflows == 0 && !target.in_partial_sum) return std::nullopt;
  if (!sums.place) return example;
  example.inputs = sums.place(values);
  const Trace trace = run(operation.model, operation.backend, example.inputs, {.count_events = true});
  example.counted = trace.events[0].accumulator_overflows;
  return example;
}

/// Where the sum of one output first leaves its width, on the layer's input.
std::optional<BoundAccumulator::Leaving> leaving_at(const ConvLayer& layer, std::span<const std::int32_t> input, const ConvIndex& at) {
  std::vector<std::size_t> runs;
  std::vector<SumTerm> terms;
  std::vector<IntegerRange> values;
  for (const ConvTerm& term : terms_of(layer, at, &runs)) {
    const std::int64_t value = term.input == in_padding ? 0 : input[term.input];
    terms.push_back({values.size(), layer.weights[term.weight]});
    values.push_back({value, value});
  }
  if (values.empty()) values.push_back({});
  const Int128 bias = bias_at_output(layer.shape, at, layer.bias);
  Sums sums;
  sums.rule = layer.arithmetic.sum.accumulator;
  sums.operand = layer.arithmetic.sum.operand.chain;
  sums.term_operands = layer.term_operands;
  sums.code_zeros = layer.code_zeros;
  sums.inputs = std::move(values);
  return bound(sums, {.channel = at.o,
                      .terms = terms,
                      .runs = runs,
                      .group = layer.shape.group_at(at.x),
                      .multiplier = layer.multiplier(at.o),
                      .bias = {bias, bias},
                      .bias_at = layer.arithmetic.bias})
      .leaving();
}

void count_in_layer(const ConvLayer& layer, const std::vector<bool>& safe, const Tensor& codes, std::int64_t sample, OverflowCount& count) {
  const std::vector<std::int32_t> input = centred_input(layer, codes);
  const std::int64_t outputs = layer.shape.out_count();
  count.sums += outputs;
  for (std::int64_t index = 0; index < outputs; ++index) {
    const ConvIndex at = output_at(layer.shape, index);
    if (safe[static_cast<std::size_t>(at.o)]) continue;
    Accumulator accumulator = accumulate(layer, input, at);
    static_cast<void>(accumulator.result());
    if (accumulator.overflow_count() == 0) continue;
    ++count.overflowing;
    count.events += accumulator.overflow_count();
    if (count.first) continue;
    if (const auto found = leaving_at(layer, input, at))
      count.first = {sample, index, found->steps, static_cast<std::int64_t>(terms_of(layer, at).size()), found->sum};
  }
}

void add(OverflowCount& all, OverflowCount one, std::int64_t sample) {
  all.sums += one.sums;
  all.overflowing += one.overflowing;
  all.events += one.events;
  if (all.first || !one.first) return;
  all.first = one.first;
  all.first->sample = sample;
}

/// Given, or a constant of the model.
const Tensor& first_input(const Alone& operation, std::span<const Tensor* const> inputs) {
  return inputs[0] != nullptr ? *inputs[0] : *operation.model.tensor(operation.model.operations[0].inputs[0]).constant;
}

std::int64_t events_of(const Emulator& emulator, std::span<const Tensor* const> inputs) {
  Events events;
  static_cast<void>(emulator.run_operation(0, inputs, &events));
  return events.accumulator_overflows;
}

}  // namespace

std::vector<Tensor> extreme_input(const Sums& sums, std::int64_t channel, bool upper) {
  if (!sums.place) return {};
  std::optional<Target> target;
  Int128 reached = 0;
  sums.each([&](const Sum& sum) {
    if (sum.channel != channel) return;
    const SumRange result = bound(sums, sum).result();
    const Int128 end = upper ? result.upper : result.lower;
    if (target && (upper ? end <= reached : end >= reached)) return;
    reached = end;
    target = Target{sum, {sum.terms.begin(), sum.terms.end()}, {}, {static_cast<std::int64_t>(sum.terms.size()), upper, end}};
  });
  if (!target) return {};
  target->sum.terms = target->terms;
  return sums.place(extreme_values(sums, *target));
}

std::optional<OverflowExample> overflow_example(const Sums& sums, std::int64_t channel, const Alone& operation) {
  for (const bool in_partial_sum : {false, true}) {
    const auto target = find_target(sums, channel, in_partial_sum);
    if (!target) continue;
    if (auto example = example_of(sums, *target, operation)) return example;
  }
  return std::nullopt;
}

std::optional<OverflowCount> count_overflows(const Sums& sums, const std::vector<bool>& safe, const Alone& operation,
                                             std::span<const std::vector<const Tensor*>> samples) {
  const bool followed = sums.layer != nullptr || sums.count != nullptr;
  if (!followed && sums.rule_path.empty()) return std::nullopt;
  OverflowCount count;
  std::optional<Emulator> emulator;
  if (!followed) emulator.emplace(operation.model, operation.backend);
  for (std::size_t sample = 0; sample < samples.size(); ++sample) {
    const auto number = static_cast<std::int64_t>(sample);
    if (sums.layer) count_in_layer(*sums.layer, safe, first_input(operation, samples[sample]), number, count);
    else if (sums.count) add(count, sums.count(samples[sample], sums.rule.bits), number);
    else count.events += events_of(*emulator, samples[sample]);
  }
  return count;
}

}  // namespace lastbit
