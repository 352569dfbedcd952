// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/verify.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/printable.hpp"
#include "memory_option.hpp"
#include "output_option.hpp"
#include "subcommand.hpp"
#include "tolerance_option.hpp"

namespace lastbit::tool {
namespace {

struct VerifyArguments {
  std::string directory;
  std::string backend;
  std::vector<std::string> settings;
  std::string junit;
  ToleranceRequest tolerances;
  bool json = false;
};

std::string reason_of(const CaseFailure& failure) {
  if (!failure.reason.empty()) return failure.reason;
  return failure.tensor + "[" + std::to_string(failure.index) + "] expected " + failure.expected + ", got " + failure.got + "; " +
         std::to_string(failure.differing) + " of " + std::to_string(failure.values) + " values differ";
}

void print(const CaseFailure& failure) {
  std::cout << failure.file << ": " << failure.name;
  if (!failure.backend.empty()) std::cout << " [" << failure.backend << "]";
  std::cout << ": " << reason_of(failure) << "\n";
}

std::string junit_of(const VerifyReport& report) {
  std::vector<JunitCase> cases;
  for (const CasePass& pass : report.passes) cases.push_back({pass.file, pass.name, ""});
  for (const CaseFailure& failure : report.failures) cases.push_back({failure.file, failure.name, reason_of(failure)});
  return junit_text("lastbit verify", cases);
}

/// The tensors of cases have names, not numbers.
VerifyReport verify_within(const Tolerances& tolerances, const std::string& directory, VerifyOptions choices) {
  if (!tolerances.given()) return verify(directory, choices);
  choices.is_within = [&](const std::string& tensor, const TensorDifference& difference) {
    return excess(difference, tolerances.of(std::nullopt, tensor)).empty();
  };
  VerifyReport report = verify(directory, choices);
  const bool all_read = std::ranges::all_of(report.failures, [](const CaseFailure& failure) { return failure.reason.empty(); });
  std::vector<NamedLayer> tensors;
  for (const std::string& name : report.tensors) tensors.push_back({std::nullopt, name});
  if (all_read) require_layers(tolerances, tensors);
  return report;
}

JsonValue to_json(const CaseFailure& failure) {
  return {{"file", failure.file},     {"case", failure.name},         {"backend", failure.backend}, {"tensor", failure.tensor},
          {"index", failure.index},   {"expected", failure.expected}, {"got", failure.got},         {"differing", failure.differing},
          {"values", failure.values}, {"reason", failure.reason}};
}

void print_json(const VerifyReport& report, bool tolerant) {
  JsonValue json{{"passed", report.passed}, {"failed", report.failures.size()}, {"values", report.values}};
  if (tolerant) json["within"] = report.within;
  json["failures"] = JsonValue::array();
  for (const CaseFailure& failure : report.failures) json["failures"].push_back(to_json(failure));
  std::cout << json.text(2) << "\n";
}

int run(const VerifyArguments& options) {
  VerifyOptions choices;
  if (!options.backend.empty()) choices.backend = selected_backend(options.backend, options.settings);
  const VerifyReport report = verify_within(tolerances_from(options.tolerances), options.directory, std::move(choices));
  if (!options.junit.empty()) write_text_file(options.junit, junit_of(report));
  if (options.json) {
    print_json(report, options.tolerances.given());
  } else {
    for (const CaseFailure& failure : report.failures) print(failure);
    std::cout << count_of(report.values, "value") << " compared\n" << report.passed << " passed, " << report.failures.size() << " failed\n";
    if (report.within > 0) std::cout << "Within the tolerance, not equal: " << count_of(report.within, "case") << "\n";
  }
  return report.failures.empty() && report.passed > 0 ? equal : different;
}

}  // namespace

void add_verify(CommandLine& line) {
  Command command = line.add("verify", "run every recorded case below a folder and demand equality of every value");
  const auto options = std::make_shared<VerifyArguments>();
  command.option("directory", options->directory, "a folder with cases.json files below it, or one such file").required();
  const Option backend = add_backend_option(command, options->backend);
  add_set_option(command, options->settings).needs(backend);
  add_junit_option(command, options->junit);
  add_tolerance_options(command, options->tolerances);
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json);
  command.note("Every case runs on the backend that it names, or on --backend.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
