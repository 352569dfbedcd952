// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the reports of several commands have in common.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lastbit/compare.hpp"
#include "lastbit/model.hpp"
#include "report/document.hpp"

namespace lastbit::tool {

/// Of a layer: "7", and what the filter finds it by.
[[nodiscard]] Subject subject_of(const std::string& name, const std::string& operation, Standing standing);
[[nodiscard]] inline Standing standing_of(bool differs) { return differs ? Standing::differs : Standing::equal; }
/// 0 of none.
[[nodiscard]] double share_of(std::int64_t part, std::int64_t all);
/// "7 conv2d"
[[nodiscard]] std::string label_of(std::optional<std::size_t> number, const std::string& operation);
[[nodiscard]] std::string joined(const std::vector<std::string>& texts, const std::string& between = ", ");

/// What of an operation differs, by its number; nothing where that is not known.
using ShareOf = std::function<std::optional<double>(std::size_t operation)>;
[[nodiscard]] Graph graph_of(const Model& model, const ShareOf& share_of_operation);
/// Its section, coloured by the shares "of …"; of an operation without one that is not known.
void add_network(Document& page, const Model& model, const std::string& of, const std::map<std::size_t, double>& shares);

[[nodiscard]] std::vector<std::int64_t> counts_of(const LsbHistogram& histogram);
[[nodiscard]] Histogram histogram_of(const Subject& subject, const std::string& title, const LsbHistogram& histogram);
/// By place, where the tensor has places, and by channel; `kind` says what of it: "same input".
void add_grids(Grids& grids, const DifferencePlaces& where, const std::string& kind);

/// Of pictures, so many are shown; the rest is told.
inline constexpr std::size_t most_pictures = 120;
template <class Picture>
[[nodiscard]] Paragraph keep_first(std::vector<Picture>& pictures) {
  if (pictures.size() <= most_pictures) return {};
  const std::size_t all = pictures.size();
  pictures.erase(pictures.begin() + most_pictures, pictures.end());
  return {"The first " + std::to_string(most_pictures) + " of " + std::to_string(all) + " layers."};
}

[[nodiscard]] AssumptionList assumption_rows(const std::vector<Assumption>& assumptions, const std::string& of);
inline const std::string assumptions_meaning =
    "Rules that no evidence supports, and what each assumption goes by. Where an assumption is wrong, the figures that rest on it are.";

}  // namespace lastbit::tool
