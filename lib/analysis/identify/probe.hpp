// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers and inputs on which combinations of rules differ.
#pragma once

#include <optional>
#include <vector>

#include "analysis/identify/conv_search.hpp"

namespace lastbit {

struct DesignedProbe {
  std::vector<IdentifyPair> layers;  ///< their outputs are all zeros
  std::size_t considered = 0;
  std::int64_t outcomes = 0;
  double bits = 0;
};

/// Layers of their own weights, bias and scales: kind, types and zero points are those of `like`.
[[nodiscard]] std::optional<DesignedProbe> design_free_probe(const ConvSpace& space, const std::vector<Block>& blocks, const Model& like,
                                                             const ProbeOptions& options);

/// An input of the layer as it is.
[[nodiscard]] std::optional<DesignedProbe> design_input_probe(const ConvSpace& space, const std::vector<Block>& blocks,
                                                              const IdentifyPair& like, const ProbeOptions& options);

}  // namespace lastbit
