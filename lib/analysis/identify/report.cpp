// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// An identification as text, as JSON, and as a backend.
#include <algorithm>
#include <sstream>

#include "analysis/identify/space.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/printable.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

std::string joined(const std::vector<std::string>& words, std::size_t most = 12) {
  std::string text;
  for (std::size_t i = 0; i < std::min(words.size(), most); ++i) text += (i == 0 ? "" : " | ") + words[i];
  return words.size() > most ? text + " | … (" + std::to_string(words.size()) + ")" : text;
}

/// How far what is told reaches.
void add_told(std::ostream& out, const OperationIdentification& operation) {
  const RuleClass& one = operation.best();
  if (operation.complete)
    out << "  told by the data, of every device within one rule of a built-in backend and of the others that were tried:\n";
  else out << "  told among the " << operation.combinations << " that were tried:\n";
  bool none = true;
  for (const RuleValues& rule : one.rules) {
    if (!rule.settled()) continue;
    out << "    " << rule.rule << ": " << rule.values[0] << "\n";
    none = false;
  }
  if (none) out << "    nothing\n";
}

void add_rules(std::ostream& out, const RuleClass& one, const std::string& title, bool told) {
  const auto is_shown = [&](const RuleValues& rule) { return !told || !rule.settled(); };
  if (std::ranges::none_of(one.rules, is_shown)) return;
  out << "  " << title << ":\n";
  for (const RuleValues& rule : one.rules) {
    if (is_shown(rule))
      out << "    " << rule.rule << ": " << (rule.values.size() == rule.possible ? "any of " : "") << joined(rule.values) << "\n";
  }
}

void add_head(std::ostream& out, const OperationIdentification& operation) {
  out << operation.rules << ": " << count_of(operation.pairs, "layer") << ", " << count_of(operation.values, "value");
  if (operation.samples > 1) out << " of " << operation.samples << " samples";
  out << "; " << count_of(operation.combinations, "combination") << " of rules";
  const bool judged_by_some = operation.searched < operation.values;
  if (judged_by_some) out << ", judged by " << count_of(operation.searched, "value");
  if (operation.sum_bits > 0) out << (judged_by_some ? ", whose sums" : "; sums") << " stay within " << operation.sum_bits << " bits";
  out << "\n";
}

void add_classes(std::ostream& out, const OperationIdentification& operation) {
  const std::string all = std::to_string(operation.searched);
  for (std::size_t i = 0; i < operation.classes.size(); ++i) {
    const RuleClass& one = operation.classes[i];
    const std::int64_t differing = operation.searched - one.agreeing;
    out << "  " << i + 1 << ". "
        << (differing == 0 ? "every value equal" : count_of(differing, "value") + " of " + all + (differing == 1 ? " differs" : " differ"))
        << ": " << count_of(one.combinations, "combination");
    if (!one.backends.empty()) out << "; as " << joined(one.backends, 6);
    else if (!one.beside.empty()) out << "; as " << joined(one.beside, 3);
    out << "\n";
  }
  if (operation.searched == operation.values) return;
  out << "  on all " << count_of(operation.samples, "sample") << " " << operation.agreeing << " of " << operation.values
      << " values are equal on the combination that is saved\n";
}

/// What no data can tell, and what other data could.
void add_proof(std::ostream& out, const RuleClass& one) {
  if (!one.proof) return;
  const ClassProof& proof = *one.proof;
  if (proof.is_one()) {
    out << "  proven: on " << proof.over << " that these layers can have all " << one.combinations
        << " combinations are the same device; other scales may tell them apart\n";
    return;
  }
  if (proof.devices > 1) {
    out << "  proven: on " << proof.over << " that these layers can have they are " << (proof.open > 0 ? "at least " : "") << proof.devices
        << " different devices\n";
    if (!proof.example.empty()) out << "    two of them at " << proof.example << "\n";
  }
  if (proof.open > 0) out << "  open: " << count_of(proof.open, "combination") << " (" << proof.why_open << ")\n";
}

