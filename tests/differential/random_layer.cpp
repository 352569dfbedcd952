// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "differential/random_layer.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "differential/layer_maker.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"

namespace lastbit::test {
namespace {

bool begins_with_any(const std::string& path, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) { return path.starts_with(prefix); });
}

void change(RandomLayer& layer, const std::string& path, const std::string& value) {
  set_rule(layer.backend, path, value);
  layer.device += " " + path + "=" + value;
}

/// Accumulators of other widths, which saturate or wrap earlier or later.
void change_accumulator(RandomLayer& layer, const std::string& prefix, Choices& choose) {
  const std::string accumulator = prefix + ".accumulator.";
  change(layer, accumulator + "bits", std::to_string(choose.of({12, 16, 18, 24, 31, 32, 40})));
  change(layer, accumulator + "overflow", choose.of({"wrap", "saturate", "saturate", "exact"}));
  if (choose.one_in(2)) change(layer, accumulator + "when", choose.of({"every_add", "every_tile", "at_end"}));
}

/// Any rule that the operation reads, to any other value that it can have.
void change_any(RandomLayer& layer, const std::vector<std::string>& prefixes, Choices& choose) {
  std::vector<RuleText> rules = list_rules(layer.backend);
  std::erase_if(rules, [&](const RuleText& rule) { return !begins_with_any(rule.path, prefixes); });
  if (rules.empty()) return;
  const std::string path = choose.of(rules).path;
  const std::vector<std::string> values = alternatives(layer.backend, path);
  if (!values.empty()) change(layer, path, choose.of(values));
}

void change_rules(RandomLayer& layer, Choices& choose) {
  const std::vector<std::string> prefixes = rule_prefixes(layer.model, layer.model.operations[0], layer.backend);
  if (prefixes.empty() || choose.one_in(3)) return;
  if (sums_products(layer.model.operations[0].kind) && choose.one_in(2)) change_accumulator(layer, prefixes[0], choose);
  else change_any(layer, prefixes, choose);
}

std::optional<RandomLayer> filled(const SpecSheet& sheet, Model model, Choices& choose, Rules rules = Rules::changed) {
  RandomLayer layer{std::move(model), sheet.backend, sheet.name, {}};
  if (rules == Rules::changed) change_rules(layer, choose);
  for (const auto input : layer.model.inputs)
    layer.inputs.push_back(random_values(layer.model.tensor(input).type, layer.model.tensor(input).shape, choose));
  if (!check(layer.model, layer.backend).empty()) return {};
  return layer;
}

}  // namespace

std::optional<RandomLayer> random_layer(Choices& choose) try {
  const SpecSheet& sheet = choose.of(builtin_backends());
  return filled(sheet, make_layer(sheet.backend, choose), choose);
} catch (const Error&) {
  return {};
}

std::optional<RandomLayer> random_layer(const SpecSheet& sheet, OperationKind kind, Choices& choose, Rules rules) try {
  auto model = make_layer(kind, sheet.backend, choose);
  if (!model) return {};
  return filled(sheet, *std::move(model), choose, rules);
} catch (const Error&) {
  return {};
}

}  // namespace lastbit::test
