// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/certify/shared_sums.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "analysis/last_chain.hpp"
#include "analysis/prove/bounded.hpp"
#include "engine/finisher.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

/// Both sides' sums, and what each can hold.
struct BoundedSums {
  Sums a, b;
  Bounded of_a, of_b;
};

bool drops_terms(const AccumulatorRule& rule) {
  return rule.partial.method != PartialMethod::absent && rule.partial.tail == PartialTail::dropped;
}

/// The sum as it is: nothing is narrowed away, and nothing left out.
bool is_exact(const Bounded& sums) { return sums.proof.safe() && !drops_terms(sums.proof.rule); }

bool same_scales(const std::vector<RescaleOperands>& a, const std::vector<RescaleOperands>& b) {
  return std::ranges::equal(a, b, [](const RescaleOperands& x, const RescaleOperands& y) {
    return x.scale == y.scale && x.zero_point == y.zero_point && x.min == y.min && x.max == y.max && x.count == y.count;
  });
}

/// What keeps the sums of both sides from being the same integers for the same input.
std::string unlike_sums(const BoundedSums& both) {
  if (both.a.inputs != both.b.inputs) return "the sides subtract different zero points";
  if (both.a.operand != both.b.operand || !same_scales(both.a.term_operands, both.b.term_operands))
    return "the sides scale the products before they add them up in different ways";
  if (is_exact(both.of_a) && is_exact(both.of_b)) return "";
  if (both.a.layer->bias != both.b.layer->bias) return "the sides add different biases to sums that can leave an accumulator";
  const ConvLayer &a = *both.a.layer, &b = *both.b.layer;
  if (both.a.rule == both.b.rule && a.arithmetic.bias == b.arithmetic.bias && a.shape.together == b.shape.together) return "";
  const bool a_is_exact = is_exact(both.of_a);
  const AccumulatorRule& rule = a_is_exact ? both.b.rule : both.a.rule;
  return "sums can leave the " + std::to_string(rule.bits) + " bits of an accumulator of side " + (a_is_exact ? "b" : "a") +
         ", and the sides treat that differently";
}

/// None, or one for each channel.
bool has_bias_by_channel(const ConvLayer& layer) { return layer.bias.empty() || std::ssize(layer.bias) == layer.shape.out_channels; }

std::string unlike_layers(const ConvLayer& a, const ConvLayer& b) {
  if (a.weights != b.weights) return "the sides multiply by different weights";
  const bool by_channel = has_bias_by_channel(a) && has_bias_by_channel(b) && !a.delivers_sums();
  if (a.bias != b.bias && !by_channel) return "the sides add different biases";
  if (a.multipliers != b.multipliers) return "the sides multiply rows differently";
  if (a.delivers_sums() != b.delivers_sums()) return "one side delivers the sums as they are";
  return "";
}

/// Values between the range's ends with which the terms add up to `sum`: every term begins where it is smallest, then the largest weights go as far as
/// they can.
std::optional<std::vector<std::int64_t>> values_for(const Sums& sums, const Sum& sum, Int128 wanted) {
  std::vector<std::int64_t> values(sums.values);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::clamp<std::int64_t>(0, sums.range_of(i).min, sums.range_of(i).max);
  Int128 missing = wanted - sum.bias.lower;
  std::vector<SumTerm> terms(sum.terms.begin(), sum.terms.end());
  for (const SumTerm& term : terms) {
    const IntegerRange& range = sums.range_of(term.input);
    values[term.input] = term.weight < 0 ? range.max : range.min;
    missing -= Int128{values[term.input]} * term.weight;
  }
  std::ranges::stable_sort(terms, std::ranges::greater{}, [](const SumTerm& term) { return std::abs(term.weight); });
  for (const SumTerm& term : terms) {
    if (term.weight == 0 || missing < 0) break;
    const IntegerRange& range = sums.range_of(term.input);
    const auto most = static_cast<Int128>(range.max - range.min);
    const auto steps = static_cast<std::int64_t>(std::min(most, missing / std::abs(term.weight)));
    values[term.input] += term.weight < 0 ? -steps : steps;
    missing -= Int128{steps} * std::abs(term.weight);
  }
  if (missing != 0) return std::nullopt;
  return values;
}

double variance_of_codes(const IntegerRange& codes) {
  const double count = static_cast<double>(codes.max - codes.min) + 1;
  return (count * count - 1) / 12;
}

