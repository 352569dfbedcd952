// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How the text reports fill their lines. Widths count characters, not bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lastbit {

inline constexpr std::size_t line_width = 100;

enum class Align : std::uint8_t { left, right };

[[nodiscard]] std::size_t columns_of(const std::string& text);

/// Filled with spaces up to `width`.
[[nodiscard]] std::string aligned(const std::string& text, std::size_t width, Align align);
[[nodiscard]] inline std::string left(const std::string& text, std::size_t width) { return aligned(text, width, Align::left); }
[[nodiscard]] inline std::string right(const std::string& text, std::size_t width) { return aligned(text, width, Align::right); }

/// At most `width` wide, "beginn~the end": cut within, so that names stay distinct; the end of a name says more than its beginning.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t width);

/// Broken at spaces into lines of line_width; every line after the first is indented. Ends in a newline.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t indent = 2);

}  // namespace lastbit
