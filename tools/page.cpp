// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "page.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <sstream>

#include "lastbit/error.hpp"

namespace lastbit::tool {
namespace {

constexpr std::size_t text_width = 100;
/// What a line begins with that is no words of a paragraph.
constexpr std::array<std::string_view, 5> marks{"## ", "* ", "    ", "|", "plot |"};

/// Columns on a terminal: bytes that begin a character.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string wrapped(const std::string& paragraph, const std::string& first, const std::string& next) {
  std::string result, line = first;
  std::istringstream words(paragraph);
  bool empty = true;
  for (std::string word; words >> word; empty = false) {
    if (!empty && columns_of(line) + 1 + columns_of(word) > text_width) {
      result += line + "\n";
      line = next + word;
    } else {
      line += (empty ? "" : " ") + word;
    }
  }
  return result + line + "\n";
}

std::string aligned(Rows rows, const std::vector<std::string>& columns) {
  rows.insert(rows.begin(), columns);
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - columns_of(row[i]), ' ');
      line += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

template <class Value>
const Value& figure(const std::map<std::string, Value>& figures, const std::string& name, const std::string& where) {
  const auto found = figures.find(name);
  if (found == figures.end()) throw Error(ErrorCode::malformed_file, where, "no figure is called '" + name + "'");
  return found->second;
}

std::string filled(const std::string& text, const StoryFigures& figures, const std::string& where) {
  std::string result;
  std::size_t end = 0;
  for (std::size_t open = text.find('{'); open != std::string::npos; open = text.find('{', end)) {
    result += text.substr(end, open - end);
    end = std::min(text.find('}', open), text.size() - 1) + 1;
    result += figure(figures.texts, text.substr(open + 1, end - open - 2), where);
  }
  return result + text.substr(end);
}

/// "| a | b |" as a and b.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream parts(line.substr(1));
  for (std::string part; std::getline(parts, part, '|');) {
    const std::size_t first = part.find_first_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : part.substr(first, part.find_last_not_of(' ') + 1 - first));
  }
  return cells;
}

Plot labelled(Plot plot, const std::vector<std::string>& words, const std::string& where) {
  if (words.size() != 3) throw Error(ErrorCode::malformed_file, where, "a plot has a title and names of two axes");
  plot.title = words[0];
  plot.x_label = words[1];
  plot.y_label = words[2];
  return plot;
}

std::string printed(double value, int digits, std::ios_base& (*form)(std::ios_base&)) {
  std::ostringstream text;
  text << form << std::setprecision(digits) << value;
  return text.str();
}

}  // namespace

void Page::add(JsonValue block, const std::string& text) {
  if (sections_.empty()) sections_.emplace_back();
  sections_.back().blocks.push_back(std::move(block));
  sections_.back().text += text;
}

Page::Page(std::string_view text, const StoryFigures& figures, const std::string& where) {
  std::istringstream lines{std::string(text)};
  std::getline(lines, name_, ':');
  std::getline(lines >> std::ws, title_);
  std::string words, level;  // of the paragraph that is read
  const auto end_paragraph = [&] {
    const std::string space(15 - std::min<std::size_t>(15, level.size()), ' ');
    if (!level.empty()) add({{"evidence", level}, {"what", words}}, wrapped(words, "  " + level + space, std::string(17, ' ')));
    else if (!words.empty()) add({{"text", words}}, wrapped(words, "", ""));
    words = level = "";
  };
  for (std::string line; std::getline(lines, line);) {
    const bool is_words = !line.empty() && std::ranges::none_of(marks, [&](std::string_view mark) { return line.starts_with(mark); });
    if (!is_words) end_paragraph();
    if (line.starts_with("## ")) {
      sections_.push_back({filled(line.substr(3), figures, where)});
    } else if (line.starts_with("* ")) {
      const std::size_t colon = line.find(": ");
      level = line.substr(2, colon - 2);
      words = filled(line.substr(colon + 2), figures, where);
    } else if (line.starts_with("    ")) {
      const std::string alone = filled(line.substr(4), figures, where);
      add({{"line", alone}}, "    " + alone + "\n");
    } else if (line.starts_with("|")) {
      const std::vector<std::string> columns = cells_of(line);
      std::getline(lines, line);
      const std::string table = line.substr(1, line.size() - 2);
      const Rows& rows = figure(figures.tables, table, where);
      add({{"columns", columns}, {"rows", rows}}, aligned(rows, columns));
    } else if (line.starts_with("plot |")) {
      plot_ = labelled(figures.plot, cells_of(filled(line.substr(5), figures, where)), where);
    } else if (is_words) {
      words += (words.empty() ? "" : " ") + filled(line, figures, where);
    }
  }
  end_paragraph();
}

std::string Page::to_text() const {
  std::string text = name_ + ": " + title_ + "\n";
  for (const Section& section : sections_) text += "\n" + section.heading + (section.heading.empty() ? "" : "\n") + section.text;
  return text;
}

std::string Page::to_json() const {
  JsonValue json{{"demo", name_}, {"title", title_}, {"sections", JsonValue::array()}};
  for (const Section& section : sections_) json["sections"].push_back({{"heading", section.heading}, {"blocks", section.blocks}});
  return json.text(2) + "\n";
}

std::string fixed(double value, int digits) { return printed(value, digits, std::fixed); }

std::string scientific(double value, int digits) { return printed(value, digits, std::scientific); }

std::string percent(double share) { return fixed(100 * share, 2) + " %"; }

}  // namespace lastbit::tool