/// How far the sum can move, and its moments; of a channel the sum with the most terms speaks for the others, which padding cuts.
void add_moments(const Sums& sums, const Sum& sum, SharedSums::Column& column) {
  Int128 gain = 0;
  double mean = static_cast<double>(sum.bias.lower), variance = 0;
  for (const SumTerm& term : sum.terms) {
    const IntegerRange& range = sums.range_of(term.input);
    const auto weight = static_cast<double>(term.weight);
    gain += std::abs(term.weight);
    mean += weight * (static_cast<double>(range.min) + static_cast<double>(range.max)) / 2;
    variance += weight * weight * variance_of_codes(range);
  }
  const auto multiplier = static_cast<double>(sum.multiplier);
  column.gain = std::max(column.gain, narrow_saturate(gain * std::abs(sum.multiplier), 64));
  column.mean = multiplier * mean;
  column.variance = multiplier * multiplier * variance;
}

void add_moments(const Sums& sums, std::vector<SharedSums::Column>& columns) {
  std::vector<std::size_t> most(columns.size(), 0);
  sums.each([&](const Sum& sum) {
    const auto channel = static_cast<std::size_t>(sum.channel);
    if (sum.terms.size() <= most[channel]) return;
    most[channel] = sum.terms.size();
    add_moments(sums, sum, columns[channel]);
  });
}

std::optional<std::vector<Tensor>> input_for(const Sums& sums, std::int64_t channel, std::int64_t wanted) {
  std::optional<std::vector<Tensor>> found;
  if (!sums.place || sums.rule.partial.method != PartialMethod::absent || !sums.term_operands.empty()) return found;
  sums.each([&](const Sum& sum) {
    if (found || sum.channel != channel || sum.multiplier != 1) return;
    if (const auto values = values_for(sums, sum, wanted)) found = sums.place(*values);
  });
  return found;
}

/// Whether every sum is another number once it has wrapped. More than 62 bits are not followed.
bool wraps_in_one_piece(const AccumulatorRule& rule, const SumRange& whole) {
  return rule.overflow == Overflow::wrap && fits_width(whole, 62) && whole.upper - whole.lower < Int128{1} << rule.bits;
}

bool has_room(const ConvLayer& layer) { return layer.delivers_sums() || layer.arithmetic.sum.output.chain.size < max_stages; }

/// The columns' accumulators as sums before they wrap, where a channel's can.
void unwrap(SharedSums& shared, const Bounded& sums) {
  const AccumulatorRule& rule = sums.proof.rule;
  if (sums.proof.safe() || rule.overflow != Overflow::wrap || !has_room(*shared.layer_a) || !has_room(*shared.layer_b)) return;
  shared.wraps_to = rule.bits;
  for (std::size_t c = 0; c < shared.columns.size(); ++c) {
    if (!wraps_in_one_piece(rule, sums.whole[c])) continue;
    shared.columns[c].accumulators = {static_cast<std::int64_t>(sums.whole[c].lower), static_cast<std::int64_t>(sums.whole[c].upper)};
  }
}

Chain behind_sums(const SharedSums& shared, const Chain& chain) {
  if (shared.wraps_to == 0) return chain;
  Chain all{{.kind = StageKind::narrow, .overflow = Overflow::wrap, .bits = static_cast<std::uint8_t>(shared.wraps_to)}};
  for (const Stage& stage : chain) all.append(stage);
  return all;
}

/// The ways behind the sums.
void set_chains(SharedSums& shared) {
  const ConvLayer &a = *shared.layer_a, &b = *shared.layer_b;
  if (a.delivers_sums()) return;
  shared.a = behind_sums(shared, a.arithmetic.sum.output.chain);
  shared.b = behind_sums(shared, b.arithmetic.sum.output.chain);
  for (SharedSums::Column& column : shared.columns) {
    column.a = a.operands_of(column.channel);
    column.b = b.operands_of(column.channel);
  }
}

/// Whether the sums of one layer are those of the other.
bool same_sums(const ConvLayer& a, const ConvLayer& b) {
  const SumArithmetic &of_a = a.arithmetic.sum, &of_b = b.arithmetic.sum;
  return a.weights == b.weights && a.bias == b.bias && a.multipliers == b.multipliers && a.zero_points == b.zero_points &&
         of_a.accumulator == of_b.accumulator && of_a.operand == of_b.operand && a.arithmetic.bias == b.arithmetic.bias &&
         same_scales(a.term_operands, b.term_operands) && !a.data_term && !b.data_term && a.delivers_sums() == b.delivers_sums();
}

