// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/verdict_assumptions.hpp"

#include <algorithm>

#include "compare/report_layout.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

/// So many are named in one line.
constexpr std::size_t named_at_most = 4;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), named_at_most); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() <= named_at_most ? text : text + " and " + std::to_string(names.size() - named_at_most) + " more";
}

/// As a sentence has it.
std::string spoken(const std::string& rule) { return rule == "*" ? "every rule" : rule; }

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

}  // namespace

std::string SharedAssumption::rules_text() const {
  std::string text;
  for (const std::string& rule : rules) text += (text.empty() ? "" : ", ") + spoken(rule);
  return backend.empty() ? text : text + " of " + backend;
}

std::vector<SharedAssumption> shared_assumptions(std::span<const std::vector<BackendAssumption>> layers) {
  std::vector<SharedAssumption> shared;
  std::vector<const std::vector<BackendAssumption>*> last;  // the layer that was counted last
  for (const std::vector<BackendAssumption>& layer : layers) {
    for (const BackendAssumption& one : layer) {
      auto found = std::ranges::find_if(
          shared, [&](const SharedAssumption& each) { return each.backend == one.backend && each.source == one.assumption.source; });
      if (found == shared.end()) {
        shared.push_back({one.backend, {}, one.assumption.source, 0});
        last.push_back(nullptr);
        found = shared.end() - 1;
      }
      add_once(found->rules, one.assumption.rule);
      const auto*& counted = last[static_cast<std::size_t>(found - shared.begin())];
      if (counted != &layer) ++found->layers;
      counted = &layer;
    }
  }
  return shared;
}

std::string names_text(std::span<const BackendAssumption> assumptions) {
  std::vector<std::string> names;
  for (const auto& [backend, assumption] : assumptions) add_once(names, spoken(assumption.rule) + " of " + backend);
  return listed(names);
}

std::string to_text(std::span<const SharedAssumption> assumptions) {
  if (assumptions.empty()) return {};
  std::string text = "Rests on assumptions:\n";
  for (const SharedAssumption& each : assumptions)
    text += wrapped("  " + each.rules_text() + " (" + count_of(each.layers, "layer") + "): " + each.source, 4);
  return text;
}

std::string only_if(std::span<const SharedAssumption> assumptions) {
  std::vector<std::string> names;
  for (const SharedAssumption& each : assumptions) names.push_back(each.rules_text());
  const bool is_one = assumptions.size() == 1;
  return "only if " + (is_one ? "1 assumption holds: " : std::to_string(assumptions.size()) + " assumptions hold: ") + listed(names) +
         "; --accept-assumptions takes " + (is_one ? "it" : "them");
}

JsonValue json_of(std::span<const BackendAssumption> assumptions) {
  JsonValue list = JsonValue::array();
  for (const auto& [backend, assumption] : assumptions)
    list.push_back({{"backend", backend}, {"rule", assumption.rule}, {"source", assumption.source}});
  return list;
}

JsonValue json_of(std::span<const SharedAssumption> assumptions) {
  JsonValue list = JsonValue::array();
  for (const SharedAssumption& each : assumptions)
    list.push_back({{"backend", each.backend}, {"rules", each.rules}, {"source", each.source}, {"layers", each.layers}});
  return list;
}

}  // namespace lastbit
