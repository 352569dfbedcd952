// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a user is told of a mistake: every problem at once, with the backend that has it, in lines that fit a terminal.
#pragma once

#include <string>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model.hpp"

namespace lastbit::tool {

/// The model of the command; problems may be of it.
[[nodiscard]] Model read_users_model(const std::string& file);
/// A backend of the command, in place of one of its name.
void remember_backend(const SpecSheet& sheet);

struct Problems {
  std::vector<Diagnostic> all;
  std::string hint;  ///< of what to do next
};

/// Of what a backend refuses: all of it, on every backend of the command. Of anything else: what the error says.
[[nodiscard]] Problems all_problems(const Error& error);

/// "lastbit: where: what; hint"; of several problems a line each below what they share, but one line for many layers of one kind that are refused for
/// the same reason. Lines are folded at spaces, not within a name in quotation marks, and no longer than 200 characters unless a word is; what
/// goes on is indented.
[[nodiscard]] std::string problem_text(const Problems& problems);

}  // namespace lastbit::tool