void add_operation(std::ostream& out, const OperationIdentification& operation) {
  add_head(out, operation);
  add_classes(out, operation);
  const std::int64_t differing = operation.values - operation.agreeing;
  if (!operation.in_time)
    out << "  undecided: time was up before every combination was judged" << (operation.exact() ? "; others may be equal too" : "") << "\n";
  if (operation.exact() && operation.in_time) {
    add_told(out, operation);
    const bool is_one = operation.best().proof && operation.best().proof->is_one();
    add_rules(out, operation.best(),
              is_one ? "told by no input of these layers (each value occurs among the combinations left)"
                     : "not told (each value occurs among the combinations left)",
              true);
    if (operation.best().combinations > 1) add_proof(out, operation.best());
  } else if (operation.exact()) {
    add_rules(out, operation.best(), "one way to compute every value (nothing is told by the data)", false);
  } else if (2 * differing > operation.values) {
    out << "  no combination " << (operation.in_time ? "of the space" : "met so far")
        << " comes near; a tensor that was misread, or a device of another kind\n";
  } else {
    out << "  no combination " << (operation.in_time ? "of the space" : "met so far") << " explains every value\n";
    add_rules(out, operation.best(), "the nearest one (nothing is told by data that it does not explain)", false);
  }
}

void add_skipped(std::ostream& out, const Identification& identification) {
  std::int64_t covered = 0;
  for (const OperationIdentification& operation : identification.operations) covered += operation.pairs;
  if (identification.skipped.empty()) return;
  out << count_of(covered, "layer") << " covered, " << identification.skipped.size() << " not:\n";
  for (const SkippedPair& pair : identification.skipped) {
    out << "  " << pair.name << ": " << pair.reason << "; ";
    if (pair.values == 0) out << "not compared\n";
    else if (pair.differing == 0) out << "every value of " << pair.values << " as a built-in backend computes it\n";
    else
      out << pair.differing << " of " << count_of(pair.values, "value") << (pair.differing == 1 ? " differs" : " differ")
          << " from every built-in backend\n";
  }
}

/// `told`: the class explains the data, and every combination was judged.
JsonValue json_of(const RuleClass& one, bool told) {
  JsonValue json{{"agreeing", one.agreeing}, {"combinations", one.combinations}, {"backends", one.backends}};
  if (!one.beside.empty()) json["beside"] = one.beside;
  if (!one.represented_by.empty()) json["represented_by"] = one.represented_by;
  if (one.proof)
    json["proof"] = {{"one_device", one.proof->is_one()}, {"over", one.proof->over},         {"devices", one.proof->devices},
                     {"open", one.proof->open},           {"why_open", one.proof->why_open}, {"example", one.proof->example}};
  json["rules"] = JsonValue::array();
  for (const RuleValues& rule : one.rules)
    json["rules"].push_back(
        {{"rule", rule.rule}, {"settled", told && rule.settled()}, {"values", rule.values}, {"possible", rule.possible}});
  return json;
}

/// The rule, or the structure around it that the backend has: other combinations of a class may have more stages.
std::string present_path(const Backend& backend, std::string path) {
  while (find_rule(backend, path) == nullptr && path.find('.') != std::string::npos) path.resize(path.rfind('.'));
  return path;
}

/// Measured as a whole; an assumption in what the data do not tell.
void add_evidence(SpecSheet& sheet, const OperationIdentification& operation, const std::string& path) {
  std::string measured = std::to_string(operation.agreeing) + " of " + count_of(operation.values, "value") + " equal to the device's";
  const bool is_told = operation.exact() && operation.complete;
  if (operation.exact() && !is_told) measured += "; told among the " + std::to_string(operation.combinations) + " devices that were tried";
  sheet.evidence.push_back({path, is_told ? EvidenceLevel::hardware : EvidenceLevel::assumption, measured});
  if (path != operation.rules) return;
  for (const RuleValues& rule : operation.best().rules) {
    if (rule.settled()) continue;
    const std::string place = present_path(sheet.backend, path_of(path, rule.rule)),
                      why = (rule.rule == place ? "" : rule.rule + ", ") + "not told by the data: " + joined(rule.values, 6);
    const auto known = std::find_if(sheet.evidence.begin(), sheet.evidence.end(), [&](const Evidence& one) { return one.rule == place; });
    if (known == sheet.evidence.end()) sheet.evidence.push_back({place, EvidenceLevel::assumption, why});
    else known->source += "; " + why;
  }
}