void add_terms(const ConvLayer& layer, Checksum& sum) {
  sum.add(std::as_bytes(std::span(layer.weights)));
  for (const auto* const numbers : {&layer.bias, &layer.multipliers, &layer.zero_points}) {
    sum.add(std::ssize(*numbers));
    sum.add(std::as_bytes(std::span(*numbers)));
  }
}

}  // namespace

std::int64_t sum_held_as(std::int64_t held, const SharedSums& sums, const SharedSums::Column& column) {
  if (sums.wraps_to == 0) return held;
  const Int128 size = Int128{1} << sums.wraps_to, above = (Int128{held} - column.accumulators.min) % size;
  return static_cast<std::int64_t>(column.accumulators.min + (above < 0 ? above + size : above));
}

SharedSums convolution_sums_of(const LayerOnBoth& layer) {
  SharedSums shared;
  std::vector<Sums> a = sums_of(layer.a.model(), layer.a.operation, layer.a.backend(), layer.ranges);
  std::vector<Sums> b = sums_of(layer.b.model(), layer.b.operation, layer.b.backend(), layer.ranges_b);
  if (a.size() != 1 || b.size() != 1) {
    shared.open = "one side does not add up integers here";
    return shared;
  }
  const auto both = std::make_shared<BoundedSums>(BoundedSums{std::move(a[0]), std::move(b[0]), {}, {}});
  both->of_a = bounded(both->a);
  both->of_b = bounded(both->b);
  const ConvLayer &layer_a = *both->a.layer, &layer_b = *both->b.layer;
  shared.outputs_a = range_of_outputs(layer_a, both->of_a.results);
  shared.outputs_b = range_of_outputs(layer_b, both->of_b.results);
  shared.open = layer_a.data_term || layer_b.data_term ? "cross terms join its sums" : unlike_layers(layer_a, layer_b);
  if (shared.open.empty()) shared.open = unlike_sums(*both);
  if (!shared.open.empty()) return shared;
  shared.layer_a = both->a.layer;
  shared.layer_b = both->b.layer;
  shared.exact = is_exact(both->of_a) && is_exact(both->of_b) && both->a.term_operands.empty();
  shared.add_terms = [both](Checksum& sum) { add_terms(*both->a.layer, sum); };
  for (std::size_t c = 0; c < both->of_a.results.size(); ++c) {
    const auto channel = static_cast<std::int64_t>(c);
    SharedSums::Column& column = shared.columns.emplace_back(SharedSums::Column{channel, both->of_a.results[c], {}, {}});
    if (layer_a.bias != layer_b.bias) column.accumulators_b = both->of_b.results[c];
  }
  unwrap(shared, both->of_a);
  set_chains(shared);
  add_moments(both->a, shared.columns);
  if (!shared.exact)  // what leaves an accumulator that wraps can move by any amount
    for (SharedSums::Column& column : shared.columns) column.gain = INT64_MAX;
  shared.input_for = [both](const SharedSums::Column& column, std::int64_t sum) { return input_for(both->a, column.channel, sum); };
  return shared;
}

std::optional<SharedSums> at_other_scale(const SharedSums& sums, const LayerOnBoth& layer, const Model& rescaled) {
  SharedSums other;
  const Operation& operation = rescaled.operations.front();
  other.layer_a = std::make_shared<const ConvLayer>(conv_layer(rescaled, operation, layer.a.backend()));
  other.layer_b = std::make_shared<const ConvLayer>(conv_layer(rescaled, operation, layer.b.backend()));
  if (!same_sums(*other.layer_a, *sums.layer_a) || !same_sums(*other.layer_b, *sums.layer_b)) return std::nullopt;
  other.columns = sums.columns;
  other.wraps_to = sums.wraps_to;
  set_chains(other);
  return other;
}

