// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace lastbit::tool {

/// A line per row, each column as wide as the widest text in it and two spaces from the next; nothing is filled up behind a row's last text.
[[nodiscard]] std::string in_columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace lastbit::tool
