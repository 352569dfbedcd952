// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A text with figures left open, and how it is printed once they are known.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lastbit/json_value.hpp"
#include "plot.hpp"

namespace lastbit::tool {

using Rows = std::vector<std::vector<std::string>>;

/// What a page's text names in braces, and its plot.
struct StoryFigures {
  std::map<std::string, std::string> texts{};
  std::map<std::string, Rows> tables{};
  Plot plot{};
};

/// A story as it is told. Its text, figures left open:
///   name: title                   the first line
///   plot | title | x | y |        what stands above the plot and beside its axes
///   ## heading                    begins a section
///   words …                       a paragraph, over several lines; an empty line ends it. Wrapped at 100 columns
///   * level: words …              what is known, and how
///       a line of its own         four spaces before it: not wrapped
///   | column | column |           a table, with {its rows} on the next line. Aligned, numbers to the right: all after the first column
/// {figure}: a text of the figures. Throws Error naming `where` and the figure or the words that are missing.
class Page {
 public:
  Page(std::string_view text, const StoryFigures& figures, const std::string& where = "page");

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] std::string to_json() const;
  /// Of the figures, with the page's words.
  [[nodiscard]] const Plot& plot() const { return plot_; }

 private:
  struct Section {
    std::string heading, text{};  ///< what is printed of its blocks
    JsonValue blocks = JsonValue::array();
  };
  void add(JsonValue block, const std::string& text);
  std::string name_, title_;
  std::vector<Section> sections_;
  Plot plot_;
};

/// "0.745": so many digits after the point.
[[nodiscard]] std::string fixed(double value, int digits);
/// "1.2e-04": so many digits after the point of the mantissa.
[[nodiscard]] std::string scientific(double value, int digits);
/// "74.50 %".
[[nodiscard]] std::string percent(double share);
/// A row of a table: texts, and integers as texts.
template <class... Cells>
[[nodiscard]] std::vector<std::string> row(const Cells&... cells) {
  const auto text = []<class Cell>(const Cell& cell) {
    if constexpr (std::is_integral_v<Cell>) return std::to_string(cell);
    else return std::string(cell);
  };
  return {text(cells)...};
}

}  // namespace lastbit::tool
