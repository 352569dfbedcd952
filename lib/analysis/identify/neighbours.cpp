// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/neighbours.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/identify/idle_widths.hpp"
#include "analysis/identify/telling_order.hpp"
#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

/// Which rules are not asked for other values.
bool is_left_out(const std::string& path) {
  return path.ends_with(".kind") || path.ends_with("chain.size") || path.ends_with(".min_exponent") || path.ends_with(".max_exponent");
}

/// Whether the sums and the chain say all of it.
bool is_in_space(const ConvArithmetic& arithmetic) {
  ConvArithmetic said = arithmetic_of(sum_rules_of(arithmetic), arithmetic.sum.output);
  said.row_multiplier = arithmetic.row_multiplier;
  return said == arithmetic &&
         (arithmetic.per_channel == PerChannelLowering::native || arithmetic.per_channel == PerChannelLowering::requantized_to_tensor);
}

/// Whether it reads what is not a convolution's.
bool reads_more(const Stage& stage) {
  using enum StageKind;
  return stage.kind == table || stage.kind == pwl || stage.kind == segments || stage.kind == scale_below_zero || stage.kind == add_offset;
}

/// Judges one arithmetic after the other on the data, until the first value that differs.
class NeighbourJudge {
 public:
  NeighbourJudge(const SpaceScope& scope, std::span<const ConvData> data) : scope_(scope), data_(data) {
    std::vector<std::span<const std::int64_t>> lists;
    for (const ConvData& each : data) lists.emplace_back(each.expected);
    order_ = telling_order(lists);
  }

  /// Whether these layers have what its rules are about, and it says all by its sums and its chain.
  [[nodiscard]] bool can_judge(const ConvArithmetic& arithmetic) const {
    const Chain& chain = arithmetic.sum.output.chain;
    const PartialMethod partial = arithmetic.sum.accumulator.partial.method;
    if (chain.empty() || !is_in_space(arithmetic)) return false;
    if (arithmetic.per_channel != PerChannelLowering::native && !scope_.per_channel) return false;
    if (partial != PartialMethod::absent && !(partial == PartialMethod::consecutive_terms ? scope_.wide_data : scope_.sums_codes))
      return false;
    return scope_.sums_only || (has_what_is_stated(scope_, chain) && std::none_of(chain.begin(), chain.end(), reads_more));
  }

  [[nodiscard]] bool explains(const ConvArithmetic& arithmetic) {
    const SumRules rules = sum_rules_of(arithmetic);
    const RescaleRule& rescale = arithmetic.sum.output;
    const bool scaled = !scope_.sums_only && applies_scale(rescale.chain);
    std::vector<std::optional<std::int64_t>>& sums = sums_by(rules);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto [d, index] = order_[i];
      const ConvData& data = data_[d];
      const ConvVariant& variant = data.variant(rules.per_channel);
      const std::int64_t output = data.outputs[static_cast<std::size_t>(index)];
      if (!sums[i]) sums[i] = variant.sum(rules, output);
      std::int64_t value = *sums[i];
      if (scaled) {
        const auto operands = variant.scales().operands(data.channel(output), rescale.scale);
        if (!operands) return false;
        value = finish(rescale.chain, value, *operands);
      }
      if (value != data.expected[static_cast<std::size_t>(index)]) return false;
    }
    return true;
  }

 private:
  struct Sums {
    SumRules rules;
    std::vector<std::optional<std::int64_t>> values;
  };
  std::vector<std::optional<std::int64_t>>& sums_by(const SumRules& rules) {
    const auto known = std::ranges::find(sums_, rules, &Sums::rules);
    if (known != sums_.end()) return known->values;
    return sums_.emplace_back(Sums{rules, std::vector<std::optional<std::int64_t>>(order_.size())}).values;
  }

  const SpaceScope& scope_;
  std::span<const ConvData> data_;
  std::vector<Value> order_;
  std::vector<Sums> sums_;
};

