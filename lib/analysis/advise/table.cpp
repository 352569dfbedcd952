// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/advise/table.hpp"

#include <algorithm>
#include <numeric>

namespace lastbit {
namespace {

/// Names give way where the line is too long, the widest first.
void fit(const std::vector<AdviceColumn>& columns, std::vector<std::size_t>& widths, std::size_t width) {
  constexpr std::size_t narrowest = 8;
  std::size_t total = std::accumulate(widths.begin(), widths.end(), widths.size() + 1);
  while (total > width) {
    std::size_t widest = columns.size();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool is_name = columns[c].align == Align::left && columns[c].widest < width && widths[c] > narrowest;
      if (is_name && (widest == columns.size() || widths[c] > widths[widest])) widest = c;
    }
    if (widest == columns.size()) return;
    --widths[widest];
    --total;
  }
}

}  // namespace

std::string table(const std::vector<AdviceColumn>& columns, std::vector<std::vector<std::string>> rows, std::size_t width) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    widths.push_back(columns[c].title.size());
    for (auto& row : rows) {
      row[c] = shortened(row[c], columns[c].widest);
      widths[c] = std::max(widths[c], columns_of(row[c]));
    }
  }
  fit(columns, widths, width);
  for (auto& row : rows) {
    for (std::size_t c = 0; c < columns.size(); ++c) row[c] = shortened(row[c], widths[c]);
  }
  std::vector<std::string> titles;
  titles.reserve(columns.size());
  for (const AdviceColumn& column : columns) titles.push_back(column.title);
  rows.insert(rows.begin(), titles);
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t c = 0; c < columns.size(); ++c) line += " " + aligned(row[c], widths[c], columns[c].align);
    line = line.substr(0, line.find_last_not_of(' ') + 1);
    if (line.size() > width) line.replace(width - 4, std::string::npos, " ...");
    text += line.append("\n");
  }
  return text;
}

}  // namespace lastbit
