// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the sheet of a built-in backend leaves open, as the tables of runtimes and chips say it.
#pragma once

#include <string>
#include <string_view>

namespace lastbit {

/// What the open points of this rule and this program say, each once. Throws Error where the sheet has none.
[[nodiscard]] std::string open_text(std::string_view backend, std::string_view rule, std::string_view program);

}  // namespace lastbit
