// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A plot as an SVG or PNG file, drawn by gnuplot.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lastbit::tool {

enum class SeriesStyle : std::uint8_t { lines, points, lines_and_points, bars };
enum class AxisScale : std::uint8_t { linear, logarithmic };

/// x and y have the same size; a value that is not finite is left out, and the line is broken there.
struct Series {
  std::string title{};
  std::vector<double> x{};
  std::vector<double> y{};
  SeriesStyle style = SeriesStyle::lines;
};

struct Plot {
  std::string title{};
  std::string x_label{};
  std::string y_label{};
  std::vector<Series> series{};
  AxisScale x_scale = AxisScale::linear;
  AxisScale y_scale = AxisScale::linear;
  std::optional<std::array<double, 2>> x_range{};
  std::optional<std::array<double, 2>> y_range{};
  std::vector<std::string> x_names{};  ///< at x = 0, 1, …; empty: numbers
  bool bars_from_zero = false;         ///< the y axis shows 0; many names stand upright, and the picture is as wide as they need
};

/// What gnuplot is told. Every text stands in single quotes, where gnuplot expands nothing.
[[nodiscard]] std::string gnuplot_script(const Plot& plot, const std::filesystem::path& picture);

/// A square of positive values, each row and column under a name, the colours in proportion to their logarithms; what is not positive stays white.
struct HeatMap {
  std::string title{};
  std::vector<std::string> names{};
  std::vector<std::vector<double>> values{};
};
[[nodiscard]] std::string gnuplot_script(const HeatMap& map, const std::filesystem::path& picture);
void draw(const HeatMap& map, const std::filesystem::path& picture);

/// Why nothing can be drawn here; empty: gnuplot is installed.
[[nodiscard]] std::string why_no_plot();

/// PNG where the name ends so, else SVG. Equal plots give equal files. Throws Error where gnuplot is missing or the file cannot be written.
void draw(const Plot& plot, const std::filesystem::path& picture);

}  // namespace lastbit::tool
