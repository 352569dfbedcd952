// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Text from a user's file goes into one-line messages and JSON reports, so it must be UTF-8 without control characters.
#pragma once

#include <string>
#include <string_view>

namespace lastbit {

[[nodiscard]] bool is_printable(std::string_view text);

/// For messages about text that may be anything: what is not printable ASCII becomes '?', long text is cut.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace lastbit
