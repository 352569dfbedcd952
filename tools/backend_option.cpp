// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "backend_option.hpp"

#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"

namespace lastbit::tool {

Option add_set_option(Command& command, std::vector<std::string>& settings, const std::string& name) {
  return command.option(name, settings, "set a rule, such as \"*.i8.per_channel=float_scale\" (repeatable)")
      .value_name("RULE=VALUE")
      .repeatable();
}

SpecSheet selected_backend(const std::string& name_or_file, const std::vector<std::string>& settings) {
  SpecSheet sheet = find_backend(name_or_file);
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) throw Error(ErrorCode::unknown_rule, "--set " + setting, "must be RULE=VALUE");
    set_rule(sheet.backend, setting.substr(0, equals), setting.substr(equals + 1));
  }
  return sheet;
}

SpecSheet reported_backend(const std::string& name_or_file, const std::vector<std::string>& settings) {
  SpecSheet sheet = selected_backend(name_or_file, settings);
  for (const std::string& setting : settings) sheet.name += " " + setting;
  return sheet;
}

}  // namespace lastbit::tool
