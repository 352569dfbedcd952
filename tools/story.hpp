// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What `lastbit demo NAME` shows: the digits network, and mismatches that users met, each computed and explained.
//
// A new one: a folder of its name in the data of the demos, with its networks and what it says (page.txt), a file story_<name>.cpp that
// computes the figures, its declaration below, a line in stories.cpp and one in CMakeLists.txt. Tests read the figures.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lastbit/model.hpp"
#include "plot.hpp"

namespace lastbit::tool {

struct StoryOptions {
  bool json = false;
  std::filesystem::path plot{};             ///< write the plot there, as SVG; empty: none
  std::filesystem::path data = "examples";  ///< the folder with the data of the demos
};

using Rows = std::vector<std::vector<std::string>>;

/// What a page's text names in braces, and its plot.
struct StoryFigures {
  std::map<std::string, std::string> texts;
  std::map<std::string, Rows> tables;
  std::optional<Plot> plot{};
};

/// A demo has a page, page.txt of its folder, and figures for it, or it prints by itself.
struct Story {
  std::string name;
  std::string title;                                                     ///< one line
  StoryFigures (*figures)(const std::filesystem::path& data) = nullptr;  ///< `data`: as in StoryOptions
  int (*print)(const StoryOptions&) = nullptr;                           ///< returns the exit status
};

/// Every demo, in the order in which they are listed.
[[nodiscard]] const std::vector<Story>& stories();
/// Returns the exit status.
int tell(const Story& story, const StoryOptions& options);

[[nodiscard]] int print_digits(const StoryOptions& options);
[[nodiscard]] StoryFigures gna_concat_figures(const std::filesystem::path& data);
[[nodiscard]] StoryFigures ascend_addn_figures(const std::filesystem::path& data);
[[nodiscard]] StoryFigures n2d2_shift_figures(const std::filesystem::path& data);
[[nodiscard]] StoryFigures vipnano_conv_figures(const std::filesystem::path& data);
[[nodiscard]] StoryFigures bpu_pool_exp_figures(const std::filesystem::path& data);

/// A story as it is told. Its text, figures left open:
///   name: title                   the first line
///   ## heading                    begins a section
///   words …                       a paragraph, over several lines; an empty line ends it. Wrapped at 100 columns
///   * level: words …              what is known, and how
///       a line of its own         four spaces before it: not wrapped
///   | column | column |           a table, with {its rows} on the next line. Aligned, numbers to the right: all after the first column
/// {figure}: a text of the figures. Throws Error naming `where` and the figure that is missing.
class Page {
 public:
  Page(std::string_view text, const StoryFigures& figures, const std::string& where = "page");

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] std::string to_json() const;
  /// Prints text or JSON, and draws the plot where one is asked for. Throws Error where there is none to draw.
  int show(const StoryOptions& options, const std::optional<Plot>& plot = {}) const;

 private:
  struct Block {
    enum class Kind { text, line, table, evidence } kind;
    std::string text{};   ///< of evidence: what
    std::string level{};  ///< of evidence
    std::vector<std::string> columns{};
    Rows rows{};
  };
  struct Section {
    std::string heading;
    std::vector<Block> blocks;
  };
  std::string name_, title_;
  std::vector<Section> sections_;
};

/// The digits network, its test images, and the answers.
struct Digits {
  Model model;
  Tensor images, labels;
};
[[nodiscard]] Digits read_digits(const std::filesystem::path& data);
/// The first samples of a batch, each of this shape. Throws Error(shape_mismatch) where there are fewer.
[[nodiscard]] std::vector<Tensor> samples_of(const Tensor& batch, const Shape& shape, std::size_t count);
/// Of a float tensor.
[[nodiscard]] double largest_magnitude(const Tensor& real);
/// The share of answers that are right.
[[nodiscard]] double share_equal(const std::vector<std::int64_t>& answers, const std::vector<std::int64_t>& right);

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

/// The middle value and the 5th and 95th percentile (linear between neighbours) of at least one value.
struct Spread {
  double median = 0, low = 0, high = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> values);

}  // namespace lastbit::tool
