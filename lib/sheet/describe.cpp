// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sheet/formula.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

constexpr std::size_t columns = 100;

/// Appends `words` broken at spaces so that no line exceeds the columns; lines after the first start with `indent` spaces.
void append_wrapped(std::string& page, const std::string& first, const std::string& words, std::size_t indent) {
  std::string line = first;
  std::size_t start = 0;
  while (start < words.size()) {
    const std::size_t end = std::min(words.find(' ', start), words.size());
    const std::string word = words.substr(start, end - start);
    if (line.size() + 1 + word.size() > columns && line.find_first_not_of(' ') != std::string::npos) {
      page += line + "\n";
      line = std::string(indent, ' ') + word;
    } else {
      line += (start == 0 || line.ends_with(' ') ? "" : " ") + word;
    }
    start = end + 1;
  }
  page += line + "\n";
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

/// Operations with the same formula are named together.
void append_arithmetic(std::string& page, const Backend& backend) {
  std::vector<OperationFormula> groups;
  for (const OperationFormula& next : formulas_of(backend)) {
    const auto same = std::ranges::find(groups, next.lines, &OperationFormula::lines);
    if (same == groups.end()) groups.push_back(next);
    else same->operation += ", " + next.operation;
  }
  for (const OperationFormula& group : groups) {
    append_wrapped(page, "", group.operation, 0);
    for (const std::string& line : group.lines) append_wrapped(page, "    ", line, 8);
  }
}

void append_absent(std::string& page, const Backend& backend) {
  std::string names;
  for (const std::string& operation : absent_operations(backend)) {
    const bool as_others = operation.ends_with(".u8") || operation.ends_with("weights16") || operation.ends_with("weights8") ||
                           operation.ends_with("_16bit") || operation.starts_with("planar_");
    if (as_others) continue;
    names += (names.empty() ? "" : ", ") + operation;
  }
  if (backend.domain == Domain::integer && !names.empty()) append_wrapped(page, "absent: ", names, 8);
}

/// Rules known in the same way from the same source are named together.
void append_evidence(std::string& page, const SpecSheet& sheet) {
  std::vector<Evidence> groups;
  for (const Evidence& next : sheet.evidence) {
    const auto same =
        std::ranges::find_if(groups, [&](const Evidence& known) { return known.level == next.level && known.source == next.source; });
    if (same == groups.end()) groups.push_back(next);
    else same->rule += ", " + next.rule;
  }
  page += "\nEvidence (the longest match speaks for a rule)\n";
  for (const Evidence& group : groups) {
    append_wrapped(page, "  " + padded(std::string(name_of(group.level)), 15), group.rule, 17);
    append_wrapped(page, "                     ", group.source, 21);
  }
}

/// Of one reason; `heading` says what the rules have in common.
struct OpenGroup {
  std::string heading, rules, why;
};

void add_open(std::vector<OpenGroup>& groups, const std::string& heading, const std::string& rule, const std::string& why) {
  const auto same = std::ranges::find_if(groups, [&](const OpenGroup& known) { return known.heading == heading && known.why == why; });
  if (same == groups.end()) groups.push_back({heading, rule, why});
  else same->rules += ", " + rule;
}

/// Whether the rule is that there is no such operation.
bool says_absent(const RuleText& rule) { return rule.value == "absent" || (rule.path.ends_with(".chain.size") && rule.value == "0"); }

/// What AssumedRules (assumed_rules.hpp) says of some layer, and what is open about other programs.
std::vector<OpenGroup> open_groups(const SpecSheet& sheet) {
  std::vector<OpenGroup> groups;
  std::vector<std::string> named;
  for (const RuleText& rule : list_rules(sheet.backend)) {
    const Evidence* const evidence = evidence_for(sheet, rule.path);
    if (evidence != nullptr ? evidence->level != EvidenceLevel::assumption : says_absent(rule)) continue;
    const std::string& name = evidence == nullptr ? rule.path : evidence->rule;
    if (std::ranges::find(named, name) != named.end()) continue;
    named.push_back(name);
    add_open(groups, "assumed", name, evidence == nullptr ? "no evidence given" : evidence->source);
  }
  for (const OpenPoint& point : sheet.open) {
    const std::string when = point.when == LayerCondition::always ? "" : ", " + std::string(name_of(point.when));
    add_open(groups, point.program.empty() ? "open" + when : "nearest" + when + ", of " + point.program, point.rule, point.what);
  }
  return groups;
}

void append_open(std::string& page, const SpecSheet& sheet) {
  for (const OpenGroup& group : open_groups(sheet)) {
    append_wrapped(page, "  " + group.heading + ": ", group.rules, 6);
    append_wrapped(page, "      ", group.why, 6);
  }
}

void append_settings(std::string& page, const SpecSheet& sheet) {
  page += "\nSettings (what evidence leaves open; --set RULE=VALUE)\n";
  for (const Setting& setting : sheet.settings) {
    const std::vector<RuleText> rules = list_rules(sheet.backend);
    const auto current = std::ranges::find_if(rules, [&](const RuleText& rule) { return covers(setting.rule, rule.path); });
    std::string values = current == rules.end() ? "?" : current->value;
    for (const std::string& alternative : setting.alternatives) values += " | " + alternative;
    append_wrapped(page, "  " + setting.rule + " = ", values, 6);
    append_wrapped(page, "      ", setting.why, 6);
  }
}

}  // namespace

std::string describe(const SpecSheet& sheet) {
  std::string page;
  append_wrapped(page, "", sheet.name + ": " + sheet.title, 4);
  page += "\nArithmetic (in, w, out: scales; zp: output zero point; half_even(a / b): rounded by that rule)\n";
  append_arithmetic(page, sheet.backend);
  append_absent(page, sheet.backend);
  append_evidence(page, sheet);
  if (!sheet.open.empty()) {
    page += "\nOpen (what equality rests on, and what is known to differ)\n";
    append_open(page, sheet);
  }
  if (!sheet.settings.empty()) append_settings(page, sheet);
  return page;
}

std::string describe_open(const SpecSheet& sheet) {
  std::string page;
  append_wrapped(page, "", sheet.name + ": " + sheet.title, 4);
  const std::size_t head = page.size();
  append_open(page, sheet);
  return page.size() == head ? page + "  nothing is open\n" : page;
}

}  // namespace lastbit
