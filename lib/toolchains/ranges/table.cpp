// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensor,min,max          or  tensor,scale,zero_point     or all five: then a line has either of both, and the other cells are empty.
// conv1,-1.5,2.25             conv1,0.0157,-12
//
// Empty lines and those that begin with # are left out. A name with a comma or a quote stands in quotes, a quote in it twice.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "compare/report_fields.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/nearest.hpp"
#include "lastbit/printable.hpp"
#include "toolchains/ranges/forms.hpp"

namespace lastbit {
namespace ranges {
namespace {

const std::vector<std::string> columns{"tensor", "min", "max", "scale", "zero_point"};
enum Column : std::uint8_t { tensor_cell, min_cell, max_cell, scale_cell, zero_point_cell, column_count };
using Cells = std::array<std::string, column_count>;

bool is_left_out(std::string_view line) { return trimmed(line).empty() || trimmed(line).starts_with('#'); }

/// The text in quotes that a line begins with, which is taken off it; nothing if it has no end.
std::optional<std::string> take_quoted(std::string_view& line) {
  std::string text;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] != '"') {
      text += line[i];
    } else if (line.substr(i + 1).starts_with('"')) {
      text += line[i++];
    } else {
      line.remove_prefix(i + 1);
      return text;
    }
  }
  return std::nullopt;
}

/// The cells of a line, without the spaces around them; nothing if a quote has no end.
std::optional<std::vector<std::string>> cells_in(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    line = trimmed(line);
    const bool is_quoted = line.starts_with('"');
    const std::optional<std::string> quoted = is_quoted ? take_quoted(line) : "";
    if (!quoted) return std::nullopt;
    const std::size_t comma = std::min(line.find(','), line.size());
    cells.push_back(is_quoted ? *quoted : std::string(trimmed(line.substr(0, comma))));
    if (comma == line.size()) return cells;
    line.remove_prefix(comma + 1);
  }
}

class TableReader {
 public:
  explicit TableReader(const std::string& path) : collector_(path, "a table of ranges", false) {}

  RangeFile read(std::string_view text) {
    bool has_header = false;
    for (const Line& line : lines_of(text)) {
      if (is_left_out(line.text)) continue;
      const auto cells = cells_in(line.text);
      if (!cells) collector_.fail(line.number, "a quote without an end");
      if (has_header) add(*cells, line.number);
      else read_header(*cells, line.number);
      has_header = true;
    }
    return collector_.finish();
  }

 private:
  void read_header(const std::vector<std::string>& cells, std::size_t line) {
    for (const std::string& cell : cells) {
      const auto column = std::ranges::find(columns, cell);
      if (column == columns.end()) collector_.fail(line, "unknown column '" + printable(cell) + "'" + did_you_mean(cell, columns));
      const auto found = static_cast<std::size_t>(column - columns.begin());
      if (std::ranges::find(order_, found) != order_.end()) collector_.fail(line, "column '" + cell + "' stands there twice");
      order_.push_back(found);
    }
    if (!has(min_cell) && !has(max_cell) && !has(scale_cell)) collector_.fail(line, "the columns min and max, or scale, are needed");
    if (has(min_cell) != has(max_cell)) collector_.fail(line, "min needs max, and max needs min");
    if (has(zero_point_cell) && !has(scale_cell)) collector_.fail(line, "zero_point needs scale");
  }
  [[nodiscard]] bool has(std::size_t column) const { return std::ranges::find(order_, column) != order_.end(); }

  void add(const std::vector<std::string>& found, std::size_t line) {
    if (found.size() != order_.size())
      collector_.fail(line, count_of(std::ssize(found), "cell") + "; the header has " + std::to_string(order_.size()));
    Cells cells;
    for (std::size_t i = 0; i < found.size(); ++i) cells[order_[i]] = found[i];
    if (cells[tensor_cell].empty()) collector_.fail(line, "no name of a tensor");
    const bool has_range = !cells[min_cell].empty() || !cells[max_cell].empty();
    const bool has_codes = !cells[scale_cell].empty() || !cells[zero_point_cell].empty();
    if (has_range && has_codes) collector_.fail(line, "min and max, or a scale: not both");
    if (!has_range && !has_codes) collector_.fail(line, "neither min and max nor a scale");
    TensorRange& range = collector_.add(cells[tensor_cell], line);
    if (has_range) return Collector::set_range(range, number(cells, min_cell, line), number(cells, max_cell, line));
    Collector::set_codes(range, {{number(cells, scale_cell, line)}, {zero_point(cells, line)}, 0});
  }

  [[nodiscard]] double number(const Cells& cells, Column column, std::size_t line) const {
    const auto value = number_in(cells[column]);
    if (!value) collector_.fail(line, columns[column] + " '" + printable(cells[column]) + "' is no number");
    return *value;
  }
  [[nodiscard]] std::int64_t zero_point(const Cells& cells, std::size_t line) const {
    const std::string& text = cells[zero_point_cell];
    if (text.empty()) return 0;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
      collector_.fail(line, "zero_point '" + printable(text) + "' is no integer");
    return value;
  }

  Collector collector_;
  std::vector<std::size_t> order_;  ///< columns, as the header has them
};

std::string quoted_name(const std::string& name) {
  if (name.find_first_of("\n\r") != std::string::npos)
    throw Error(ErrorCode::bad_input, "tensor '" + printable(name) + "'", "a name of several lines fits no table");
  const bool plain = name.find_first_of(",\"") == std::string::npos && !name.starts_with('#') && trimmed(name) == name && !name.empty();
  if (plain) return name;
  std::string text = "\"";
  for (const char letter : name) text += letter == '"' ? "\"\"" : std::string(1, letter);
  return text + "\"";
}

}  // namespace

bool is_table(std::string_view text) {
  for (const Line& line : lines_of(text)) {
    if (is_left_out(line.text)) continue;
    const auto cells = cells_in(line.text);
    return cells && std::ranges::find(*cells, columns[tensor_cell]) != cells->end();
  }
  return false;
}

RangeFile read_table(std::string_view text, const std::string& path) { return TableReader(path).read(text); }

}  // namespace ranges

void write_ranges(const std::filesystem::path& file, std::span<const TensorRange> chosen) {
  const bool has_codes = std::ranges::any_of(chosen, [](const TensorRange& range) { return range.codes.present(); });
  std::string text = has_codes ? "tensor,min,max,scale,zero_point\n" : "tensor,min,max\n";
  const auto number = [](double value) { return number_text("%.17g", value); };
  for (const TensorRange& range : chosen) {
    text += ranges::quoted_name(range.name);
    if (range.codes.present()) text += ",,," + number(range.codes.scale()) + "," + std::to_string(range.codes.zero_point()) + "\n";
    else text += "," + number(range.min) + "," + number(range.max) + (has_codes ? ",,\n" : "\n");
  }
  write_text_file(file, text);
}

}  // namespace lastbit
