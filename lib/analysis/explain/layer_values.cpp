// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/explain/layer_values.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "engine/converted_input.hpp"
#include "engine/held_codes.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

/// Sign and magnitude as a number: -0 and +0 are 0.
template <class Bits>
std::int64_t place_among_numbers(Bits bits) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
  const auto magnitude = static_cast<std::int64_t>(static_cast<Bits>(bits & static_cast<Bits>(~sign)));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

template <class T>
std::int64_t code_of(T value) {
  if constexpr (std::is_same_v<T, float>) return place_among_numbers(std::bit_cast<std::uint32_t>(value));
  else if constexpr (std::is_same_v<T, double>) return place_among_numbers(std::bit_cast<std::uint64_t>(value));
  else if constexpr (std::is_same_v<T, Float16>) return place_among_numbers(value.bits);
  else return static_cast<std::int64_t>(value);
}

bool has_rules(const Backend& backend) { return backend.domain == Domain::integer; }

std::string rule_text(const AccumulatorRule& rule) { return std::to_string(rule.bits) + " bits, " + std::string(name_of(rule.overflow)); }

/// The first term after which the sum had left its width.
std::optional<AccumulatorEvent> first_event(const ConvLayer& layer, std::span<const std::int32_t> input, const ConvIndex& at) {
  std::vector<std::size_t> runs;
  const std::vector<ConvTerm> terms = terms_of(layer, at, &runs);
  const std::int64_t bias = bias_at_output(layer.shape, at, layer.bias);
  const bool starts = layer.arithmetic.bias == BiasAt::accumulator_start;
  const AccumulatorRule& rule = layer.arithmetic.sum.accumulator;
  const TermRule term_of = layer.term_rule(at.o);
  Accumulator sum(rule, starts ? bias : 0, layer.shape.group_at(at.x), layer.multiplier(at.o));
  AccumulatorEvent event{0, static_cast<std::int64_t>(terms.size()), rule_text(rule)};
  std::size_t run = 0;
  for (std::size_t t = 0; t < terms.size() && sum.overflow_count() == 0; ++t) {
    if (run < runs.size() && runs[run] == t) {
      ++run;
      sum.begin_run(static_cast<std::int64_t>((run < runs.size() ? runs[run] : terms.size()) - t));
    }
    const std::int64_t weight = layer.weights[terms[t].weight];
    const std::int64_t value = terms[t].input == in_padding ? 0 : input[terms[t].input];
    sum.add(term_of(value * weight), term_of.beyond(value, weight));
    event.term = static_cast<std::int64_t>(t) + 1;
  }
  if (sum.overflow_count() == 0 && !starts) sum.add_beside(bias);
  if (sum.overflow_count() == 0) (void)sum.result();
  return sum.overflow_count() > 0 ? std::optional(event) : std::nullopt;
}

bool holds_value(const std::vector<StageStep>& steps, double real) {
  return std::any_of(steps.begin(), steps.end(), [&](const StageStep& step) { return step.real == real; });
}

/// The first step of `one` whose value `other` never holds.
const StageStep* first_of_its_own(const ValueTrace& one, const ValueTrace& other) {
  const auto own = std::find_if(one.steps.begin(), one.steps.end(), [&](const StageStep& step) {
    return step.real != static_cast<double>(other.accumulator) && !holds_value(other.steps, step.real);
  });
  return own == one.steps.end() ? nullptr : &*own;
}

