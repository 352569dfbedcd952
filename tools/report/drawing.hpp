// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The pictures of a report as SVG inside of HTML. Colours are the page's (style.css), so that they follow its light and dark.
#pragma once

#include <string>

#include "report/document.hpp"

namespace lastbit::tool {

[[nodiscard]] std::string svg_of(const Plot& plot);
[[nodiscard]] std::string svg_of(const Histogram& histogram);
[[nodiscard]] std::string svg_of(const Grid& grid);
/// Nodes below those that they read; an edge over several rows runs beside them.
[[nodiscard]] std::string svg_of(const Graph& graph);
/// Small bars without axes.
[[nodiscard]] std::string small_bars(const std::vector<std::int64_t>& counts);

/// 0: equal; 1 to 5: more and more of it differs.
[[nodiscard]] int level_of(double share);
/// What the levels mean.
[[nodiscard]] std::string legend_of_levels();

}  // namespace lastbit::tool
