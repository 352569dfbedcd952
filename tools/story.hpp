// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What `lastbit demo NAME` shows: the digits network, and mismatches that users met, each computed and explained.
//
// A new one: a folder of its name in the data of the demos, with its networks and what it says (page.txt), a file story_<name>.cpp that
// computes the figures, its declaration below, a line in story.cpp and one in CMakeLists.txt. Tests read the figures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lastbit/model.hpp"
#include "page.hpp"

namespace lastbit::tool {

struct StoryOptions {
  bool json = false;
  std::filesystem::path plot{};             ///< write the plot there, as SVG or PNG; empty: none
  std::filesystem::path data = "examples";  ///< the folder with the data of the demos
};

/// A demo has a page, page.txt of its folder, and figures and a plot for it; or it prints by itself, and has no plot.
struct Story {
  std::string name;
  std::string title;                                                     ///< one line
  StoryFigures (*figures)(const std::filesystem::path& data) = nullptr;  ///< `data`: as in StoryOptions
  void (*print)(const StoryOptions&) = nullptr;
};

/// Every demo, in the order in which they are listed.
[[nodiscard]] const std::vector<Story>& stories();
/// Prints text or JSON, and draws the plot where one is asked for. Throws Error where there is none to draw.
void tell(const Story& story, const StoryOptions& options);

void print_digits(const StoryOptions& options);
[[nodiscard]] StoryFigures gna_concat_figures(const std::filesystem::path& data);
[[nodiscard]] StoryFigures ascend_addn_figures(const std::filesystem::path& data);
[[nodiscard]] StoryFigures n2d2_shift_figures(const std::filesystem::path& data);
[[nodiscard]] StoryFigures vipnano_conv_figures(const std::filesystem::path& data);
[[nodiscard]] StoryFigures bpu_pool_exp_figures(const std::filesystem::path& data);
[[nodiscard]] StoryFigures vnni_laptop_figures(const std::filesystem::path& data);
[[nodiscard]] StoryFigures rockchip_board_figures(const std::filesystem::path& data);

/// The digits network, its test images, and the answers.
struct Digits {
  Model model;
  Tensor images;
  std::vector<std::int64_t> labels;
};
[[nodiscard]] Digits read_digits(const std::filesystem::path& data);
/// The first samples of a batch, each of this shape. Throws Error(shape_mismatch) where there are fewer.
[[nodiscard]] std::vector<Tensor> samples_of(const Tensor& batch, const Shape& shape, std::size_t count);
/// Of a float tensor.
[[nodiscard]] double largest_magnitude(const Tensor& real);
/// The share of answers that are right.
[[nodiscard]] double share_equal(const std::vector<std::int64_t>& answers, const std::vector<std::int64_t>& right);

/// The middle value and the 5th and 95th percentile (linear between neighbours) of at least one value.
struct Spread {
  double median = 0, low = 0, high = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> values);

}  // namespace lastbit::tool
