// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A backend on the command line: its name or file, and rules set to other values.
#pragma once

#include <string>
#include <vector>

#include "command_line.hpp"
#include "lastbit/backend.hpp"

namespace lastbit::tool {

/// Declares `--set RULE=VALUE`, which may be given several times.
Option add_set_option(Command& command, std::vector<std::string>& settings, const std::string& name = "--set");

/// The backend with its settings applied in order. Throws Error naming what is wrong and what is allowed.
[[nodiscard]] SpecSheet selected_backend(const std::string& name_or_file, const std::vector<std::string>& settings);

/// The same under a name that tells its settings, for reports.
[[nodiscard]] SpecSheet reported_backend(const std::string& name_or_file, const std::vector<std::string>& settings);

}  // namespace lastbit::tool
