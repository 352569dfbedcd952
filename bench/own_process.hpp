// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lastbit::bench {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// Runs a program with other variables, and reads the number that it prints. Throws Error where it prints none.
[[nodiscard]] double number_from_process(const std::vector<std::string>& command, const Environment& environment);
/// The same with this program again.
[[nodiscard]] double number_from_own_process(std::vector<std::string> arguments, const Environment& environment);

/// The most memory that this process has held so far, in bytes.
[[nodiscard]] double peak_memory();

}  // namespace lastbit::bench
