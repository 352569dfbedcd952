// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "analysis/explain/text.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/verdict_assumptions.hpp"

namespace lastbit {
namespace {

/// "first rounding with multiplier width on negative ties"
std::string names_of_changes(const LayerAttribution& layer, const Cause& cause) {
  std::string text;
  for (const std::size_t change : cause.changes) text += (text.empty() ? "" : " with ") + layer.changes[change].name;
  if (cause.values == 0 || cause.ties < cause.values) return text;
  return text + (cause.negative == cause.values ? " on negative ties" : " on ties");
}

/// "all -1 LSB", "-1 to +2 LSB".
std::string lsb_text(const LayerAttribution& layer) {
  if (layer.differing.empty()) return "";
  const auto step = [](const AttributedValue& value) { return value.b - value.a; };
  const auto [least, most] =
      std::minmax_element(layer.differing.begin(), layer.differing.end(), [&](const auto& x, const auto& y) { return step(x) < step(y); });
  char text[64];
  const auto from = static_cast<long long>(step(*least)), to = static_cast<long long>(step(*most));
  if (from == to) std::snprintf(text, sizeof(text), "all %+lld LSB", from);
  else std::snprintf(text, sizeof(text), "%+lld to %+lld LSB", from, to);
  return text;
}

/// "of which 75 are ties, 12 are below zero; 3 could as well be …"
std::string details(const Cause& cause) {
  std::string text;
  const auto add = [&](std::int64_t count, const std::string& what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + what;
  };
  if (cause.ties < cause.values) add(cause.ties, " of them round a tie");
  if (cause.negative < cause.values) add(cause.negative, " are below zero");
  add(cause.alternatives, " another change alone would explain as well");
  return text.empty() ? text : "            (" + text + ")\n";
}

std::string cause_lines(const LayerAttribution& layer) {
  std::string text;
  for (const Cause& cause : layer.causes) {
    char line[64];
    std::snprintf(line, sizeof(line), "  %8lld  ", static_cast<long long>(cause.values));
    text += line + names_of_changes(layer, cause) + "\n";
    for (const std::size_t change : cause.changes) {
      const std::string name = cause.changes.size() > 1 ? layer.changes[change].name + ": " : "";
      text += "            " + name + layer.changes[change].what + "\n";
    }
    text += details(cause);
  }
  if (layer.unexplained > 0) text += "  " + std::to_string(layer.unexplained) + " not explained by any set of rules tried\n";
  return text;
}

std::string origin_line(const LayerAttribution& layer) {
  const Origin& origin = layer.in_network;
  if (origin.total() == static_cast<std::int64_t>(layer.differing.size()) && origin.inherited + origin.both == 0) return {};
  return "  in the network " + std::to_string(origin.total()) + " differ (" + share_text(origin.total(), layer.values) +
         "): " + std::to_string(origin.inherited) + " inherited, " + std::to_string(origin.own) + " its own, " +
         std::to_string(origin.both) + " both\n";
}

/// The paths behind the names that were used, each once.
std::string rule_lines(const ExplainReport& report) {
  std::vector<std::string> lines;
  for (const LayerAttribution& layer : report.layers) {
    for (const Cause& cause : layer.causes) {
      for (const std::size_t change : cause.changes) {
        const RuleChange& rule = layer.changes[change];
        const std::string& path = rule.rules.front();
        const bool is_path = rule.name.starts_with(path) || (!rule.rules_of_b.empty() && rule.name == rule.rules_of_b.front());
        if (is_path) continue;
        std::string line = "  " + rule.name + ": " + path + (rule.rules_of_b.empty() ? "" : " -> " + rule.rules_of_b.front());
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
      }
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text.empty() ? text : "\nThe rules meant:\n" + text;
}

JsonValue to_json(const ValueTrace& trace) {
  JsonValue json{{"accumulator", trace.accumulator}, {"left_width", nullptr}, {"steps", JsonValue::array()}, {"output", trace.output}};
  if (trace.left_width)
    json["left_width"] = {{"term", trace.left_width->term}, {"terms", trace.left_width->terms}, {"rule", trace.left_width->rule}};
  for (const StageStep& step : trace.steps)
    json["steps"].push_back({{"stage", step.stage}, {"value", step.value}, {"in_output_steps", step.real}, {"tie", step.tie}});
  return json;
}

JsonValue to_json(const LayerAttribution& layer) {
  JsonValue json{
      {"number", layer.number},
      {"name", layer.name},
      {"operation", layer.operation},
      {"values", layer.values},
      {"differing", layer.differing.size()},
      {"unexplained", layer.unexplained},
      {"in_network", {{"own", layer.in_network.own}, {"inherited", layer.in_network.inherited}, {"both", layer.in_network.both}}},
      {"changes", JsonValue::array()},
      {"causes", JsonValue::array()},
      {"differences", JsonValue::array()}};
  for (const RuleChange& change : layer.changes) {
    JsonValue one{{"name", change.name}, {"what", change.what}, {"rules", change.rules}};
    if (!change.rules_of_b.empty()) one["rules_of_b"] = change.rules_of_b;
    json["changes"].push_back(std::move(one));
  }
  for (const Cause& cause : layer.causes) {
    json["causes"].push_back({{"changes", cause.changes},
                              {"values", cause.values},
                              {"negative", cause.negative},
                              {"ties", cause.ties},
                              {"alternatives", cause.alternatives},
                              {"histogram", cause.histogram.counts}});
  }
  for (const AttributedValue& value : layer.differing) {
    JsonValue entry{{"index", value.index}, {"a", value.a}, {"b", value.b}};
    entry["cause"] = value.cause ? JsonValue(*value.cause) : JsonValue();
    json["differences"].push_back(std::move(entry));
  }
  json["assumptions"] = JsonValue::array();
  for (const Assumption& assumption : layer.assumptions)
    json["assumptions"].push_back({{"rule", assumption.rule}, {"source", assumption.source}});
  if (!layer.shown.empty()) json["side_by_side"] = JsonValue::array();
  for (const SideBySide& value : layer.shown) {
    json["side_by_side"].push_back(
        {{"index", value.index}, {"parts_at", value.parts_at}, {"a", to_json(value.a)}, {"b", to_json(value.b)}});
  }
  return json;
}

/// Of every layer, whether it differs or not.
std::vector<SharedAssumption> network_assumptions(const ExplainReport& report) {
  std::vector<std::vector<BackendAssumption>> layers;
  for (const LayerAttribution& layer : report.layers) {
    std::vector<BackendAssumption>& assumed = layers.emplace_back();
    for (const Assumption& assumption : layer.assumptions) assumed.push_back({{}, assumption});
  }
  return shared_assumptions(layers);
}

}  // namespace

std::string summary(const LayerAttribution& layer) {
  if (layer.differing.empty()) return "equal";
  std::string text;
  for (const Cause& cause : layer.causes) {
    text += (text.empty() ? "" : ", ") + std::to_string(cause.values) + " " + names_of_changes(layer, cause);
  }
  if (layer.unexplained > 0) text += (text.empty() ? "" : ", ") + std::to_string(layer.unexplained) + " unexplained";
  return text + "; " + lsb_text(layer);
}

std::string to_text(const ExplainReport& report) {
  std::string text =
      report.model + ": where " + report.b + " differs from " + report.a + ", each layer fed with " + report.a + "'s tensors\n";
  std::int64_t equal = 0, differing = 0, unexplained = 0;
  for (const LayerAttribution& layer : report.layers) {
    if (layer.differing.empty()) ++equal;
    if (layer.differing.empty() && layer.in_network.total() == 0) continue;
    differing += static_cast<std::int64_t>(layer.differing.size());
    unexplained += layer.unexplained;
    const auto count = static_cast<std::int64_t>(layer.differing.size());
    text += "\n" + layer_title(layer.number, layer.operation, layer.name) + "\n  " + std::to_string(count) + " of " +
            std::to_string(layer.values) + " differ (" + share_text(count, layer.values) + ")" + (count > 0 ? ", " : "") + lsb_text(layer) +
            "\n" + cause_lines(layer) + origin_line(layer);
    for (const SideBySide& value : layer.shown) text += "\n" + to_text(value, report.a, report.b);
  }
  text += "\n" + std::to_string(equal) + " of " + std::to_string(report.layers.size()) + " layers are equal. ";
  text += std::to_string(differing) + " values differ, " + std::to_string(differing - unexplained) + " are explained.\n";
  return text + rule_lines(report) + evidence_lines(report.evidence) + to_text(network_assumptions(report));
}

std::string to_json(const ExplainReport& report) {
  JsonValue json{{"model", report.model}, {"a", report.a}, {"b", report.b}, {"layers", JsonValue::array()}};
  for (const LayerAttribution& layer : report.layers) json["layers"].push_back(to_json(layer));
  json["evidence"] = JsonValue::array();
  for (const RuleEvidence& each : report.evidence)
    json["evidence"].push_back({{"rule", each.rule}, {"backend", each.backend}, {"level", each.level}, {"source", each.source}});
  return json.text(2) + "\n";
}

}  // namespace lastbit
