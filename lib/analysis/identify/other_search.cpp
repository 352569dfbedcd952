// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/other_search.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "analysis/identify/conv_search.hpp"
#include "analysis/identify/rule_tally.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/ratio_text.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

template <NamedEnum E>
std::string rule_text(E value) {
  return std::string(name_of(value));
}
std::string rule_text(int value) { return std::to_string(value); }

using enum Rounding;
using enum OperationKind;
constexpr std::array roundings{half_away, half_even, half_up, half_down, half_toward_zero, floor, toward_zero, ceil, to_odd};
constexpr std::array paddings{PaddingCount::excluded, PaddingCount::included};

// ---- average pools ----

struct PoolRules {
  AveragePoolArithmetic average{};
};

Backend backend_of(const PoolRules& rules) {
  Backend backend;
  backend.average_pool = backend.global_average_pool = rules.average;
  return backend;
}

std::string sum_text(const SumArithmetic& rule) { return rule.centring == Centring::nothing ? "codes" : "centred codes"; }

std::vector<Coordinate> coordinates_of(const PoolRules& rules) {
  const SumArithmetic& sum = rules.average.sum;
  std::vector<Coordinate> list{{"padding", std::string(name_of(rules.average.padding))}, {"sum of", sum_text(sum)}};
  if (sum.output.chain.stages[0].kind == StageKind::divide) {
    list.push_back({"division", "exact"});
    list.push_back({"rounding", std::string(name_of(sum.output.chain.stages[0].rounding))});
    return list;
  }
  list.push_back({"division", "by " + text_of(sum.output.by)});
  for (const Coordinate& each : lastbit::coordinates_of(sum.output)) list.push_back(each);
  return list;
}

constexpr AccumulatorRule all_bits{.bits = 64, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};
constexpr Ratio per_count{{}, {Quantity::count, Quantity::one}};

/// The codes' sum, whatever their zero point is, on the input's scale.
AveragePoolArithmetic of_codes(PaddingCount padding, const RescaleRule& output) {
  return {padding, OutputScale::of_input, {.centring = Centring::nothing, .accumulator = all_bits, .output = output}};
}

/// 1 / count as a multiplier of `bits` leading bits.
RescaleRule leading_bits(int bits, Rounding of_reciprocal, Rounding rounding) {
  return {{.arithmetic = ScaleArithmetic::f64,
           .significant_bits = static_cast<std::uint8_t>(bits),
           .rounding = of_reciprocal,
           .normalization = Normalization::one_to_two,
           .min_exponent = -62,
           .max_exponent = 62},
          {multiply(), shift_right(rounding), clamp()},
          per_count};
}

/// (sum >> before) * round(2^(shift + before) / count) >> shift.
RescaleRule fixed_point(int shift, int before, Rounding of_reciprocal, Rounding rounding) {
  const auto right = [](int places, Rounding rule) {
    return Stage{
        .kind = StageKind::shift_right, .rounding = rule, .amount = ShiftAmount::constant, .constant = static_cast<std::uint8_t>(places)};
  };
  Chain chain;
  if (before > 0) chain.append(right(before, floor));
  return {{.arithmetic = ScaleArithmetic::f64,
           .significant_bits = static_cast<std::uint8_t>(shift + before),
           .rounding = of_reciprocal,
           .normalization = Normalization::fixed_point,
           .min_exponent = 0,
           .max_exponent = 0},
          chain + multiply() + right(shift, rounding) + clamp(),
          per_count};
}

RescaleRule by_float(Rounding rounding) {
  return {{.arithmetic = ScaleArithmetic::f32}, {float_scale(rounding), add_zero_point(), clamp()}, in_per_out_and_count};
}

std::vector<PoolRules> pool_space() {
  std::vector<PoolRules> list;
  for (const PaddingCount padding : paddings) {
    for (const Rounding rounding : roundings) {
      list.push_back({of_codes(padding, {.chain = {divide_by_count(rounding), clamp()}})});
      list.push_back({{padding, OutputScale::own, {.accumulator = all_bits, .output = by_float(rounding)}}});
      for (const Rounding of_reciprocal : {floor, half_up, half_even, ceil}) {
        for (const int bits : {16, 15, 8, 17, 24, 31, 32}) list.push_back({of_codes(padding, leading_bits(bits, of_reciprocal, rounding))});
        for (int shift = 7; shift <= 17; ++shift) {
          for (int before = 0; before <= 4; ++before)
            list.push_back({of_codes(padding, fixed_point(shift, before, of_reciprocal, rounding))});
        }
      }
    }
    for (RescaleRule rescale : rescale_space({})) {
      rescale.by = in_per_out_and_count;
      list.push_back({{padding,
                       OutputScale::own,
                       {.accumulator = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::at_end}, .output = rescale}}});
    }
  }
  return list;
}

