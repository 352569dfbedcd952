// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How far two sides that are given the same inputs of a network can be apart in each of its tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/certify/both_sides.hpp"
#include "analysis/certify/every_code.hpp"
#include "lastbit/certify.hpp"

namespace lastbit {

class NetworkBounds {
 public:
  /// Codes of the network's inputs are the same; a state can be anything that its type holds.
  explicit NetworkBounds(const Model& model);

  /// In LSB, of the input that is furthest apart; nothing: there is no bound.
  [[nodiscard]] std::optional<std::int64_t> of_inputs(const Operation& operation) const;
  /// The same of each data input of the operation, each once.
  [[nodiscard]] std::vector<std::int64_t> of_each(const Model& model, const Operation& operation) const;
  [[nodiscard]] const TensorBound& of_tensor(std::int32_t tensor) const { return bounds_[static_cast<std::size_t>(tensor)]; }

  /// Of the layer's outputs, where `apart` is known from what was gone through; else from what the operation and its type say.
  [[nodiscard]] TensorBound behind(const LayerOnBoth& layer, bool same_rules, std::optional<std::int64_t> apart) const;
  void put(const Operation& operation, const TensorBound& bound);

 private:
  std::vector<TensorBound> bounds_;
};

/// The largest difference between cases of both sides whose codes are so far apart, each data input in order.
[[nodiscard]] std::int64_t largest_difference(const EveryCode& cases, std::span<const std::int64_t> apart);

}  // namespace lastbit
