// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which layers the tables of a text report show, in which order and how wide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lastbit {

enum class LayerOrder : std::uint8_t {
  network,    ///< as they are computed
  differing,  ///< the largest share of differing values first
  largest,    ///< the largest difference first
  own,        ///< the largest share of values that differ although the layer was fed alike first
};

/// What is concluded below the tables, JSON and CSV are of all layers.
struct LayerView {
  std::string layer{};  ///< only this one: its number or its name; empty: all
  bool only_differing = false;
  LayerOrder order = LayerOrder::network;
  std::size_t width = 100;  ///< of a line, in characters
};

/// What a view goes by.
struct ViewedLayer {
  std::optional<std::size_t> number;
  std::string_view name;
  double share = 0;    ///< of its values, that differ
  double largest = 0;  ///< difference, in LSB, or of real values
  double own = 0;      ///< share of its values that differ although it was fed alike
};

/// The positions in `layers` of those that are shown, in order; of equals the order of the network. Throws Error(bad_input) where the view's
/// layer is none of them.
[[nodiscard]] std::vector<std::size_t> shown(const LayerView& view, std::span<const ViewedLayer> layers);

/// "3 of 84 layers are shown." where not all are, with an end of line.
[[nodiscard]] std::string shown_line(std::size_t shown, std::size_t all);

/// How wide names are where they are `at_hundred` in a line of 100: they take and give what the line has more or less, but 8 stay.
[[nodiscard]] std::size_t name_width(const LayerView& view, std::size_t at_hundred);

}  // namespace lastbit
