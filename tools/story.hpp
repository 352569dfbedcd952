// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What `lastbit demo NAME` shows: the digits network, and mismatches that users met, each computed and explained.
//
// A new one: a file story_<name>.cpp, its declaration below, a line in stories.cpp and one in CMakeLists.txt. Its figures come from functions
// that a test can call (library lastbit_stories); what it prints is a Page, so that text and JSON are made in one place.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lastbit/backend.hpp"
#include "plot.hpp"

namespace lastbit::tool {

struct StoryOptions {
  bool json = false;
  std::filesystem::path plot{};             ///< write the plot there, as SVG; empty: none
  std::filesystem::path data = "examples";  ///< the folder with the data of the demos
};

struct Story {
  std::string name;
  std::string title;                           ///< one line
  int (*tell)(const StoryOptions&) = nullptr;  ///< returns the exit status
};

/// Every demo, in the order in which they are listed.
[[nodiscard]] const std::vector<Story>& stories();

[[nodiscard]] int story_digits(const StoryOptions& options);
[[nodiscard]] int story_gna_concat(const StoryOptions& options);
[[nodiscard]] int story_ascend_addn(const StoryOptions& options);
[[nodiscard]] int story_n2d2_shift(const StoryOptions& options);
[[nodiscard]] int story_vipnano_conv(const StoryOptions& options);
[[nodiscard]] int story_bpu_pool_exp(const StoryOptions& options);

/// Columns are aligned, numbers to the right: every cell after the first column.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// The pages of a story: sections with paragraphs, tables and evidence; in the end a plot.
class Page {
 public:
  Page(std::string name, std::string title) : name_(std::move(name)), title_(std::move(title)) {}

  Page& section(std::string heading);
  /// Wrapped at 100 columns.
  Page& text(std::string paragraph);
  /// A line of its own, not wrapped: commands, formulas.
  Page& line(std::string text);
  Page& table(Table table);
  /// What is known, and how: "vendor_source  …".
  Page& evidence(EvidenceLevel level, std::string what);
  Page& plot(Plot plot);

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] std::string to_json() const;
  /// Prints text or JSON, and draws the plot where one is asked for. Throws Error where there is none to draw.
  int show(const StoryOptions& options) const;

 private:
  struct Block {
    enum class Kind { text, line, table, evidence } kind;
    std::string text;
    Table table{};
    EvidenceLevel level{};
  };
  struct Section {
    std::string heading;
    std::vector<Block> blocks;
  };
  Section& last();
  std::string name_;
  std::string title_;
  std::vector<Section> sections_;
  std::optional<Plot> plot_;
};

/// "0.745": so many digits after the point.
[[nodiscard]] std::string fixed(double value, int digits);
/// "1.2e-04": so many digits after the point of the mantissa.
[[nodiscard]] std::string scientific(double value, int digits);

/// The middle value and the 5th and 95th percentile (linear between neighbours) of at least one value.
struct Spread {
  double median = 0, low = 0, high = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> values);

}  // namespace lastbit::tool
