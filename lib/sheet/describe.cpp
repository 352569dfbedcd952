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
  if (!sheet.settings.empty()) append_settings(page, sheet);
  return page;
}

}  // namespace lastbit
