// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is written otherwise in two versions of a network, as the files have it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/migrate/matching.hpp"
#include "lastbit/migrate.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// Both networks, and which tensor is which.
struct BothNetworks {
  const Model &before, &after;
  std::vector<std::optional<std::int32_t>> tensors;  ///< of each of `before` the one of `after`

  [[nodiscard]] std::optional<std::int32_t> counterpart(std::int32_t tensor) const { return tensors[static_cast<std::size_t>(tensor)]; }
};

/// Of a matched layer: attributes, inputs and outputs.
[[nodiscard]] std::vector<LayerChange> changes_of(const BothNetworks& both, const LayerMatch& layer);

/// Of the networks' inputs, outputs and states: how many, of which tensors, types and shapes, with codes that mean the same.
[[nodiscard]] std::vector<LayerChange> changes_of_ends(const BothNetworks& both);

/// Whether codes mean the same on both sides: the same type and zero points, and each code's value is, on the other side too, nearest to the same code.
/// Real numbers always do.
[[nodiscard]] bool mean_the_same(ElementType type_a, const Quantization& a, ElementType type_b, const Quantization& b);

}  // namespace lastbit
