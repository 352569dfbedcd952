// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lastbit::bench {

/// Runs this program again with other arguments and variables, and reads the number that it prints. Throws Error where it prints none.
[[nodiscard]] double number_from_own_process(const std::vector<std::string>& arguments,
                                             const std::vector<std::pair<std::string, std::string>>& environment);

/// The most memory that this process has held so far, in bytes.
[[nodiscard]] double peak_memory();

}  // namespace lastbit::bench
