// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analysis/explain/text.hpp"
#include "lastbit/json_value.hpp"

namespace lastbit {
namespace {

/// "half_even -> half_up", of which the device has the second.
std::string change_text(const RuleChange& change) { return change.name + ": " + change.what; }

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

bool is_explained(const DumpVerdict& layer) { return !layer.explanations.empty() || !layer.backends.empty(); }

constexpr std::size_t most_rules_shown = 4;

/// One line for each rule, with all values of it that explain the layer: "bits: 32 -> 14, 15, 16".
std::vector<std::string> rule_texts(const DumpVerdict& layer) {
  std::vector<std::string> texts;
  const RuleChange* last = nullptr;
  for (const RuleChange& change : layer.explanations) {
    if (last != nullptr && last->name == change.name) texts.back() += ", " + change.what.substr(change.what.find("-> ") + 3);
    else texts.push_back(change_text(change));
    last = &change;
  }
  return texts;
}

std::string findings(const DumpVerdict& layer) {
  std::string text;
  const std::vector<std::string> rules = rule_texts(layer);
  for (std::size_t i = 0; i < std::min(rules.size(), most_rules_shown); ++i)
    text += (i == 0 ? "  explained by  " : "            or  ") + rules[i] + "\n";
  if (rules.size() > most_rules_shown) text += "            or by " + std::to_string(rules.size() - most_rules_shown) + " more rules\n";
  if (!layer.backends.empty()) text += "  computed just so by " + joined(layer.backends) + "\n";
  if (text.empty()) text = "  not explained by any single rule: try identify\n";
  if (layer.nearest && layer.nearest_differing < layer.differing && layer.backends.empty()) {
    text += "  nearest: " + change_text(*layer.nearest) + ", after which " + std::to_string(layer.nearest_differing) + " differ\n";
  }
  return text;
}

std::string verdict_text(const DumpVerdict& layer) {
  const std::string title = layer_title(layer.number, layer.operation, layer.name);
  const std::string note = layer.note.empty() ? "" : "  " + layer.note + "\n";
  if (layer.differing == 0) return title + ": equal\n" + note;
  return title + "\n  " + std::to_string(layer.differing) + " of " + std::to_string(layer.values) + " differ (" +
         share_text(layer.differing, layer.values) + ")\n" + findings(layer) + note;
}

JsonValue to_json(const RuleChange& change) { return {{"rule", change.name}, {"what", change.what}}; }

JsonValue to_json(const DumpVerdict& layer) {
  JsonValue json{{"number", layer.number}, {"name", layer.name},           {"operation", layer.operation},
                 {"values", layer.values}, {"differing", layer.differing}, {"histogram", layer.histogram.counts}};
  json["explanations"] = JsonValue::array();
  for (const RuleChange& change : layer.explanations) json["explanations"].push_back(to_json(change));
  json["backends"] = layer.backends;
  json["nearest"] = layer.nearest ? to_json(*layer.nearest) : JsonValue();
  if (layer.nearest) json["nearest"]["differing"] = layer.nearest_differing;
  json["note"] = layer.note;
  return json;
}

}  // namespace

std::string to_text(const DumpReport& report) {
  std::string text = report.model + ": " + report.dump + " against " + report.backend + ", each layer fed with the dump's tensors\n\n";
  std::int64_t equal = 0, explained = 0;
  for (const DumpVerdict& layer : report.layers) {
    text += verdict_text(layer);
    equal += layer.differing == 0 ? 1 : 0;
    explained += layer.differing > 0 && is_explained(layer) ? 1 : 0;
  }
  const auto count = static_cast<std::int64_t>(report.layers.size());
  text += "\n" + std::to_string(equal) + " of " + std::to_string(count) + " layers are equal, " + std::to_string(explained) +
          " are explained, " + std::to_string(count - equal - explained) + " are not explained by any single rule.\n";
  for (const CommonExplanation& common : report.common) {
    if (common.layers > 1) text += change_text(common.change) + " explains " + std::to_string(common.layers) + " of them.\n";
  }
  return text + evidence_lines(report.evidence);
}

std::string to_json(const DumpReport& report) {
  JsonValue json{{"model", report.model}, {"dump", report.dump}, {"backend", report.backend}, {"layers", JsonValue::array()}};
  for (const DumpVerdict& layer : report.layers) json["layers"].push_back(to_json(layer));
  json["common"] = JsonValue::array();
  for (const CommonExplanation& common : report.common) {
    JsonValue entry = to_json(common.change);
    entry["layers"] = common.layers;
    json["common"].push_back(std::move(entry));
  }
  return json.text(2) + "\n";
}

}  // namespace lastbit
