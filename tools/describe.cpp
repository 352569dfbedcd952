// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "backend_option.hpp"
#include "columns.hpp"
#include "common_options.hpp"
#include "lastbit/error.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/vendor_words.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct DescribeArguments {
  std::string backend;
  std::vector<std::string> settings;
  bool rules = false;
  bool open = false;
  bool json = false;
};

void print_rules(const SpecSheet& sheet) {
  std::vector<std::vector<std::string>> rows;
  for (const RuleText& rule : list_rules(sheet.backend)) {
    const Evidence* evidence = evidence_for(sheet, rule.path);
    rows.push_back({rule.path, rule.value, evidence == nullptr ? "-" : std::string(name_of(evidence->level))});
  }
  std::cout << in_columns(rows);
}

int run(const DescribeArguments& options) {
  if (options.backend.empty()) {
    if (!options.rules || options.open)
      throw Error(ErrorCode::unknown_backend, "describe", "name a backend, or print the page of all rules with --rules");
    std::cout << rules_page();
    return equal;
  }
  if (const std::string word = describe_word(options.backend); !word.empty() && !options.rules && !options.open && !options.json) {
    std::cout << word;
    return equal;
  }
  const SpecSheet sheet = selected_backend(options.backend, options.settings);
  if (options.json) std::cout << backend_to_json(sheet);
  else if (options.open) std::cout << describe_open(sheet);
  else if (options.rules) print_rules(sheet);
  else std::cout << describe(sheet);
  return equal;
}

}  // namespace

void add_describe(CommandLine& line) {
  Command command = line.add("describe", "print a backend: formula per operation, evidence and source, settings");
  const auto options = std::make_shared<DescribeArguments>();
  command
      .option("backend", options->backend,
              "a built-in backend, or a backend file (.json); or a vendor's word for a rounding, such as TRUNCATE, or one of ours")
      .suggests(ValueKind::backend);
  add_set_option(command, options->settings);
  command.flag("--rules", options->rules,
               "print every rule by its path, with its value and level of evidence; without a backend: what rules there are");
  command.flag("--open", options->open, "print what equality with it rests on: rules that are assumed, and what is known to differ");
  add_json_option(command, options->json);
  command.note("--json: in the format of a backend file.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
