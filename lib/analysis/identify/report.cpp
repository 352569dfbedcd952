// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// An identification as text, as JSON, and as a backend.
#include <algorithm>
#include <sstream>

#include "lastbit/identify.hpp"
#include "lastbit/json_value.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

std::string joined(const std::vector<std::string>& words, std::size_t most = 12) {
  std::string text;
  for (std::size_t i = 0; i < std::min(words.size(), most); ++i) text += (i == 0 ? "" : " | ") + words[i];
  return words.size() > most ? text + " | … (" + std::to_string(words.size()) + ")" : text;
}

std::string counted(std::int64_t count, const std::string& thing) { return std::to_string(count) + " " + thing + (count == 1 ? "" : "s"); }

void add_rules(std::ostream& out, const RuleClass& one) {
  out << "  told by the data:\n";
  bool none = true;
  for (const RuleValues& rule : one.rules) {
    if (!rule.settled()) continue;
    out << "    " << rule.rule << ": " << rule.values[0] << "\n";
    none = false;
  }
  if (none) out << "    nothing\n";
  if (std::all_of(one.rules.begin(), one.rules.end(), [](const RuleValues& rule) { return rule.settled(); })) return;
  out << "  not told (each value occurs among the combinations left):\n";
  for (const RuleValues& rule : one.rules) {
    if (rule.settled()) continue;
    out << "    " << rule.rule << ": " << (rule.values.size() == rule.possible ? "any of " : "") << joined(rule.values) << "\n";
  }
}

void add_operation(std::ostream& out, const OperationIdentification& operation) {
  out << operation.rules << ": " << counted(operation.pairs, "layer") << ", " << counted(operation.values, "value") << "; "
      << counted(operation.combinations, "combination") << " of rules";
  if (operation.sum_bits > 0) out << "; sums stay within " << operation.sum_bits << " bits";
  out << "\n";
  for (std::size_t i = 0; i < operation.classes.size(); ++i) {
    const RuleClass& one = operation.classes[i];
    const std::int64_t differing = operation.values - one.agreeing;
    out << "  " << i + 1 << ". "
        << (differing == 0 ? "every value equal" : counted(differing, "value") + " of " + std::to_string(operation.values) + " differ")
        << ": " << counted(one.combinations, "combination");
    if (!one.backends.empty()) out << "; as " << joined(one.backends, 6);
    out << "\n";
  }
  if (!operation.exact()) out << "  no combination of the space explains every value; the nearest one:\n";
  add_rules(out, operation.best());
}

JsonValue json_of(const RuleClass& one) {
  JsonValue json{{"agreeing", one.agreeing}, {"combinations", one.combinations}, {"backends", one.backends}};
  if (!one.represented_by.empty()) json["represented_by"] = one.represented_by;
  json["rules"] = JsonValue::array();
  for (const RuleValues& rule : one.rules)
    json["rules"].push_back({{"rule", rule.rule}, {"settled", rule.settled()}, {"values", rule.values}, {"possible", rule.possible}});
  return json;
}

/// Where below `place` a rule of the space is kept; what is not listed is a path already, or a member of its own name.
std::string path_of(const std::string& place, const std::string& rule) {
  static const std::pair<std::string_view, std::string_view> paths[] = {{"accumulator width", "accumulator.bits"},
                                                                        {"accumulator overflow", "accumulator.overflow"},
                                                                        {"accumulator narrowed", "accumulator.when"},
                                                                        {"partial sums", "accumulator.partial"},
                                                                        {"bias added", "bias"},
                                                                        {"bias width", "bias_bits"},
                                                                        {"per-channel scales", "per_channel"},
                                                                        {"way", "output.chain"},
                                                                        {"scale computed in", "output.scale.arithmetic"},
                                                                        {"multiplier", "output.scale"},
                                                                        {"first rounding", "output.chain"},
                                                                        {"last rounding", "output.chain"},
                                                                        {"zero point", "output.chain"},
                                                                        {"intermediate width", "output.chain"}};
  const auto* const found = std::find_if(std::begin(paths), std::end(paths), [&](const auto& each) { return each.first == rule; });
  if (found != std::end(paths)) return join_path(place, found->second);
  return rule.find('.') == std::string::npos ? join_path(place, rule) : rule;
}

/// Measured as a whole; a guess in what the data do not tell.
void add_evidence(SpecSheet& sheet, const OperationIdentification& operation, const std::string& path) {
  const std::string measured =
      std::to_string(operation.best().agreeing) + " of " + counted(operation.values, "value") + " equal to the device's";
  sheet.evidence.push_back({path, operation.exact() ? EvidenceLevel::hardware : EvidenceLevel::guess, measured});
  if (path != operation.rules) return;
  for (const RuleValues& rule : operation.best().rules) {
    if (rule.settled()) continue;
    const std::string place = path_of(path, rule.rule), why = rule.rule + ", not told by the data: " + joined(rule.values, 6);
    const auto known = std::find_if(sheet.evidence.begin(), sheet.evidence.end(), [&](const Evidence& one) { return one.rule == place; });
    if (known == sheet.evidence.end()) sheet.evidence.push_back({place, EvidenceLevel::guess, why});
    else known->source += "; " + why;
  }
}

}  // namespace

std::string to_text(const Identification& identification) {
  std::ostringstream out;
  for (const OperationIdentification& operation : identification.operations) add_operation(out, operation);
  for (const SkippedPair& pair : identification.skipped) out << "skipped " << pair.name << ": " << pair.reason << "\n";
  return out.str();
}

std::string to_json(const Identification& identification) {
  JsonValue json{{"format", "lastbit.identification.v1"}, {"exact", identification.exact()}, {"operations", JsonValue::array()}};
  for (const OperationIdentification& operation : identification.operations) {
    JsonValue one{{"rules", operation.rules},        {"layers", operation.pairs},
                  {"values", operation.values},      {"combinations", operation.combinations},
                  {"distinct_sums", operation.sums}, {"sum_bits", operation.sum_bits},
                  {"classes", JsonValue::array()}};
    for (const RuleClass& each : operation.classes) one["classes"].push_back(json_of(each));
    json["operations"].push_back(std::move(one));
  }
  json["skipped"] = JsonValue::array();
  for (const SkippedPair& pair : identification.skipped) json["skipped"].push_back({{"name", pair.name}, {"reason", pair.reason}});
  return json.text(2) + "\n";
}

SpecSheet identified_backend(const Identification& identification, const std::string& name, const SpecSheet* base) {
  SpecSheet sheet{.name = name, .title = "identified from what the device computed", .backend = {}, .evidence = {}, .settings = {}};
  if (base != nullptr) {
    sheet.backend = base->backend;
    sheet.quantizer = base->quantizer;
    sheet.evidence.push_back({"*", EvidenceLevel::guess, "not identified: taken from " + base->name});
  }
  for (const OperationIdentification& operation : identification.operations) {
    const RuleClass& best = operation.best();
    for (const Rule* const rule : present_operations(best.backend)) {
      const bool is_stated = !rule->type->equal(address(best.backend, *rule), rule->type->fresh);
      if (!is_stated) continue;
      copy_rules(sheet.backend, best.backend, rule->path);
      add_evidence(sheet, operation, rule->path);
    }
  }
  return sheet;
}

}  // namespace lastbit
