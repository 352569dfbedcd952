// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/printable.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace lastbit {
namespace {

constexpr std::size_t longest_quote = 60;

/// A character of UTF-8; length 0: the text does not begin with the shortest form of a scalar value.
struct Utf8 {
  std::size_t length = 0;
  std::uint32_t code = 0;
};

/// As the first byte says; 0: no sequence begins with it.
std::size_t sequence_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x80) return 1;
  return byte >> 5 == 0x6 ? 2 : byte >> 4 == 0xE ? 3 : byte >> 3 == 0x1E ? 4 : 0;
}

Utf8 utf8_at_front(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::size_t length = sequence_length(text.front());
  if (length == 1) return {1, byte(0)};
  if (length == 0 || length > text.size()) return {};
  std::uint32_t code = byte(0) & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 0x2) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  const std::uint32_t smallest = length == 2 ? 0x80u : length == 3 ? 0x800u : 0x10000u;
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < smallest || code > 0x10FFFF || surrogate) return {};
  return {length, code};
}

/// A terminal obeys it, or shows what follows in another order than it stands in.
bool is_obeyed(std::uint32_t code) {
  const auto within = [code](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
  if (code == '\t' || code == '\n') return false;
  return code < 0x20 || within(0x7F, 0x9F) || code == 0x61C || within(0x200E, 0x200F) || within(0x202A, 0x202E) || within(0x2066, 0x2069);
}

std::string escaped(const char* format, std::uint32_t value) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

bool is_control(char character) { return static_cast<unsigned char>(character) < 0x20 || character == 0x7F; }

}  // namespace

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_at_front(text).length;
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

std::string harmless(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Utf8 character = utf8_at_front(text);
    if (character.length == 0) shown += escaped("\\x%02x", static_cast<unsigned char>(text.front()));
    else if (is_obeyed(character.code)) shown += escaped("\\u%04x", character.code);
    else shown += text.substr(0, character.length);
    text.remove_prefix(std::max<std::size_t>(character.length, 1));
  }
  return shown;
}

std::size_t unfinished_utf8(std::string_view text) {
  for (std::size_t last = 1; last <= std::min<std::size_t>(text.size(), 3); ++last) {
    const char byte = text[text.size() - last];
    if (static_cast<unsigned char>(byte) >> 6 != 0x2) return sequence_length(byte) > last ? last : 0;
  }
  return 0;
}

std::string beginning(std::string_view text, std::size_t most) {
  const std::string_view cut = text.substr(0, most);
  return std::string(cut.substr(0, cut.size() - (cut.size() < text.size() ? unfinished_utf8(cut) : 0)));
}

std::string count_of(std::int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace lastbit
