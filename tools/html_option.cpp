// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "html_option.hpp"

#include <algorithm>
#include <cctype>

#include "lastbit/io/output.hpp"
#include "report/html.hpp"

namespace lastbit::tool {
namespace {

struct Origin {
  std::string version, command;
};

Origin& origin() {
  static Origin known;
  return known;
}

/// A quote ends the quotes, stands alone behind a backslash, and begins them again.
std::string quoted(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_-./=,:+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string command_text(int count, const char* const* words) {
  std::string text = "lastbit";
  for (int i = 1; i < count; ++i) text += " " + quoted(words[i]);
  return text;
}

void remember_command(const std::string& version, int count, const char* const* words) { origin() = {version, command_text(count, words)}; }

Option add_html_option(Command& command, std::filesystem::path& file) {
  return command.option("--html", file, "write a report for a browser there: one file, which loads nothing")
      .ending_in({".html"})
      .value_name("FILE.html");
}

void write_html(Document page, const std::filesystem::path& file) {
  page.version = origin().version;
  page.command = origin().command;
  write_text_file(file, html_of(page));
}

}  // namespace lastbit::tool
