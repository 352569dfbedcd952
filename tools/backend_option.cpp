// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "backend_option.hpp"

#include <algorithm>
#include <iostream>
#include <map>

#include "lastbit/chips.hpp"
#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "log.hpp"
#include "problem.hpp"

namespace lastbit::tool {
namespace {

const char* const backend_meaning = "a built-in backend, or a backend file (.json)";

/// Once for every chip.
void tell_chip(const std::string& name, const SpecSheet& sheet) {
  const Chip* chip = name.ends_with(".json") || name == sheet.name ? nullptr : find_chip(name);
  static std::vector<const Chip*> told;
  if (chip == nullptr || std::ranges::find(told, chip) != told.end()) return;
  told.push_back(chip);
  log_note(chip_line(*chip));
}

/// By the name of the sheet; of two names for one the last.
std::map<std::string, std::string>& typed_names() {
  static std::map<std::string, std::string> names;
  return names;
}

/// All that is wrong with the settings is told at once.
SpecSheet with_settings(SpecSheet sheet, const std::vector<std::string>& settings) {
  std::vector<Diagnostic> problems;
  for (const std::string& setting : settings) {
    try {
      const std::size_t equals = setting.find('=');
      if (equals == std::string::npos) throw Error(ErrorCode::unknown_rule, "--set " + setting, "must be RULE=VALUE");
      set_rule(sheet.backend, setting.substr(0, equals), setting.substr(equals + 1));
    } catch (const Error& error) {
      for (const Diagnostic& each : error.diagnostics()) problems.push_back(each);
    }
  }
  if (!problems.empty()) {
    problems.back().message += "; lastbit describe " + sheet.name + " --rules lists the rules";
    throw Error(std::move(problems));
  }
  return sheet;
}

}  // namespace

Option add_backend_option(Command& command, std::string& backend) {
  return command.option("--backend", backend, backend_meaning).value_name("BACKEND").suggests(ValueKind::backend);
}

Option add_backends_option(Command& command, std::vector<std::string>& backends) {
  return command.option("--backend", backends, backend_meaning).value_name("A,B,…").separated_by(',').suggests(ValueKind::backend);
}

Option add_side_a(Command& command, std::string& a, std::vector<std::string>& settings) {
  const Option side = command.option("--a", a, "the backend that is expected: a built-in one, or a file (.json)")
                          .value_name("BACKEND")
                          .suggests(ValueKind::backend);
  add_set_option(command, settings, "--set-a");
  return side;
}

Option add_side_b(Command& command, std::string& b, std::vector<std::string>& settings) {
  const Option side = command.option("--b", b, "the backend that is judged: a built-in one, or a file (.json)")
                          .value_name("BACKEND")
                          .suggests(ValueKind::backend);
  add_set_option(command, settings, "--set-b");
  return side;
}

Option add_set_option(Command& command, std::vector<std::string>& settings, const std::string& name) {
  const std::string meaning = "set a rule, such as \"*.i8.per_channel=float_scale\"";
  return command.option(name, settings, meaning + (name == "--set" ? "; an option of quantize (repeatable)" : " (repeatable)"))
      .value_name("RULE=VALUE")
      .repeatable();
}

void take_known_backend(const std::string& command, ChosenBackend& side, const ChosenBackend& known) {
  if (side.given() && known.given())
    throw Error(ErrorCode::bad_input, command, "beside --dump there is one backend: --backend and --a or --b exclude each other");
  if (known.given()) side = known;
  if (side.name.empty())
    throw Error(ErrorCode::bad_input, command, "--backend is needed, to compare the dump with; lastbit backends lists them");
}

SpecSheet named_backend(const std::string& name_or_file) {
  SpecSheet sheet = find_backend(name_or_file);
  tell_chip(name_or_file, sheet);
  typed_names()[sheet.name] = name_or_file;
  return sheet;
}

std::string typed_name(const SpecSheet& sheet) {
  const auto known = typed_names().find(sheet.name);
  return known == typed_names().end() ? sheet.name : known->second;
}

SpecSheet selected_backend(const std::string& name_or_file, const std::vector<std::string>& settings) {
  SpecSheet sheet = with_settings(named_backend(name_or_file), settings);
  remember_backend(sheet);
  return sheet;
}

SpecSheet reported_backend(const std::string& name_or_file, const std::vector<std::string>& settings) {
  SpecSheet sheet = with_settings(named_backend(name_or_file), settings);
  if (!settings.empty() && sheet.origin.empty()) sheet.origin = sheet.name;
  for (const std::string& setting : settings) sheet.name += " " + setting;
  typed_names()[sheet.name] = name_or_file;
  remember_backend(sheet);
  return sheet;
}

}  // namespace lastbit::tool
