// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lastbit/error.hpp"
#include "lastbit/rules.hpp"

namespace lastbit::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t text_width = 100;

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

std::string aligned(const Table& table) {
  std::vector<std::size_t> widths;
  const auto widen = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  };
  widen(table.columns);
  for (const auto& row : table.rows) widen(row);
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - columns_of(row[i]), ' ');
      line += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add(table.columns);
  for (const auto& row : table.rows) add(row);
  return text;
}

}  // namespace

Page& Page::section(std::string heading) {
  sections_.push_back({std::move(heading), {}});
  return *this;
}

Page::Section& Page::last() {
  if (sections_.empty()) sections_.emplace_back();
  return sections_.back();
}

Page& Page::text(std::string paragraph) {
  last().blocks.push_back({.kind = Block::Kind::text, .text = std::move(paragraph)});
  return *this;
}

Page& Page::line(std::string text) {
  last().blocks.push_back({.kind = Block::Kind::line, .text = std::move(text)});
  return *this;
}

Page& Page::table(Table table) {
  last().blocks.push_back({.kind = Block::Kind::table, .text = {}, .table = std::move(table)});
  return *this;
}

Page& Page::evidence(EvidenceLevel level, std::string what) {
  last().blocks.push_back({.kind = Block::Kind::evidence, .text = std::move(what), .table = {}, .level = level});
  return *this;
}

Page& Page::plot(Plot plot) {
  plot_ = std::move(plot);
  return *this;
}

std::string Page::to_text() const {
  std::string text = name_ + ": " + title_ + "\n";
  for (const Section& section : sections_) {
    text += "\n";
    if (!section.heading.empty()) text += section.heading + "\n";
    for (const Block& block : section.blocks) {
      const std::string level = std::string(name_of(block.level));
      switch (block.kind) {
        case Block::Kind::text: text += wrapped(block.text, "", ""); break;
        case Block::Kind::line: text += "    " + block.text + "\n"; break;
        case Block::Kind::table: text += aligned(block.table); break;
        case Block::Kind::evidence:
          text += wrapped(block.text, "  " + level + std::string(15 - level.size(), ' '), std::string(17, ' '));
          break;
      }
    }
  }
  return text;
}

std::string Page::to_json() const {
  Json json{{"demo", name_}, {"title", title_}, {"sections", Json::array()}};
  for (const Section& section : sections_) {
    Json part{{"heading", section.heading}, {"blocks", Json::array()}};
    for (const Block& block : section.blocks) {
      if (block.kind == Block::Kind::table) part["blocks"].push_back({{"columns", block.table.columns}, {"rows", block.table.rows}});
      else if (block.kind == Block::Kind::evidence) part["blocks"].push_back({{"evidence", name_of(block.level)}, {"what", block.text}});
      else part["blocks"].push_back({{block.kind == Block::Kind::text ? "text" : "line", block.text}});
    }
    json["sections"].push_back(std::move(part));
  }
  return json.dump(2) + "\n";
}

int Page::show(const StoryOptions& options) const {
  if (!options.plot.empty()) {
    if (!plot_) throw Error(ErrorCode::bad_input, "--plot", "the demo " + name_ + " has no plot");
    draw(*plot_, options.plot);
  }
  std::cout << (options.json ? to_json() : to_text());
  return 0;
}

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string scientific(double value, int digits) {
  std::ostringstream text;
  text << std::scientific << std::setprecision(digits) << value;
  return text.str();
}

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at(0.5), at(0.05), at(0.95)};
}

}  // namespace lastbit::tool
