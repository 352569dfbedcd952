// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a report shows, in its order, without how it is drawn. Every text may be anything a user's file holds; html.hpp makes it harmless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plot.hpp"

namespace lastbit::tool {

/// How much of something differs.
enum class Standing : std::uint8_t { none, equal, differs, open };

/// What the filter finds an entry by: a layer, mostly.
struct Subject {
  std::string name{};
  Standing standing = Standing::none;
};

/// A text, and the number it is sorted by, where it has one. `share`, from 0 to 1, is a bar behind the text; `bars` small ones beside it.
struct Cell {
  Cell() = default;
  Cell(std::string words) : text(std::move(words)) {}
  Cell(const char* words) : text(words) {}
  template <std::integral Number>
  Cell(Number value) : text(std::to_string(value)), number(static_cast<double>(value)) {}
  std::string text{};
  std::optional<double> number{};
  std::optional<double> share{};
  std::vector<std::int64_t> bars{};
};

/// "0.07 %" with its bar.
[[nodiscard]] Cell share_cell(double share);
/// The number in so many significant digits; nothing of NaN.
[[nodiscard]] Cell number_cell(double value, int digits = 6);
/// Counts of -4 to +4 LSB, the ends with all beyond; the middle one, which is equality, is left out of the picture.
[[nodiscard]] Cell lsb_cell(const std::vector<std::int64_t>& counts);

enum class Alignment : std::uint8_t { left, right };

struct Column {
  std::string title{};
  Alignment alignment = Alignment::right;
  std::string meaning{};  ///< shown where the pointer rests
};

struct Row {
  Subject subject{};
  std::vector<Cell> cells{};
};

struct Table {
  std::vector<Column> columns{};
  std::vector<Row> rows{};
};

struct Paragraph {
  std::string text{};
};

/// Above what belongs to a subject.
struct Heading {
  Subject subject{};
  std::string text{};
};

/// Lines of a list.
struct List {
  std::vector<std::string> lines{};
};

/// Counts under their names, as bars; 0 in grey.
struct Histogram {
  Subject subject{};
  std::string title{};
  std::vector<std::string> names{};
  std::vector<std::int64_t> counts{};
};

/// Shares, from 0 to 1, row by row; drawn in steps of the largest.
struct Grid {
  std::string title{}, row_axis{}, column_axis{};
  std::size_t rows = 0, columns = 0;
  std::vector<double> shares{};
};

/// Pictures that belong together, side by side.
struct Grids {
  Subject subject{};
  std::string title{};
  std::vector<Grid> grids{};
};

struct Graph {
  struct Node {
    Subject subject{};
    std::string label{}, name{}, detail{};  ///< "7 conv2d", its name, and what is told where the pointer rests
    std::optional<double> share{};          ///< of values that differ; absent: not known
    std::vector<std::size_t> reads{};       ///< nodes before this one
  };
  std::vector<Node> nodes{};
};

/// A square of figures: each row and column under a name.
struct Square {
  std::vector<std::string> names{};
  std::vector<std::vector<Cell>> cells{};
};

/// What a figure rests on.
struct AssumptionRow {
  std::string of{}, rule{}, level{}, source{};
};
using AssumptionList = std::vector<AssumptionRow>;

struct Figure {
  Plot plot{};
  Subject subject{};
};

using Block =
    std::variant<Paragraph, Heading, List, Table, Figure, std::vector<Histogram>, std::vector<Grids>, Graph, Square, AssumptionList>;

struct Section {
  std::string title{};
  std::string meaning{};  ///< one or two sentences below the title
  std::vector<Block> blocks{};
};

struct Document {
  std::string title{};                                       ///< "compare"
  std::string verdict{};                                     ///< one sentence
  Standing standing = Standing::none;                        ///< of the verdict
  std::vector<std::pair<std::string, std::string>> facts{};  ///< "model", its file
  std::vector<Section> sections{};
  std::string command{}, version{};  ///< that made it

  /// Where there is something to show.
  void add(std::string title, std::string meaning, std::vector<Block> blocks);
};

}  // namespace lastbit::tool
