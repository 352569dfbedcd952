// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/layer_view.hpp"

#include <algorithm>
#include <cmath>

#include "compare/report_layout.hpp"
#include "lastbit/error.hpp"
#include "lastbit/nearest.hpp"

namespace lastbit {
namespace {

bool is_called(const ViewedLayer& layer, const std::string& name) {
  return name == layer.name || (layer.number && name == std::to_string(*layer.number));
}

/// What is sorted by, the largest first; NaN, of which nothing can be said, before all.
double weight(const ViewedLayer& layer, LayerOrder order) {
  const double value = order == LayerOrder::differing ? layer.share : order == LayerOrder::largest ? std::abs(layer.largest) : layer.own;
  return std::isnan(value) ? HUGE_VAL : value;
}

}  // namespace

std::vector<std::size_t> shown(const LayerView& view, std::span<const ViewedLayer> layers) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!view.layer.empty() && !is_called(layers[i], view.layer)) continue;
    if (view.only_differing && layers[i].share == 0 && layers[i].own == 0) continue;
    rows.push_back(i);
  }
  if (!view.layer.empty() && std::ranges::none_of(layers, [&](const ViewedLayer& each) { return is_called(each, view.layer); })) {
    std::vector<std::string_view> names;
    for (const ViewedLayer& each : layers) names.push_back(each.name);
    throw Error(ErrorCode::bad_input, "--layer", "no layer is called '" + view.layer + "'" + did_you_mean(view.layer, names));
  }
  if (view.order != LayerOrder::network)
    std::ranges::stable_sort(rows, std::greater<>(), [&](std::size_t row) { return weight(layers[row], view.order); });
  return rows;
}

std::string shown_line(std::size_t shown, std::size_t all) {
  if (shown == all) return {};
  return std::to_string(shown) + " of " + std::to_string(all) + " layers " + (shown == 1 ? "is" : "are") + " shown.\n";
}

std::size_t name_width(const LayerView& view, std::size_t at_hundred) {
  constexpr std::size_t least = 8;
  const std::size_t all = at_hundred + view.width;
  return all < line_width + least ? least : all - line_width;
}

}  // namespace lastbit