/// What differs from the arithmetic in one rule, until the deadline.
void each_neighbour(const ConvArithmetic& arithmetic, const Deadline& deadline, const auto& visit) {
  Backend device = no_rules;
  device.conv.i8 = arithmetic;
  Backend backend = device;
  const std::string prefix = "conv.i8.";
  for (const RuleText& rule : list_rules(backend)) {
    if (!rule.path.starts_with(prefix) || is_left_out(rule.path)) continue;
    for (const std::string& value : every_value_beside(backend, rule.path)) {
      if (deadline.passed()) return;
      if (value == rule.value) continue;
      const std::optional<RuleValue> other = completion(device, rule.path, value);
      try {
        replace_rule(backend, rule.path, value);
        if (other) replace_rule(backend, other->path, other->value);
        check_widths(backend, device);
        visit(backend.conv.i8, rule.path.substr(prefix.size()) + " " + rule.value + " -> " + value +
                                   (other ? " with " + other->path.substr(prefix.size()) + " " + other->value : ""));
      } catch (const Error&) {  // a value that the rule, or those beside it, do not take
      }
      backend.conv.i8 = arithmetic;
    }
  }
}

/// Chains of a space by what they are, and their scales' encodings; takes others in.
class RescalesBesides {
 public:
  explicit RescalesBesides(ConvSpace& space) : space_(space) {
    for (std::size_t i = 0; i < space.rescales.size(); ++i) {
      places_.emplace(hash_of(space.rescales[i].chain), i);
      if (encodings_.size() <= space.encodings[i]) encodings_.resize(space.encodings[i] + 1U);
      encodings_[space.encodings[i]] = space.rescales[i].scale;
    }
  }

  [[nodiscard]] std::size_t place_of(const RescaleRule& rule) {
    const auto [first, last] = places_.equal_range(hash_of(rule.chain));
    const auto known = std::find_if(first, last, [&](const auto& each) { return space_.rescales[each.second] == rule; });
    if (known != last) return known->second;
    const auto encoding = static_cast<std::uint32_t>(std::ranges::find(encodings_, rule.scale) - encodings_.begin());
    if (encoding == encodings_.size()) encodings_.push_back(rule.scale);
    places_.emplace(hash_of(rule.chain), space_.rescales.size());
    space_.encodings.push_back(encoding);
    space_.rescales.push_back(rule);
    return space_.rescales.size() - 1;
  }

 private:
  ConvSpace& space_;
  std::unordered_multimap<std::size_t, std::size_t> places_;
  std::vector<decltype(RescaleRule::scale)> encodings_;
};

}  // namespace

std::vector<ConvNeighbour> explaining_neighbours(const Model& layer, const SpaceScope& scope, std::span<const ConvData> data,
                                                 const Deadline& deadline) {
  NeighbourJudge judge(scope, data);
  std::vector<ConvNeighbour> known, found;
  for (const SpecSheet& sheet : builtin_backends()) {
    const ConvArithmetic* const own = sheet.backend.domain == Domain::integer ? arithmetic_in(layer, sheet.backend) : nullptr;
    if (own == nullptr || std::ranges::find(known, *own, &ConvNeighbour::arithmetic) != known.end()) continue;
    known.push_back({*own, sheet.name, true});
    if (judge.can_judge(*own) && judge.explains(*own)) found.push_back(known.back());
  }
  for (const ConvNeighbour& one : known) {
    each_neighbour(one.arithmetic, deadline, [&](const ConvArithmetic& changed, const std::string& change) {
      if (judge.can_judge(changed) && judge.explains(changed)) found.push_back({changed, one.name + " with " + change});
    });
  }
  return found;
}

std::vector<Block> extend(ConvSpace& space, std::span<const ConvNeighbour> neighbours, const SpaceScope& scope) {
  const std::size_t own_sums = space.sums.size(), own_rescales = space.rescales.size();
  RescalesBesides rescales(space);
  std::set<std::pair<std::size_t, std::size_t>> added;
  for (const ConvNeighbour& one : neighbours) {
    const SumRules rules = sum_rules_of(one.arithmetic);
    const auto sums = static_cast<std::size_t>(std::ranges::find(space.sums, rules) - space.sums.begin());
    if (sums == space.sums.size()) space.sums.push_back(rules);
    const std::size_t rescale = scope.sums_only ? 0 : rescales.place_of(one.arithmetic.sum.output);
    if (sums >= own_sums || rescale >= own_rescales) added.emplace(sums, rescale);
  }
  std::vector<Block> blocks;
  for (const auto& [sums, rescale] : added) blocks.push_back({{static_cast<std::uint32_t>(sums)}, {static_cast<std::uint32_t>(rescale)}});
  return blocks;
}

}  // namespace lastbit
