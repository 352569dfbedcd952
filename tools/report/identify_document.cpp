// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lastbit/printable.hpp"
#include "lastbit/rules.hpp"
#include "report/documents.hpp"
#include "report/parts.hpp"

namespace lastbit::tool {
namespace {

Table classes_of(const OperationIdentification& operation) {
  Table table{{{"class"}, {"values equal"}, {"of those searched"}, {"combinations"}, {"as these backends", Alignment::left}}, {}};
  for (std::size_t i = 0; i < operation.classes.size(); ++i) {
    const RuleClass& one = operation.classes[i];
    table.rows.push_back(
        {{operation.rules + " " + joined(one.backends, " "), standing_of(one.agreeing < operation.searched)},
         {i + 1, one.agreeing, share_cell(share_of(one.agreeing, operation.searched)), one.combinations, joined(one.backends)}});
  }
  return table;
}

/// What the data tell of each rule.
Table rules_of(const OperationIdentification& operation) {
  const bool told = operation.exact() && operation.in_time;
  Table table{{{"rule", Alignment::left}, {"told by the data", Alignment::left}, {"values", Alignment::left}, {"left"}, {"of possible"}},
              {}};
  for (const RuleValues& rule : operation.best().rules)
    table.rows.push_back({{operation.rules + " " + rule.rule, rule.settled() && told ? Standing::equal : Standing::open},
                          {rule.rule,
                           !told            ? "nothing is told"
                           : rule.settled() ? "yes"
                                            : "no",
                           joined(rule.values, " | "), rule.values.size(), rule.possible}});
  return table;
}

List proof_of(const RuleClass& one) {
  if (!one.proof || one.combinations < 2) return {};
  const ClassProof& proof = *one.proof;
  List list;
  if (proof.is_one())
    list.lines.push_back("Proven: on " + proof.over + " that these layers can have all " + std::to_string(one.combinations) +
                         " combinations are the same device; other scales may tell them apart.");
  else if (proof.devices > 1)
    list.lines.push_back("Proven: on " + proof.over + " that these layers can have they are " + (proof.open > 0 ? "at least " : "") +
                         std::to_string(proof.devices) + " different devices.");
  if (!proof.example.empty()) list.lines.push_back("Two of them at " + proof.example + ".");
  if (proof.open > 0) list.lines.push_back("Open: " + count_of(proof.open, "combination") + " (" + proof.why_open + ").");
  return list;
}

std::string head_of(const OperationIdentification& operation) {
  return count_of(operation.pairs, "layer") + ", " + count_of(operation.values, "value") + " of " + count_of(operation.samples, "sample") +
         "; " + count_of(operation.combinations, "combination") + " of rules judged by " + count_of(operation.searched, "value") +
         ". The best computes " + std::to_string(operation.agreeing) + " of " + count_of(operation.values, "value") +
         " as the device did." + (operation.in_time ? "" : " Time was up before every combination was judged.");
}

Table skipped_of(const Identification& found) {
  Table table{{{"layer", Alignment::left}, {"why", Alignment::left}, {"values compared"}, {"differ from every backend"}}, {}};
  for (const SkippedPair& pair : found.skipped)
    table.rows.push_back(
        {{pair.name, pair.values == 0 ? Standing::open : standing_of(pair.differing > 0)},
         {pair.name, pair.reason, pair.values, pair.values == 0 ? Cell() : share_cell(share_of(pair.differing, pair.values))}});
  return table;
}

std::string network_text(const std::optional<Reproduction>& network) {
  if (!network) return "";
  if (!network->impossible.empty()) return "The network cannot be run on these rules: " + network->impossible;
  const std::string what =
      count_of(network->values, "value") + " of " + count_of(network->tensors, "tensor") + " in " + count_of(network->samples, "sample");
  if (network->differing == 0) return "The network on these rules: " + what + ", every one equal.";
  return "The network on these rules: " + what + ", " + std::to_string(network->differing) + " differ, first in '" + network->first + "'.";
}

}  // namespace

Document document_of(const Identification& found, const std::optional<Reproduction>& network, const SpecSheet& sheet) {
  const bool differs = network && (network->differing > 0 || !network->impossible.empty());
  Document page{.title = "identify", .standing = !found.decided() ? Standing::open : standing_of(!found.exact() || differs)};
  page.verdict = found.exact()     ? "Some combination of rules explains every value."
                 : found.decided() ? "No combination of rules explains every value."
                                   : "Undecided: time was up.";
  page.facts = {{"backend", sheet.name}};
  page.add("Network", "", {Paragraph{network_text(network)}});
  for (const OperationIdentification& operation : found.operations)
    page.add("Rules of " + operation.rules, head_of(operation),
             {rules_of(operation), proof_of(operation.best()), Heading{{}, "Classes of combinations, best first"}, classes_of(operation)});
  page.add("Layers that were not looked at", "", {skipped_of(found)});
  AssumptionList measured, assumptions;
  for (const Evidence& each : sheet.evidence)
    (each.level == EvidenceLevel::assumption ? assumptions : measured)
        .push_back({sheet.name, each.rule, std::string(name_of(each.level)), each.source});
  page.add("Evidence", "What was measured.", {measured});
  page.add("Assumptions", "What the data do not tell: the backend that --output writes holds one of the values.", {assumptions});
  AssumptionList taken;
  for (const SharedAssumption& each : found.assumptions)
    for (const std::string& rule : each.rules) taken.push_back({each.backend, rule, "assumption", each.source});
  page.add("Rests on", "What the built-in backends assume whose rules are taken.", {taken});
  return page;
}

}  // namespace lastbit::tool
