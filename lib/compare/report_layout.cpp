// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "compare/report_layout.hpp"

#include <algorithm>

namespace lastbit {
namespace {

/// A byte of a UTF-8 character behind its first.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::size_t columns_of(const std::string& text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues));
}

std::string aligned(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - std::min(width, columns_of(text)), ' ');
  return align == Align::left ? text + space : space + text;
}

std::string shortened(const std::string& text, std::size_t width) {
  std::size_t columns = columns_of(text), start = 0;
  if (columns <= width) return text;
  for (; columns >= width && start < text.size(); --columns) {
    do ++start;
    while (start < text.size() && continues(text[start]));
  }
  return "~" + text.substr(start);
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
