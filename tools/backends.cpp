// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "columns.hpp"
#include "common_options.hpp"
#include "lastbit/backends_page.hpp"
#include "lastbit/error.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

void print_table() {
  std::vector<std::vector<std::string>> rows{{"name", "evidence", "title"}};
  for (const SpecSheet& sheet : builtin_backends()) {
    const EvidenceRange range = evidence_range(sheet);
    std::string levels(name_of(range.strongest));
    if (range.strongest != range.weakest) levels += ".." + std::string(name_of(range.weakest));
    rows.push_back({sheet.name, levels, sheet.title});
  }
  std::cout << in_columns(rows);
}

void print_json() {
  auto list = JsonValue::array();
  for (const SpecSheet& sheet : builtin_backends()) {
    const EvidenceRange range = evidence_range(sheet);
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
  const auto as_json = std::make_shared<bool>(false), as_page = std::make_shared<bool>(false);
  add_json_option(command, *as_json);
  command.flag("--markdown", *as_page, "print the table of the README");
  command.runs([as_json, as_page] {
    if (*as_json && *as_page) throw Error(ErrorCode::bad_input, "backends", "--json and --markdown exclude each other");
    if (*as_page) std::cout << backends_page();
    else *as_json ? print_json() : print_table();
    return equal;
  });
}

}  // namespace lastbit::tool
