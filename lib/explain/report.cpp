// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lastbit/explain.hpp"

namespace lastbit {
namespace {

using Json = nlohmann::ordered_json;

std::string share_text(std::int64_t part, std::int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f %%", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

std::string names_of_changes(const LayerAttribution& layer, const Cause& cause) {
  std::string text;
  for (const std::size_t change : cause.changes) text += (text.empty() ? "" : " with ") + layer.changes[change].name;
  return text;
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

std::string cause_lines(const LayerAttribution& layer) {
  std::string text;
  for (const Cause& cause : layer.causes) {
    char line[64];
    std::snprintf(line, sizeof(line), "  %8lld  ", static_cast<long long>(cause.values));
    text += line;
    std::string rest;
    for (const std::size_t change : cause.changes) {
      rest += (rest.empty() ? "" : "\n            with ") + layer.changes[change].name + ": " + layer.changes[change].what;
    }
    text += rest + "\n";
    if (cause.alternatives > 0) text += "            (of " + std::to_string(cause.alternatives) + " another change alone would do)\n";
  }
  if (layer.unexplained > 0) text += "  " + std::to_string(layer.unexplained) + " not explained by any set of rules tried\n";
  return text;
}

/// The paths behind the names that were used, each once.
std::string rule_lines(const ExplainReport& report) {
  std::vector<std::string> lines;
  for (const LayerAttribution& layer : report.layers) {
    for (const Cause& cause : layer.causes) {
      for (const std::size_t change : cause.changes) {
        const RuleChange& rule = layer.changes[change];
        if (rule.rules.front() == rule.name) continue;
        std::string line = "  " + rule.name + ": " + rule.rules.front();
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
      }
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text.empty() ? text : "\nThe rules meant:\n" + text;
}

Json to_json(const LayerAttribution& layer) {
  Json json{{"name", layer.name},
            {"operation", layer.operation},
            {"values", layer.values},
            {"differing", layer.differing.size()},
            {"unexplained", layer.unexplained},
            {"accumulated_differing", layer.accumulated_differing},
            {"changes", Json::array()},
            {"causes", Json::array()},
            {"differences", Json::array()}};
  for (const RuleChange& change : layer.changes) {
    json["changes"].push_back({{"name", change.name}, {"what", change.what}, {"rules", change.rules}});
  }
  for (const Cause& cause : layer.causes) {
    json["causes"].push_back({{"changes", cause.changes},
                              {"values", cause.values},
                              {"negative", cause.negative},
                              {"alternatives", cause.alternatives},
                              {"histogram", cause.histogram.counts}});
  }
  for (const AttributedValue& value : layer.differing) {
    Json entry{{"index", value.index}, {"a", value.a}, {"b", value.b}};
    entry["cause"] = value.cause ? Json(*value.cause) : Json();
    json["differences"].push_back(std::move(entry));
  }
  return json;
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
      report.model + ": where " + report.b + " parts from " + report.a + ", each layer fed with " + report.a + "'s tensors\n";
  std::int64_t equal = 0, differing = 0, unexplained = 0;
  for (const LayerAttribution& layer : report.layers) {
    if (layer.differing.empty()) {
      ++equal;
      continue;
    }
    differing += static_cast<std::int64_t>(layer.differing.size());
    unexplained += layer.unexplained;
    text += "\n" + layer.operation + " '" + layer.name + "': " + std::to_string(layer.differing.size()) + " of " +
            std::to_string(layer.values) + " differ, " + lsb_text(layer) + " (" +
            share_text(static_cast<std::int64_t>(layer.differing.size()), layer.values) + "; in the network " +
            share_text(layer.accumulated_differing, layer.values) + ")\n" + cause_lines(layer);
  }
  text += "\n" + std::to_string(equal) + " of " + std::to_string(report.layers.size()) + " layers are equal. ";
  text += std::to_string(differing) + " values differ, " + std::to_string(differing - unexplained) + " are explained.\n";
  return text + rule_lines(report);
}

std::string to_json(const ExplainReport& report) {
  Json json{{"model", report.model}, {"a", report.a}, {"b", report.b}, {"layers", Json::array()}};
  for (const LayerAttribution& layer : report.layers) json["layers"].push_back(to_json(layer));
  return json.dump(2) + "\n";
}

}  // namespace lastbit