// ---- convolutions fused with pool and piecewise-linear function; the latter two alone ----

struct FusedRules {
  AccumulatorRule accumulator{};
  FusedConvArithmetic fused{};
  SumPoolArithmetic sum_pool{};
  PwlArithmetic pwl{};
};

Backend backend_of(const FusedRules& rules) {
  ConvArithmetic sums{.accumulator = rules.accumulator, .rescale = {.chain = {clamp()}}};
  Backend backend = lastbit::backend_of(sums);
  backend.fused_conv = rules.fused;
  backend.sum_pool = rules.sum_pool;
  backend.pwl = rules.pwl;
  return backend;
}

std::vector<Coordinate> coordinates_of(const FusedRules& rules) {
  const auto named = [](const std::string& prefix, const std::vector<Coordinate>& from, std::vector<Coordinate>& to) {
    for (const Coordinate& each : from) {
      if (each.rule.starts_with("accumulator") || each.rule == "partial sums") to.push_back({prefix + each.rule, each.value});
    }
  };
  const bool pools_first = rules.fused.order == FusedOrder::pool_then_activation;
  std::vector<Coordinate> list{{"order", rule_text(rules.fused.order)}};
  named("", lastbit::coordinates_of(SumRules{.accumulator = rules.accumulator}), list);
  if (pools_first) {
    named("pooled ", lastbit::coordinates_of(SumRules{.accumulator = rules.fused.sum}), list);
  } else {
    list.push_back({"sum pool order", rule_text(rules.sum_pool.order)});
    list.push_back({"sum pool bits of 8-bit data", rule_text(rules.sum_pool.bits_8bit)});
    list.push_back({"sum pool bits", rule_text(rules.sum_pool.bits)});
    list.push_back({"sum pool overflow", rule_text(rules.sum_pool.overflow)});
  }
  list.push_back({"pwl output overflow", rule_text(rules.pwl.output_overflow)});
  return list;
}

std::vector<AccumulatorRule> accumulators() {
  std::vector<AccumulatorRule> list;
  for (const SumRules& rules : sum_space({.sums_only = true, .wide_data = true})) {
    if (rules.bias == BiasAt::accumulator_start && rules.bias_bits == 0) list.push_back(rules.accumulator);
  }
  return list;
}

void add_pool_first(std::vector<FusedRules>& list, const AccumulatorRule& accumulator, const PwlArithmetic& pwl) {
  for (const AccumulatorRule& sum : accumulators()) {
    if (sum.when != NarrowingPoint::every_tile && (sum.bits == 32 || sum.bits == 64))
      list.push_back({accumulator, {.order = FusedOrder::pool_then_activation, .sum = sum}, {}, pwl});
    if (!has_partial_sums(sum) || sum.when == NarrowingPoint::every_tile) continue;
    AccumulatorRule wide = sum;
    wide.bits = 64;
    wide.overflow = Overflow::wrap;
    list.push_back({accumulator, {.order = FusedOrder::pool_then_activation, .sum = wide}, {}, pwl});
  }
}

void add_activation_first(std::vector<FusedRules>& list, const AccumulatorRule& accumulator, const PwlArithmetic& pwl) {
  for (const WindowOrder order : {WindowOrder::rows_outermost, WindowOrder::columns_outermost}) {
    for (const Overflow overflow : {Overflow::saturate, Overflow::wrap}) {
      for (const std::uint8_t narrow : {std::uint8_t{16}, std::uint8_t{8}, std::uint8_t{32}}) {
        for (const std::uint8_t wide : {std::uint8_t{32}, std::uint8_t{16}, std::uint8_t{64}})
          list.push_back(
              {accumulator, {.order = FusedOrder::activation_then_pool}, {SumPoolMethod::running, order, narrow, wide, overflow}, pwl});
      }
    }
  }
}

std::vector<FusedRules> fused_space() {
  std::vector<FusedRules> list;
  for (const Overflow overflow : {Overflow::saturate, Overflow::wrap}) {
    const PwlArithmetic pwl{.method = PwlMethod::shifted_segments, .output_overflow = overflow};
    for (const AccumulatorRule& accumulator : accumulators()) {
      add_pool_first(list, accumulator, pwl);
      add_activation_first(list, accumulator, pwl);
    }
  }
  return list;
}

// ---- the walk ----

struct Judged {
  std::size_t rules = 0;
  std::int64_t differing = 0;
  std::uint64_t outputs = 1;
};

/// Runs the layer; false where the backend cannot.
bool judge(const IdentifyPair& pair, const std::vector<std::int64_t>& expected, const Backend& backend, Judged& judged) {
  if (!check(pair.layer, backend).empty()) return false;
  const Trace trace = run(pair.layer, backend, pair.inputs);
  const Tensor& output = *trace.tensors[static_cast<std::size_t>(pair.layer.outputs[0])];
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::int64_t value = output.integer_at(static_cast<std::int64_t>(i));
    judged.outputs = mixed(judged.outputs, value);
    judged.differing += value != expected[i] ? 1 : 0;
  }
  return true;
}