namespace {

Tensor filled(const ModelTensor& tensor, std::int64_t code) {
  Tensor all(tensor.type, tensor.shape);
  store(std::vector<std::int64_t>(static_cast<std::size_t>(tensor.shape.element_count()), code), all);
  return all;
}

std::optional<LastChain> chain_with(const LayerSide& side, std::int64_t code) {
  const Tensor codes = filled(side.model().tensor(side.operation.inputs[0]), code);
  return last_chain(side.model(), side.index(), side.backend(), std::array{&codes});
}

/// Codes that repeat with the pool's filter, so that every whole window has this sum.
std::optional<std::vector<Tensor>> windows_with(const ModelTensor& input, const Extent2d& filter, const IntegerRange& codes,
                                                std::int64_t zero, std::int64_t sum) {
  const std::int64_t count = filter.height * filter.width;
  const std::int64_t each = sum / count - (sum % count < 0 ? 1 : 0), larger = sum - each * count;
  if (each + zero < codes.min || each + zero + (larger > 0 ? 1 : 0) > codes.max) return std::nullopt;
  std::vector<std::int64_t> values(static_cast<std::size_t>(input.shape.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t pixel = static_cast<std::int64_t>(i) / input.shape[3], x = pixel % input.shape[2],
                       y = pixel / input.shape[2] % input.shape[1];
    values[i] = each + zero + (y % filter.height * filter.width + x % filter.width < larger ? 1 : 0);
  }
  std::vector<Tensor> inputs{Tensor(input.type, input.shape)};
  store(values, inputs[0]);
  return inputs;
}

}  // namespace

SharedSums window_sums_of(const LayerOnBoth& layer) {
  SharedSums shared;
  const IntegerRange codes = layer.codes(0);
  const auto least_a = chain_with(layer.a, codes.min), most_a = chain_with(layer.a, codes.max);
  const auto least_b = chain_with(layer.b, codes.min), most_b = chain_with(layer.b, codes.max);
  const std::vector<Sums> a = sums_of(layer.a.model(), layer.a.operation, layer.a.backend(), layer.ranges);
  const std::vector<Sums> b = sums_of(layer.b.model(), layer.b.operation, layer.b.backend(), layer.ranges_b);
  const bool both_add = least_a && most_a && least_b && most_b && a.size() == 1 && b.size() == 1;
  if (!both_add) shared.open = "one side does not add up integers here";
  else if (!a[0].term_operands.empty() || !b[0].term_operands.empty()) shared.open = "one side scales the codes before it adds them up";
  else if (least_a->sums != least_b->sums || most_a->sums != most_b->sums) shared.open = "the sides subtract different zero points";
  else if (!is_exact(bounded(a[0])) || !is_exact(bounded(b[0]))) shared.open = "sums can leave the accumulator";
  if (!shared.open.empty()) return shared;
  shared.a = least_a->chain;
  shared.b = least_b->chain;
  std::vector<std::pair<std::size_t, std::size_t>> known;
  for (std::size_t i = 0; i < least_a->sums.size(); ++i) {
    const std::pair operands{least_a->operands_of[i], least_b->operands_of[i]};
    const auto found = std::ranges::find(known, operands);
    shared.column_of.push_back(static_cast<std::size_t>(found - known.begin()));
    const IntegerRange range{least_a->sums[i], most_a->sums[i]};
    if (found == known.end()) {
      known.push_back(operands);
      shared.columns.push_back({static_cast<std::int64_t>(known.size()) - 1, range, least_a->at(i), least_b->at(i)});
      continue;
    }
    IntegerRange& all = shared.columns[static_cast<std::size_t>(found - known.begin())].accumulators;
    all = {std::min(all.min, range.min), std::max(all.max, range.max)};
  }
  for (SharedSums::Column& column : shared.columns) {
    const IntegerRange& sums = column.accumulators;
    const std::int64_t spread = codes.max - codes.min, count = spread == 0 ? 0 : (sums.max - sums.min + spread - 1) / spread;
    column.gain = count;
    column.mean = (static_cast<double>(sums.min) + static_cast<double>(sums.max)) / 2;
    column.variance = static_cast<double>(count) * variance_of_codes(codes);
  }
  const ModelTensor& input = layer.a.model().tensor(layer.operation().inputs[0]);
  const bool is_global = layer.operation().kind == OperationKind::global_average_pool;
  const Extent2d filter =
      is_global ? Extent2d{input.shape[1], input.shape[2]} : std::get<Pool2dAttributes>(layer.operation().attributes).filter;
  shared.input_for = [&input, filter, codes](const SharedSums::Column& column, std::int64_t sum) -> std::optional<std::vector<Tensor>> {
    const std::int64_t count = filter.height * filter.width;
    if (column.accumulators.max - column.accumulators.min != count * (codes.max - codes.min)) return std::nullopt;  // windows that are cut
    return windows_with(input, filter, codes, codes.min - column.accumulators.min / count, sum);
  };
  return shared;
}

}  // namespace lastbit
