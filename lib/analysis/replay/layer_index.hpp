// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "lastbit/compare.hpp"

namespace lastbit {

/// The layers of a comparison that outlives it, by their tensor.
class LayerIndex {
 public:
  explicit LayerIndex(const CompareReport& report) {
    for (const LayerDifference& layer : report.layers) by_tensor_.emplace(layer.tensor, &layer);
  }
  /// nullptr: none is of this tensor.
  [[nodiscard]] const LayerDifference* of(std::int32_t tensor) const {
    const auto found = by_tensor_.find(tensor);
    return found == by_tensor_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::int32_t, const LayerDifference*> by_tensor_;
};

}  // namespace lastbit
