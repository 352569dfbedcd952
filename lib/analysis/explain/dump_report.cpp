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

bool has_finding(const DumpVerdict& layer) { return !layer.explanations.empty() || !layer.backends.empty(); }

constexpr std::size_t most_rules_shown = 4;

std::string new_value(const RuleChange& change) { return change.what.substr(change.what.find("-> ") + 3); }

bool is_digits(const std::string& text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos; }

/// "8, 12 to 26"
std::string list_of(const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t last = i;
    const auto follows = [&](std::size_t k) {
      return is_digits(values[k]) && is_digits(values[k + 1]) && std::stoi(values[k]) + 1 == std::stoi(values[k + 1]);
    };
    while (last + 1 < values.size() && follows(last)) ++last;
    if (last - i < 2) last = i;
    text += (text.empty() ? "" : ", ") + values[i] + (last > i ? " to " + values[last] : "");
    i = last + 1;
  }
  return text;
}

/// One line for each rule, with all its values: "bits: 32 -> 14, 15, 20 to 26".
std::vector<std::string> rule_texts(const std::vector<RuleChange>& changes) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < changes.size();) {
    std::vector<std::string> values;
    const RuleChange& first = changes[i];
    const std::string from = first.what.substr(0, first.what.find("-> "));
    for (; i < changes.size() && changes[i].name == first.name && changes[i].what.starts_with(from); ++i)
      values.push_back(new_value(changes[i]));
    if (std::ranges::all_of(values, is_digits)) std::ranges::sort(values, {}, [](const std::string& value) { return std::stoi(value); });
    texts.push_back(first.name + ": " + from + "-> " + list_of(values));
  }
  return texts;
}

/// "  explained by  …" and further lines below it; nothing for none.
std::string rule_lines(const std::string& title, const std::vector<RuleChange>& changes) {
  const std::vector<std::string> rules = rule_texts(changes);
  const std::string alternative = std::string(title.size() > 2 ? title.size() - 2 : 0, ' ') + "or";
  std::string text;
  for (std::size_t i = 0; i < std::min(rules.size(), most_rules_shown); ++i)
    text += "  " + (i == 0 ? title : alternative) + "  " + rules[i] + "\n";
  if (rules.size() <= most_rules_shown) return text;
  return text + "  " + alternative + " by " + std::to_string(rules.size() - most_rules_shown) + " more rules\n";
}

/// "  explained by a mistake, not by arithmetic: …" and others below it; nothing for none. Where the arithmetic explains it as well, it goes first.
std::string mistake_lines(const std::vector<NamedMistake>& mistakes, bool after_rules) {
  const std::string title = after_rules ? "  or by a mistake outside of the arithmetic: " : "  explained by a mistake, not by arithmetic: ",
                    alternative = std::string(title.size() - 4, ' ') + "or: ";
  std::string text;
  for (std::size_t i = 0; i < std::min(mistakes.size(), most_rules_shown); ++i)
    text += (i == 0 ? title : alternative) + mistakes[i].what + "\n";
  if (mistakes.size() <= most_rules_shown) return text;
  return text + alternative + std::to_string(mistakes.size() - most_rules_shown) + " more mistakes\n";
}

std::string verdict_text(const DumpVerdict& layer, const DumpReport& report) {
  const std::string title = layer_title(layer.number, layer.operation, layer.name);
  const std::string note = layer.note.empty() ? "" : "  " + layer.note + "\n";
  if (layer.differing == 0) return title + ": equal\n" + note;
  return title + "\n  " + std::to_string(layer.differing) + " of " + std::to_string(layer.values) + " differ (" +
         share_text(layer.differing, layer.values) + ")\n" + findings(layer, report) + note;
}

std::string common_lines(const DumpReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.common.size();) {
    const std::int64_t layers = report.common[i].layers;
    std::vector<RuleChange> alike;
    for (; i < report.common.size() && report.common[i].layers == layers; ++i) alike.push_back(report.common[i].change);
    for (const std::string& rule : rule_texts(alike))
      if (layers > 1) text += rule + (report.one_device ? " explains " : " computes ") + std::to_string(layers) + " of them.\n";
  }
  return text;
}

bool is_mistaken(const DumpVerdict& layer) { return !layer.mistakes.empty() && !has_finding(layer); }

/// Who computes the whole dump; of the layers that are equal nothing more can be told than that such a device computes them as well.
std::string one_device_text(const DumpReport& report, std::int64_t equal) {
  const bool has_mistakes = std::ranges::any_of(report.layers, is_mistaken);
  const std::string who = (has_mistakes ? "One device computes every other layer" : "One device computes every layer") +
                          std::string(equal > 0 ? ", the equal ones as well: " : ": ");
  for (const DumpVerdict& layer : report.layers)
    if (!layer.backends.empty()) return who + joined(layer.backends) + ".\n";
  if (report.common.empty()) return {};
  return who + report.backend + " with " + change_text(report.common.front().change) + ".\n";
}

