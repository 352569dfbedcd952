// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/verify.hpp"

#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "lastbit/json_value.hpp"
#include "memory_option.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct Options {
  std::string directory;
  std::string backend;
  std::vector<std::string> settings;
  bool json = false;
};

void print(const CaseFailure& failure) {
  std::cout << failure.file << ": " << failure.name;
  if (!failure.backend.empty()) std::cout << " [" << failure.backend << "]";
  if (!failure.reason.empty()) {
    std::cout << ": " << failure.reason << "\n";
    return;
  }
  std::cout << ": " << failure.tensor << "[" << failure.index << "] expected " << failure.expected << ", got " << failure.got << "; "
            << failure.differing << " of " << failure.values << " values differ\n";
}

JsonValue to_json(const CaseFailure& failure) {
  return {{"file", failure.file},     {"case", failure.name},         {"backend", failure.backend}, {"tensor", failure.tensor},
          {"index", failure.index},   {"expected", failure.expected}, {"got", failure.got},         {"differing", failure.differing},
          {"values", failure.values}, {"reason", failure.reason}};
}

void print_json(const VerifyReport& report) {
  JsonValue json{{"passed", report.passed}, {"failed", report.failures.size()}, {"values", report.values}};
  json["failures"] = JsonValue::array();
  for (const CaseFailure& failure : report.failures) json["failures"].push_back(to_json(failure));
  std::cout << json.text(2) << "\n";
}

int run(const Options& options) {
  VerifyOptions choices;
  if (!options.backend.empty()) choices.backend = selected_backend(options.backend, options.settings);
  const VerifyReport report = verify(options.directory, choices);
  if (options.json) {
    print_json(report);
  } else {
    for (const CaseFailure& failure : report.failures) print(failure);
    std::cout << report.values << " values compared\n" << report.passed << " passed, " << report.failures.size() << " failed\n";
  }
  return report.failures.empty() && report.passed > 0 ? equal : different;
}

}  // namespace

void add_verify(CommandLine& line) {
  Command command = line.add("verify", "run every recorded case below a folder and demand equality of every value");
  const auto options = std::make_shared<Options>();
  command.option("directory", options->directory, "a folder with cases.json files below it, or one such file").required();
  const Option backend = add_backend_option(command, options->backend);
  add_set_option(command, options->settings).needs(backend);
  add_memory_option(command);
  add_json_option(command, options->json);
  command.note("Every case runs on the backend that it names, or on --backend.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