std::string parting(const ValueTrace& a, const ValueTrace& b) {
  if (a.accumulator != b.accumulator) return "accumulator";
  for (const StageStep* step : {first_of_its_own(a, b), first_of_its_own(b, a)}) {
    if (step != nullptr) return step->stage;
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> codes_of(const Tensor& tensor) {
  std::vector<std::int64_t> codes(static_cast<std::size_t>(tensor.element_count()));
  visit_element_type(tensor.type(), [&]<class T>() { std::ranges::transform(tensor.values<T>(), codes.begin(), code_of<T>); });
  return codes;
}

std::int64_t code_at(const Tensor& tensor, std::int64_t index) {
  return visit_element_type(tensor.type(), [&]<class T>() { return code_of(tensor.values<T>()[static_cast<std::size_t>(index)]); });
}

std::vector<std::int64_t> differing_places(const Tensor& a, const Tensor& b) {
  LASTBIT_ASSERT(a.type() == b.type() && a.element_count() == b.element_count());
  std::vector<std::int64_t> places;
  if (std::ranges::equal(a.bytes(), b.bytes())) return places;
  visit_element_type(a.type(), [&]<class T>() {
    const std::span<const T> of_a = a.values<T>(), of_b = b.values<T>();
    for (std::size_t i = 0; i < of_a.size(); ++i)
      if (code_of(of_a[i]) != code_of(of_b[i])) places.push_back(static_cast<std::int64_t>(i));
  });
  return places;
}

Tensor layer_output(const Model& layer, const Backend& backend, std::span<const Tensor> inputs) {
  if (!has_rules(backend)) {
    throw Error(ErrorCode::bad_input, "explain",
                "a backend of real numbers has no rules that could make a difference; compare shows how far");
  }
  Trace trace = run(layer, backend, inputs);
  return std::move(*trace.tensors[static_cast<std::size_t>(layer.outputs[0])]);
}

std::vector<std::int64_t> layer_codes(const Model& layer, const Backend& backend, std::span<const Tensor> inputs) {
  return codes_of(layer_output(layer, backend, inputs));
}

std::vector<RuleEvidence> evidence_of(const SpecSheet& sheet, std::span<const std::string> paths) {
  std::vector<RuleEvidence> evidence;
  const std::vector<RuleText> rules = list_rules(sheet.backend);
  const auto add = [&](const std::string& rule, const Evidence* entry) {
    const auto level = entry == nullptr ? EvidenceLevel::assumption : entry->level;
    RuleEvidence one{rule, sheet.name, std::string(name_of(level)), entry == nullptr ? "no evidence given" : entry->source};
    if (std::ranges::find(evidence, one) == evidence.end()) evidence.push_back(std::move(one));
  };
  for (const std::string& path : paths) {
    std::vector<std::pair<const RuleText*, const Evidence*>> below;
    for (const RuleText& rule : rules)
      if (covers(path, rule.path)) below.emplace_back(&rule, evidence_for(sheet, rule.path));
    if (below.empty()) continue;
    const bool alike = std::ranges::all_of(below, [&](const auto& each) { return each.second == below.front().second; });
    if (alike) add(path, below.front().second);
    else
      for (const auto& [rule, entry] : below) add(rule->path, entry);
  }
  return evidence;
}

namespace {

/// As the backend holds it; nothing where sums are delivered as they are.
std::optional<ConvLayer> traced_layer(const Model& held, const Backend& backend) {
  ConvLayer conv = conv_layer(held, held.operations[0], backend);
  return conv.delivers_sums() ? std::nullopt : std::optional(std::move(conv));
}

}  // namespace

std::optional<ValueTracer> ValueTracer::make(const Model& layer, const Backend& backend, std::span<const Tensor> inputs) {
  const Operation& operation = layer.operations.at(0);
  const std::int32_t input = operation.inputs.at(0);
  if (!is_conv_layer(operation.kind) || !is_integer(layer.tensor(input).type) || inputs.empty() || !has_rules(backend)) return std::nullopt;
  const std::optional<Model> merged = with_merged_pairs(layer, backend.fusion);
  const Model& held = merged ? *merged : layer;
  std::optional<ConvLayer> conv = traced_layer(held, backend);
  if (!conv) return std::nullopt;
  const std::optional<Tensor> codes = converted_input(layer, held, backend, input, inputs[0]);
  auto centred = std::make_shared<const std::vector<std::int32_t>>(centred_input(*conv, codes ? *codes : inputs[0]));
  return ValueTracer(std::move(*conv), std::move(centred));
}

std::optional<ValueTracer> ValueTracer::on(const Model& layer, const Backend& backend, std::span<const Tensor> inputs) const {
  if (!has_rules(backend)) return std::nullopt;
  const std::optional<Model> merged = with_merged_pairs(layer, backend.fusion);
  std::optional<ConvLayer> conv = traced_layer(merged ? *merged : layer, backend);
  if (!conv) return std::nullopt;
  if (conv->zero_points != layer_.zero_points) return make(layer, backend, inputs);
  return ValueTracer(std::move(*conv), input_);
}

std::pair<std::span<const std::int32_t>, ConvIndex> ValueTracer::place(std::int64_t index) const {
  const ConvShape& shape = layer_.shape;
  const std::int64_t outputs = shape.out_count(), sample = index / outputs;
  const auto size = static_cast<std::size_t>(shape.batch * shape.in_height * shape.in_width * shape.in_channels);
  return {std::span(*input_).subspan(static_cast<std::size_t>(sample) * size, size), output_at(shape, index % outputs)};
}

std::int64_t ValueTracer::output(std::int64_t index) const {
  const auto [input, at] = place(index);
  return finish(layer_.arithmetic.sum.output.chain, accumulate(layer_, input, at).result(), layer_.operands_of(at.o));
}

ValueTrace ValueTracer::trace(std::int64_t index) const {
  const auto [input, at] = place(index);
  const std::int64_t sum = accumulate(layer_, input, at).result();
  const Chain& chain = layer_.arithmetic.sum.output.chain;
  return {sum, first_event(layer_, input, at), trace_stages(chain, sum, layer_.operands_of(at.o)),
          finish(chain, sum, layer_.operands_of(at.o))};
}

std::optional<Staircase> ValueTracer::stairs(std::int64_t index, const IntegerRange& accumulators) const {
  return staircase(layer_.arithmetic.sum.output.chain, layer_.operands_of(place(index).second.o), accumulators);
}

bool ValueTracer::rounds_a_tie(std::int64_t index) const {
  const auto [input, at] = place(index);
  const auto steps = trace_stages(layer_.arithmetic.sum.output.chain, accumulate(layer_, input, at).result(), layer_.operands_of(at.o));
  return std::any_of(steps.begin(), steps.end(), [](const StageStep& step) { return step.tie; });
}

namespace {

/// Around a's accumulator, until either side has a few steps; one that saturates, or gives one value only, has none.
void add_stairs(SideBySide& both, const ValueTracer& of_a, const ValueTracer& of_b) {
  constexpr std::size_t enough = 5;
  constexpr std::int64_t furthest = std::int64_t{1} << 40;
  const std::int64_t apart = std::abs(both.b.accumulator - both.a.accumulator);
  for (std::int64_t reach = 4; reach <= furthest; reach *= 2) {
    const IntegerRange around{both.a.accumulator - reach, both.a.accumulator + reach};
    both.stairs_a = of_a.stairs(both.index, around);
    both.stairs_b = of_b.stairs(both.index, around);
    if (!both.stairs_a || !both.stairs_b) return;
    if (reach > apart && std::max(both.stairs_a->steps.size(), both.stairs_b->steps.size()) >= enough) return;
  }
}

}  // namespace

SideBySide side_by_side(const ValueTracer& of_a, const ValueTracer& of_b, std::int64_t index) {
  SideBySide both{index, of_a.trace(index), of_b.trace(index), {}};
  both.parts_at = parting(both.a, both.b);
  add_stairs(both, of_a, of_b);
  return both;
}

std::optional<SideBySide> side_by_side(const Model& layer, std::span<const Tensor> inputs, std::int64_t index, const Device& a,
                                       const Device& b) {
  const auto of_a = ValueTracer::make(layer, a.backend, inputs), of_b = ValueTracer::make(layer, b.backend, inputs);
  if (!of_a || !of_b) return std::nullopt;
  return side_by_side(*of_a, *of_b, index);
}

}  // namespace lastbit
