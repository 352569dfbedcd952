// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "compare/report_layout.hpp"

#include <algorithm>

namespace lastbit {
namespace {

/// A byte of a UTF-8 character behind its first.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Where a character begins.
std::size_t byte_of(const std::string& text, std::size_t character) {
  std::size_t byte = 0;
  for (; byte < text.size(); ++byte)
    if (!continues(text[byte]) && character-- == 0) break;
  return byte;
}

}  // namespace

std::size_t columns_of(const std::string& text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues));
}

std::string aligned(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - std::min(width, columns_of(text)), ' ');
  return align == Align::left ? text + space : space + text;
}

std::string shortened(const std::string& text, std::size_t width) {
  const std::size_t columns = columns_of(text);
  if (columns <= width) return text;
  const std::size_t kept = std::max<std::size_t>(width, 1) - 1, head = kept / 3;
  return text.substr(0, byte_of(text, head)) + "~" + text.substr(byte_of(text, columns - (kept - head)));
}

std::string wrapped(const std::string& text, std::size_t indent) {
  std::string result, line;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start + 1), text.size());
    const std::string word = text.substr(start, end - start);
    if (!line.empty() && columns_of(line) + columns_of(word) > line_width) {
      result += line + "\n";
      line = std::string(indent, ' ') + word.substr(1);
    } else {
      line += word;
    }
    start = end;
  }
  return result + line + "\n";
}

}  // namespace lastbit
