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

/// `--backend`, of a command that asks about one.
Option add_backend_option(Command& command, std::string& backend);
/// The same of a command that takes several: "a,b,c".
Option add_backends_option(Command& command, std::vector<std::string>& backends);
/// `--a` and `--set-a`: the side that is expected. `--b` and `--set-b`: the side that is judged.
Option add_side_a(Command& command, std::string& a, std::vector<std::string>& settings);
Option add_side_b(Command& command, std::string& b, std::vector<std::string>& settings);

/// Declares `--set RULE=VALUE`, which may be given several times.
Option add_set_option(Command& command, std::vector<std::string>& settings, const std::string& name = "--set");

/// A backend and the rules that are set in it.
struct ChosenBackend {
  std::string name;
  std::vector<std::string> settings;
  [[nodiscard]] bool given() const { return !name.empty() || !settings.empty(); }
};

/// Beside a dump there is one backend, `--backend`, which may also be given as the side where it stands. Throws Error where both are.
void take_known_backend(const std::string& command, ChosenBackend& side, const ChosenBackend& known);

/// A backend by its name, its file or that of a chip; which backend a chip stands for is told on standard error. Throws Error.
[[nodiscard]] SpecSheet named_backend(const std::string& name_or_file);

/// What the user called a backend by: its name, a chip's, or a file.
[[nodiscard]] std::string typed_name(const SpecSheet& sheet);

/// The backend with its settings applied in order. Throws Error naming what is wrong and what is allowed.
[[nodiscard]] SpecSheet selected_backend(const std::string& name_or_file, const std::vector<std::string>& settings);

/// The same under a name that tells its settings, for reports.
[[nodiscard]] SpecSheet reported_backend(const std::string& name_or_file, const std::vector<std::string>& settings);

}  // namespace lastbit::tool
