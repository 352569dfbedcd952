// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "model/printable.hpp"

#include <cstddef>
#include <cstdint>

namespace lastbit {
namespace {

constexpr std::size_t longest_quote = 60;

/// Length of the UTF-8 sequence at the front, 0 if it is not a shortest form of a scalar value.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >> 5 == 0x6 ? 2 : first >> 4 == 0xE ? 3 : first >> 3 == 0x1E ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  std::uint32_t code = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 0x2) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  const std::uint32_t smallest = length == 2 ? 0x80u : length == 3 ? 0x800u : 0x10000u;
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < smallest || code > 0x10FFFF || surrogate ? 0 : length;
}

bool is_control(char character) { return static_cast<unsigned char>(character) < 0x20 || character == 0x7F; }

}  // namespace

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0 || is_control(text.front())) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string shown(text.substr(0, longest_quote));
  for (char& character : shown)
    if (is_control(character) || static_cast<unsigned char>(character) >= 0x80) character = '?';
  return text.size() > longest_quote ? shown + "..." : shown;
}

}  // namespace lastbit
