// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/certify/layer_assumptions.hpp"

#include <algorithm>
#include <utility>

namespace lastbit {
namespace {

const std::string& origin_of(const SpecSheet& sheet) { return sheet.origin.empty() ? sheet.name : sheet.origin; }

/// Whose rules compute the layer; of real numbers the device's, which converts what goes in and out.
const SpecSheet& sheet_of(const LayerSide& side) { return side.backend().domain == Domain::real ? side.device : side.sheet; }

}  // namespace

std::vector<BackendAssumption> LayerAssumptions::of(const LayerOnBoth& layer) {
  std::vector<Assumption> of_a = of_side(layer.a), of_b = of_side(layer.b);
  const SpecSheet &a = sheet_of(layer.a), &b = sheet_of(layer.b);
  if (origin_of(a) == origin_of(b) && have_same_rules(layer)) {
    const std::vector<Assumption> all_of_a = of_a;
    const auto is_among = [](const std::vector<Assumption>& others) {
      return [&others](const Assumption& each) { return std::ranges::find(others, each) != others.end(); };
    };
    std::erase_if(of_a, is_among(of_b));
    std::erase_if(of_b, is_among(all_of_a));
  }
  std::vector<BackendAssumption> found;
  for (Assumption& each : of_a) found.push_back({a.name, std::move(each)});
  for (Assumption& each : of_b)
    if (const BackendAssumption one{b.name, std::move(each)}; std::ranges::find(found, one) == found.end()) found.push_back(one);
  return found;
}

std::vector<Assumption> LayerAssumptions::of_side(const LayerSide& side) {
  const bool is_real = side.backend().domain == Domain::real;
  const std::vector<std::string> prefixes = is_real ? std::vector<std::string>{"quantize", "dequantize"} : prefixes_of(side);
  return rules_of(sheet_of(side)).read_by(side.model(), side.operation, prefixes);
}

const AssumedRules& LayerAssumptions::rules_of(const SpecSheet& sheet) { return rules_.try_emplace(&sheet, sheet).first->second; }

}  // namespace lastbit
