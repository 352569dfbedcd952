// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One operation of a network on two backends, or of two versions of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/prove/ranges.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// The network as a backend sees it, and what computes this operation of it.
struct LayerSide {
  const Emulator& emulator;
  const Operation& operation;
  const SpecSheet& sheet;
  const SpecSheet& device;  ///< of the network; `sheet` where no other computes the operation

  [[nodiscard]] const Model& model() const { return emulator.model(); }
  [[nodiscard]] const Backend& backend() const { return sheet.backend; }
  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(&operation - model().operations.data()); }
};

struct LayerOnBoth {
  std::size_t index;  ///< of side a
  LayerSide a, b;
  const TensorRanges& ranges;    ///< codes that tensors can hold, on either side; by their index on side a
  const TensorRanges& ranges_b;  ///< by their index on side b

  [[nodiscard]] const Operation& operation() const { return a.operation; }
  /// Whether a side computes in real numbers.
  [[nodiscard]] bool is_real() const { return a.backend().domain == Domain::real || b.backend().domain == Domain::real; }
  [[nodiscard]] IntegerRange codes(std::size_t input) const { return ranges[static_cast<std::size_t>(operation().inputs[input])]; }
};

/// What stands at every input of the operation, null for constants and absent ones, where its data inputs are given in order, each once.
[[nodiscard]] std::vector<const Tensor*> places_of(const Model& model, const Operation& operation, std::span<const Tensor> inputs);

/// The operation on a side, its data inputs given in order, each once. Values as numbers that can be subtracted (explain/layer_values.hpp).
[[nodiscard]] std::vector<std::int64_t> computed(const LayerSide& side, std::span<const Tensor> inputs);

/// The paths below which the rules stand that the operation reads on this side.
[[nodiscard]] std::vector<std::string> prefixes_of(const LayerSide& side);

/// The side's rules, values that are one for this operation written as one: the two tables by which softmax divides are read of 16-bit data alone, so that
/// of others fixed_point_by_double is fixed_point.
[[nodiscard]] Backend in_force(const LayerSide& side);

/// Whether both do the same operation and read the same rules with the same values, of tensors with the same scales: then they compute the same whatever the input.
[[nodiscard]] bool have_same_rules(const LayerOnBoth& layer);

}  // namespace lastbit