void prune(std::vector<Judged>& judged) {
  std::stable_sort(judged.begin(), judged.end(), [](const Judged& a, const Judged& b) { return a.differing < b.differing; });
  std::size_t kept = 0;
  while (kept < judged.size() && (judged[kept].differing <= judged[0].differing || kept < 64)) ++kept;
  judged.resize(kept);
}

template <class Rules>
OtherFound walk(const std::vector<Rules>& space, const std::vector<const IdentifyPair*>& pairs, std::size_t most_classes,
                const std::function<void(double)>& progress) {
  std::vector<Judged> judged(space.size());
  for (std::size_t i = 0; i < space.size(); ++i) judged[i].rules = i;
  OtherFound found;
  OperationIdentification& result = found.result;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const std::vector<std::int64_t> expected = integers_of(pairs[p]->output);
    std::erase_if(judged, [&](Judged& each) { return !judge(*pairs[p], expected, backend_of(space[each.rules]), each); });
    prune(judged);
    result.values += static_cast<std::int64_t>(expected.size());
    if (progress) progress(static_cast<double>(p + 1) / static_cast<double>(pairs.size()));
  }
  if (judged.empty()) throw Error(ErrorCode::bad_input, pairs.front()->name, "no combination of rules applies to these layers");
  RuleTally whole;
  for (const Rules& rules : space) whole.add(coordinates_of(rules));
  const std::vector<RuleValues> possible = whole.take();
  std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<std::size_t>> classes;
  for (const Judged& each : judged) classes[{each.differing, each.outputs}].push_back(each.rules);
  for (auto& [key, members] : classes) {
    if (result.classes.size() == most_classes) break;
    RuleTally tally;
    std::sort(members.begin(), members.end());
    for (const std::size_t i : members) tally.add(coordinates_of(space[i]));
    RuleClass shown{result.values - key.first, static_cast<std::int64_t>(members.size()), tally.take(), {}, {}, {}};
    for (RuleValues& each : shown.rules) {
      const auto at = std::find_if(possible.begin(), possible.end(), [&](const RuleValues& one) { return one.rule == each.rule; });
      each.possible = at->values.size();
    }
    const Backend first = backend_of(space[members.front()]);
    for (const std::string& path : read_rules(pairs.front()->layer, first)) copy_rules(shown.backend, first, path);
    found.outputs.push_back(key.second);
    result.classes.push_back(std::move(shown));
  }
  result.combinations = static_cast<std::int64_t>(space.size());
  return found;
}

bool is_average(OperationKind kind) { return kind == average_pool2d || kind == global_average_pool; }
bool is_fused(OperationKind kind) { return kind == fused_conv2d || kind == pwl || kind == sum_pool2d; }

}  // namespace

bool is_covered(OperationKind kind) { return is_conv_layer(kind) || is_average(kind) || is_fused(kind); }

std::string reason_to_skip(const IdentifyPair& pair) {
  if (pair.layer.operations.size() != 1) return "not a layer of one operation";
  const Operation& operation = pair.layer.operations[0];
  if (!is_covered(operation.kind)) return "the space has no rules for " + std::string(name_of(operation.kind));
  for (const std::int32_t index : operation.inputs) {
    if (index != absent_tensor && !is_integer(pair.layer.tensor(index).type))
      return "'" + pair.layer.tensor(index).name + "' is not an integer";
  }
  if (!is_integer(pair.output.type())) return "its output is not an integer";
  if (pair.output.element_count() != pair.layer.tensor(operation.outputs[0]).shape.element_count())
    return "the output has " + std::to_string(pair.output.element_count()) + " values; the layer's is " +
           pair.layer.tensor(operation.outputs[0]).shape.text();
  if (!is_conv_layer(operation.kind)) return {};
  try {
    static_cast<void>(ConvData(pair));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::vector<std::string> read_rules(const Model& layer, const Backend& backend) {
  std::vector<std::string> rules = rule_prefixes(layer, layer.operations[0], backend);
  if (!is_fused(layer.operations[0].kind)) return rules;
  for (const char* path : {"fused_conv", "sum_pool", "pwl"}) rules.emplace_back(path);
  return rules;
}

OtherFound identify_other(const std::string& rules, const std::vector<const IdentifyPair*>& pairs, std::size_t most_classes,
                          const std::function<void(double)>& progress) {
  OtherFound found = is_average(pairs.front()->layer.operations[0].kind) ? walk(pool_space(), pairs, most_classes, progress)
                                                                         : walk(fused_space(), pairs, most_classes, progress);
  found.result.rules = rules;
  found.result.pairs = static_cast<std::int64_t>(pairs.size());
  return found;
}

}  // namespace lastbit
