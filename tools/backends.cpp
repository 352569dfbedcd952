// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <memory>

#include "lastbit/json_value.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct Range {
  EvidenceLevel strongest = EvidenceLevel::guess;
  EvidenceLevel weakest = EvidenceLevel::hardware;
};

/// The levels that speak for the rules of a backend.
Range evidence_range(const SpecSheet& sheet) {
  Range range;
  for (const RuleText& rule : list_rules(sheet.backend)) {
    if (rule.value == "absent" || rule.value == "0") continue;
    const Evidence* evidence = evidence_for(sheet, rule.path);
    const EvidenceLevel level = evidence == nullptr ? EvidenceLevel::guess : evidence->level;
    range.strongest = std::min(range.strongest, level);
    range.weakest = std::max(range.weakest, level);
  }
  return range;
}

void print_table() {
  std::cout << "name           evidence                   title\n";
  for (const SpecSheet& sheet : builtin_backends()) {
    const Range range = evidence_range(sheet);
    std::string levels(name_of(range.strongest));
    if (range.strongest != range.weakest) levels += ".." + std::string(name_of(range.weakest));
    std::string name = sheet.name;
    name.resize(std::max<std::size_t>(name.size() + 1, 15), ' ');
    levels.resize(std::max<std::size_t>(levels.size() + 1, 27), ' ');
    std::cout << name << levels << sheet.title << "\n";
  }
}

void print_json() {
  auto list = JsonValue::array();
  for (const SpecSheet& sheet : builtin_backends()) {
    const Range range = evidence_range(sheet);
    list.push_back({{"name", sheet.name},
                    {"title", sheet.title},
                    {"strongest_evidence", name_of(range.strongest)},
                    {"weakest_evidence", name_of(range.weakest)}});
  }
  std::cout << list.text(2) << "\n";
}

}  // namespace

void add_backends(CommandLine& line) {
  Command command = line.add("backends", "list the built-in backends and how well they are known");
  const auto as_json = std::make_shared<bool>(false);
  command.flag("--json", *as_json, "print JSON");
  command.runs([as_json] {
    *as_json ? print_json() : print_table();
    return equal;
  });
}

}  // namespace lastbit::tool
