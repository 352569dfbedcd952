// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "backend_option.hpp"
#include "columns.hpp"
#include "common_options.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/rules.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct DiffBackendsArguments {
  std::string a, b;
  bool json = false;
};

void print_table(const SpecSheet& a, const SpecSheet& b, const std::vector<RuleDifference>& differences) {
  const auto or_dash = [](const std::string& value) { return value.empty() ? std::string("-") : value; };
  std::vector<std::vector<std::string>> rows{{"rule", a.name, b.name}};
  for (const auto& [path, in_a, in_b] : differences) rows.push_back({path, or_dash(in_a), or_dash(in_b)});
  std::cout << in_columns(rows) << differences.size() << (differences.size() == 1 ? " rule differs\n" : " rules differ\n");
}

void print_json(const SpecSheet& a, const SpecSheet& b, const std::vector<RuleDifference>& differences) {
  auto list = JsonValue::array();
  for (const auto& [path, in_a, in_b] : differences) list.push_back({{"rule", path}, {"a", in_a}, {"b", in_b}});
  const JsonValue report{{"a", a.name}, {"b", b.name}, {"differences", list}};
  std::cout << report.text(2) << "\n";
}

int run(const DiffBackendsArguments& options) {
  SpecSheet a = named_backend(options.a), b = named_backend(options.b);
  if (a.name == b.name) a.name = options.a, b.name = options.b;  // a file and what it was made from
  const std::vector<RuleDifference> differences = diff_backends(a.backend, b.backend);
  options.json ? print_json(a, b, differences) : print_table(a, b, differences);
  return differences.empty() ? equal : different;
}

}  // namespace

void add_diff_backends(CommandLine& line) {
  Command command = line.add("diff-backends", "list the rules in which two backends differ");
  const auto options = std::make_shared<DiffBackendsArguments>();
  command.option("a", options->a, "a built-in backend, or a backend file (.json)").required().suggests(ValueKind::backend);
  command.option("b", options->b, "another one").required().suggests(ValueKind::backend);
  add_json_option(command, options->json);
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
