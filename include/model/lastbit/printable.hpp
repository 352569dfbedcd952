// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Text from a user's file, name or path goes into messages, reports and onto terminals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lastbit {

/// UTF-8 without the control characters of ASCII.
[[nodiscard]] bool is_printable(std::string_view text);

/// For messages about text that may be anything: what is not printable ASCII becomes '?', long text is cut.
[[nodiscard]] std::string printable(std::string_view text);

/// The same text, for a terminal: what it would obey instead of showing is written as `\u001b`, as JSON does: control characters but tab and line
/// feed, those of C1 (U+0080 to U+009F), and those that turn the direction of writing (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
/// U+2069). A byte that is not UTF-8 is written as `\x9b`.
[[nodiscard]] std::string harmless(std::string_view text);

/// How many bytes at the end of `text` are the beginning of a UTF-8 sequence whose rest is missing: 0 to 3.
[[nodiscard]] std::size_t unfinished_utf8(std::string_view text);

/// The first `most` bytes of a text, less those of a UTF-8 character that would be cut.
[[nodiscard]] std::string beginning(std::string_view text, std::size_t most = 100);

/// "1 value", "2 values".
[[nodiscard]] std::string count_of(std::int64_t count, std::string_view noun);

}  // namespace lastbit
