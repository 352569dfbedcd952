// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What shells and man read, written of what a program declares.
#pragma once

#include <string>
#include <vector>

#include "declared.hpp"

namespace lastbit::tool {

/// Scripts that complete subcommands, options and values: choices and names of backends from lists that they hold, everything else as files.
[[nodiscard]] std::string bash_completion(const DeclaredProgram& program, const std::vector<std::string>& backends);
[[nodiscard]] std::string zsh_completion(const DeclaredProgram& program, const std::vector<std::string>& backends);
[[nodiscard]] std::string fish_completion(const DeclaredProgram& program, const std::vector<std::string>& backends);

/// lastbit.1, and lastbit-COMMAND.1.
[[nodiscard]] std::string man_page(const DeclaredProgram& program);
[[nodiscard]] std::string man_page(const DeclaredProgram& program, const DeclaredCommand& command);

}  // namespace lastbit::tool
