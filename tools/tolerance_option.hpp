// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a user lets pass, and results for a CI system, on the command line.
#pragma once

#include <string>
#include <vector>

#include "command_line.hpp"
#include "lastbit/junit.hpp"
#include "lastbit/tolerance.hpp"

namespace lastbit::tool {

struct ToleranceRequest {
  std::optional<std::int64_t> max_lsb;
  std::string max_share, min_cosine, file;
  [[nodiscard]] bool given() const { return max_lsb || !max_share.empty() || !min_cosine.empty() || !file.empty(); }
};

/// `--max-lsb`, `--max-share`, `--min-cosine`, `--tolerances`.
void add_tolerance_options(Command& command, ToleranceRequest& request);
/// Those of the file, and over its default what the options say. Throws Error.
[[nodiscard]] Tolerances tolerances_from(const ToleranceRequest& request);

/// `--junit FILE`.
Option add_junit_option(Command& command, std::string& file);

}  // namespace lastbit::tool
