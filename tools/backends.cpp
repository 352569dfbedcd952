// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "columns.hpp"
#include "common_options.hpp"
#include "lastbit/backends_page.hpp"
#include "lastbit/error.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/runtimes.hpp"
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

std::string_view name_of(Nearness fit) { return fit == Nearness::equal ? "equal" : fit == Nearness::nearest ? "nearest" : "none"; }

/// As options of every command that takes a backend.
std::string options_of(const RuntimeRow& row) {
  std::string text, setting;
  std::istringstream settings{std::string(row.settings)};
  while (settings >> setting) text += " --set " + setting;
  return text;
}

std::string sentence(std::string_view text) { return text.empty() || text.ends_with('.') ? std::string(text) : std::string(text) + "."; }

void print(const RuntimeRow& row) {
  std::cout << "  " << row.operators << "\n    ";
  if (row.fit == Nearness::none) std::cout << "no backend";
  else std::cout << (row.fit == Nearness::equal ? "" : "no backend; nearest ") << row.backend << options_of(row);
  std::cout << "\n    " << sentence(why(row)) << "\n";
}

void print(const RuntimeCase& one) {
  std::cout << one.runtime << " on " << one.machine << ", " << one.versions.text() << ": " << one.way << "\n";
  if (one.usual) std::cout << "  (what runs where nothing else is asked for: " << one.usual->text() << ")\n";
  for (const RuntimeRow& row : one.rows) print(row);
  if (!one.open.empty()) std::cout << "  not certain: " << sentence(one.open) << "\n";
  std::cout << "  source: " << sentence(one.source) << "\n";
}

void print(const RuntimeAnswer& answer) {
  bool first = true;
  for (const Chip& chip : answer.chips) {
    std::cout << (first ? "" : "\n") << sentence(chip_line(chip)) << "\n";
    if (answer.cases.empty() && !chip.machine.empty())
      std::cout << "  Of a runtime on its CPU: lastbit backends --for \"RUNTIME " << chip.name << "\".\n";
    if (!chip.source.empty()) std::cout << "  source: " << sentence(chip.source) << "\n";
    first = false;
  }
  for (const RuntimeCase* one : answer.cases) {
    if (!first) std::cout << "\n";
    print(*one);
    first = false;
  }
}

JsonValue json_of(const RuntimeCase& one) {
  auto rows = JsonValue::array();
  for (const RuntimeRow& row : one.rows) {
    auto settings = JsonValue::array();
    std::istringstream words{std::string(row.settings)};
    for (std::string setting; words >> setting;) settings.push_back(setting);
    rows.push_back({{"operators", row.operators},
                    {"fit", name_of(row.fit)},
                    {"backend", row.fit == Nearness::none ? JsonValue(nullptr) : JsonValue(row.backend)},
                    {"settings", settings},
                    {"why", why(row)}});
  }
  return {{"runtime", one.runtime},
          {"versions", one.versions.text()},
          {"usual", one.usual ? JsonValue(one.usual->text()) : JsonValue(nullptr)},
          {"machine", one.machine},
          {"way", one.way},
          {"rows", rows},
          {"not_certain", one.open},
          {"source", one.source}};
}

void print_json(const RuntimeAnswer& answer) {
  auto named = JsonValue::array(), cases = JsonValue::array();
  for (const Chip& chip : answer.chips)
    named.push_back(
        {{"chip", chip.name}, {"unit", chip.unit}, {"backends", chip.backends}, {"note", note_of(chip)}, {"source", chip.source}});
  for (const RuntimeCase* one : answer.cases) cases.push_back(json_of(*one));
  std::cout << JsonValue{{"chips", named}, {"cases", cases}}.text(2) << "\n";
}

RuntimeAnswer all_of_them() {
  RuntimeAnswer all;
  all.chips.assign(chips().begin(), chips().end());
  for (const RuntimeCase& one : runtime_cases()) all.cases.push_back(&one);
  return all;
}

struct BackendsArguments {
  std::optional<std::string> question;
  bool runtimes = false;
  bool json = false;
  bool page = false;
};

int run(const BackendsArguments& options) {
  if (options.json && options.page) throw Error(ErrorCode::bad_input, "backends", "--json and --markdown exclude each other");
  if (options.question && (options.runtimes || options.page))
    throw Error(ErrorCode::bad_input, "backends", "--for prints the cases that fit: it goes with --json alone");
  if (options.page) std::cout << (options.runtimes ? runtimes_page() : backends_page());
  else if (options.question || options.runtimes) {
    const RuntimeAnswer answer = options.question ? runtimes_for(*options.question) : all_of_them();
    options.json ? print_json(answer) : print(answer);
  } else {
    options.json ? print_json() : print_table();
  }
  return equal;
}

}  // namespace

void add_backends(CommandLine& line) {
  Command command = line.add("backends", "list the built-in backends and how well they are known");
  const auto options = std::make_shared<BackendsArguments>();
  command
      .option(
          "--for", [options](const std::string& words) { options->question = words; },
          "which backend computes what this runtime or chip does, such as \"tflite 2.9 aarch64\" or imx8mp")
      .value_name("WORDS");
  command.flag("--runtimes", options->runtimes, "list all runtimes and chips that --for knows");
  command.flag("--markdown", options->page, "print the table of docs/backends/README.md; with --runtimes docs/which-backend.md");
  add_json_option(command, options->json);
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