/// What layers that are not looked for are computed by.
void add_others(SpecSheet& sheet, const Identification& identification) {
  for (const Rule* const rule : present_operations(identification.others)) {
    const bool is_stated = !rule->type->equal(address(identification.others, *rule), rule->type->fresh);
    const bool is_known = std::ranges::any_of(sheet.evidence, [&](const Evidence& one) { return one.rule == rule->path; });
    if (!is_stated || is_known) continue;
    copy_rules(sheet.backend, identification.others, rule->path);
    sheet.evidence.push_back({rule->path, EvidenceLevel::hardware, "every value equal to the device's"});
  }
}

}  // namespace

std::string to_text(const Reproduction& reproduction) {
  if (!reproduction.impossible.empty()) return "the network cannot be run on these rules: " + reproduction.impossible + "\n";
  std::string text = "the network on these rules: " + count_of(reproduction.values, "value") + " of " +
                     count_of(reproduction.tensors, "tensor") + " in " + count_of(reproduction.samples, "sample") + ", ";
  if (reproduction.differing == 0) return text + "every one equal\n";
  return text + std::to_string(reproduction.differing) + " differ, first in '" + reproduction.first + "'\n";
}

std::string to_text(const Identification& identification) {
  std::ostringstream out;
  for (const OperationIdentification& operation : identification.operations) add_operation(out, operation);
  add_skipped(out, identification);
  return out.str() + to_text(identification.assumptions);
}

std::string to_json(const Identification& identification, const std::optional<Reproduction>& network, const ReadDump& dump) {
  JsonValue json{{"format", "lastbit.identification.v1"},
                 {"exact", identification.exact()},
                 {"decided", identification.decided()},
                 {"operations", JsonValue::array()}};
  for (const OperationIdentification& operation : identification.operations) {
    JsonValue one{{"rules", operation.rules},        {"layers", operation.pairs},      {"samples", operation.samples},
                  {"values", operation.values},      {"agreeing", operation.agreeing}, {"values_searched", operation.searched},
                  {"complete", operation.complete},  {"in_time", operation.in_time},   {"combinations", operation.combinations},
                  {"distinct_sums", operation.sums}, {"sum_bits", operation.sum_bits}, {"classes", JsonValue::array()}};
    for (const RuleClass& each : operation.classes)
      one["classes"].push_back(json_of(each, operation.exact() && operation.in_time && each.agreeing == operation.searched));
    json["operations"].push_back(std::move(one));
  }
  json["skipped"] = JsonValue::array();
  for (const SkippedPair& pair : identification.skipped) {
    json["skipped"].push_back({{"name", pair.name}, {"reason", pair.reason}, {"values", pair.values}, {"differing", pair.differing}});
  }
  json["assumptions"] = json_of(identification.assumptions);
  json["dump"] = {{"readings", dump.readings}, {"misread", dump.misread}, {"suspected", dump.suspected}};
  if (network && !network->impossible.empty()) json["network"] = {{"impossible", network->impossible}};
  else if (network)
    json["network"] = {
        {"tensors", network->tensors}, {"samples", network->samples}, {"values", network->values}, {"differing", network->differing}};
  return json.text(2) + "\n";
}

SpecSheet identified_backend(const Identification& identification, const std::string& name, const SpecSheet* base) {
  SpecSheet sheet{.name = name, .title = "identified from what the device computed", .backend = no_rules, .evidence = {}, .settings = {}};
  if (base != nullptr) {
    sheet.backend = base->backend;
    sheet.quantizer = base->quantizer;
    sheet.evidence.push_back({"*", EvidenceLevel::assumption, "not identified: taken from " + base->name});
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
  add_others(sheet, identification);
  return sheet;
}

}  // namespace lastbit
