// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which layer of one version of a network is which of the other, and which tensor.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "lastbit/migrate.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

struct LayerMatch {
  std::size_t before, after;
  PairedBy by;
};

/// Layers of the same kind, in the order of `before`. A name is not believed where the weights stand under another name: graphs are numbered anew when they
/// are written.
[[nodiscard]] std::vector<LayerMatch> matched_layers(const Model& before, const Model& after);

/// Of every tensor of `before` the one of `after`: the outputs of matched layers; the networks' inputs, by name, else by place among the others.
[[nodiscard]] std::vector<std::optional<std::int32_t>> matched_tensors(const Model& before, const Model& after,
                                                                       const std::vector<LayerMatch>& layers);

}  // namespace lastbit