/// "5 of 15 layers are equal, …" and what speaks for one device, or against it.
std::string conclusion(const DumpReport& report) {
  std::int64_t equal = 0, found = 0, mistaken = 0;
  for (const DumpVerdict& layer : report.layers) {
    equal += layer.differing == 0 ? 1 : 0;
    found += layer.differing > 0 && has_finding(layer) ? 1 : 0;
    mistaken += is_mistaken(layer) ? 1 : 0;
  }
  const auto count = static_cast<std::int64_t>(report.layers.size());
  std::string text = "\n" + std::to_string(equal) + " of " + std::to_string(count) + " layers are equal, ";
  if (report.one_device || found == 0) text += std::to_string(found) + " are explained, ";
  else text += "0 are explained, " + std::to_string(found) + " are computed by changes that do not hold for all, ";
  if (mistaken > 0) text += std::to_string(mistaken) + " by a mistake outside of the arithmetic, ";
  text += std::to_string(count - equal - found - mistaken) + " are not.\n";
  if (report.one_device && found > 0) text += one_device_text(report, equal);
  if (!report.doubt.empty()) text += "Not one device, or one whose operations differ: " + report.doubt + ".\n";
  if (!report.all_mistakes_tried) text += "Not all mistakes were tried: the parts of the network to be computed are large.\n";
  if (!report.all_pairs_tried) text += "Not all pairs of rules were tried: the parts of the network to be computed are large.\n";
  return text;
}

JsonValue to_json(const RuleChange& change) { return {{"rule", change.name}, {"what", change.what}}; }

JsonValue to_json(const std::vector<RuleChange>& changes) {
  JsonValue json = JsonValue::array();
  for (const RuleChange& change : changes) json.push_back(to_json(change));
  return json;
}

JsonValue to_json(const NamedMistake& mistake) { return {{"name", mistake.name}, {"what", mistake.what}}; }

JsonValue to_json(const DumpVerdict& layer) {
  JsonValue json{{"number", layer.number}, {"name", layer.name},           {"operation", layer.operation},
                 {"values", layer.values}, {"differing", layer.differing}, {"histogram", layer.histogram.counts}};
  json["explanations"] = to_json(layer.explanations);
  json["alone"] = to_json(layer.alone);
  json["backends"] = layer.backends;
  json["backends_alone"] = layer.backends_alone;
  json["nearest"] = layer.nearest ? to_json(*layer.nearest) : JsonValue();
  if (layer.nearest) json["nearest"]["differing"] = layer.nearest_differing;
  json["mistakes"] = JsonValue::array();
  for (const NamedMistake& mistake : layer.mistakes) json["mistakes"].push_back(to_json(mistake));
  json["nearest_mistake"] = layer.nearest_mistake ? to_json(*layer.nearest_mistake) : JsonValue();
  if (layer.nearest_mistake) json["nearest_mistake"]["differing"] = layer.nearest_mistake_differing;
  json["misread"] = layer.misread;
  json["suspected"] = layer.suspected;
  json["follows"] = layer.follows;
  json["note"] = layer.note;
  return json;
}

}  // namespace

std::string findings(const DumpVerdict& layer, const DumpReport& report) {
  if (!layer.follows.empty())
    return "  follows from " + layer.follows + ", which is not right: equal where that is as the backend computes it\n";
  std::string misread = layer.misread.empty() ? "" : "  misread: " + layer.misread + "\n";
  if (!misread.empty() && layer.explanations.empty()) return misread;
  std::string text = rule_lines(report.one_device ? "explained by" : "computed by", layer.explanations);
  if (!layer.backends.empty()) text += "  computed just so by " + joined(layer.backends) + "\n";
  text += misread;
  if (!layer.suspected.empty() && layer.explanations.empty()) text += "  suspected: " + layer.suspected + "\n";
  text += mistake_lines(layer.mistakes, has_finding(layer));
  if (!layer.mistakes.empty() && !has_finding(layer)) text += rule_lines("by itself computed by", layer.alone);
  if (text.empty()) {
    const auto kind = operation_kind_from(layer.operation);
    if (kind && is_movement(*kind)) return "  it only moves data, and no rule has a part in that\n";
    text = std::string("  no single rule and no pair of rules") + (report.all_pairs_tried ? "" : " that was tried") +
           " explains it: try identify\n";
    text += rule_lines("by itself computed by", layer.alone);
    if (!layer.backends_alone.empty()) text += "  by itself computed just so by " + joined(layer.backends_alone) + "\n";
  }
  if (layer.nearest && layer.backends.empty() && layer.alone.empty())
    text += "  nearest: " + change_text(*layer.nearest) + ", after which " + std::to_string(layer.nearest_differing) + " differ\n";
  if (layer.nearest_mistake && layer.backends.empty() && layer.alone.empty())
    text += "  nearest: a mistake: " + layer.nearest_mistake->what + ", after which " + std::to_string(layer.nearest_mistake_differing) +
            " differ\n";
  return text;
}

std::string to_text(const DumpReport& report) {
  std::string text = report.model + ": " + report.dump + " against " + report.backend + ", each layer fed with the dump's tensors\n";
  for (const std::string& note : report.notes) text += note + "\n";
  text += "\n";
  for (const DumpVerdict& layer : report.layers) text += verdict_text(layer, report);
  return text + conclusion(report) + common_lines(report) + evidence_lines(report.evidence);
}

std::string to_json(const DumpReport& report) {
  JsonValue json{{"model", report.model},
                 {"dump", report.dump},
                 {"backend", report.backend},
                 {"one_device", report.one_device},
                 {"doubt", report.doubt},
                 {"all_pairs_tried", report.all_pairs_tried},
                 {"all_mistakes_tried", report.all_mistakes_tried},
                 {"notes", report.notes},
                 {"layers", JsonValue::array()}};
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
