// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The tables of the text reports: a line for each row, titles above, and above these what neighbours have in common.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compare/report_layout.hpp"

namespace lastbit {

template <class Row>
struct TableColumn {
  std::string group;  ///< stands above neighbours of the same group
  std::string title;
  std::size_t width;
  Align align;
  std::function<std::string(const Row&)> cell;
};

/// Without the spaces at the end, and with an end of line.
[[nodiscard]] inline std::string table_line(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1) + "\n"; }

template <class Row>
[[nodiscard]] std::string group_line(const std::vector<TableColumn<Row>>& columns) {
  std::string line;
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t width = 0;
    const std::size_t start = i;
    do width += columns[i].width + 1;
    while (++i < columns.size() && !columns[start].group.empty() && columns[i].group == columns[start].group);
    line += aligned(columns[start].group, width - 1, Align::right) + " ";
  }
  return table_line(line);
}

template <class Row>
[[nodiscard]] std::string table(const std::vector<TableColumn<Row>>& columns, const std::vector<const Row*>& rows) {
  std::string titles;
  for (const auto& column : columns) titles += aligned(column.title, column.width, column.align) + " ";
  std::string text = group_line(columns) + table_line(titles);
  for (const Row* row : rows) {
    std::string line;
    for (const auto& column : columns) line += aligned(column.cell(*row), column.width, column.align) + " ";
    text += table_line(line);
  }
  return text;
}

}  // namespace lastbit
