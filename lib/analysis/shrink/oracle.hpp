// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whether a smaller layer still shows the same difference for the same reason.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/shrink/layer_case.hpp"

namespace lastbit {

struct TwoOutputs {
  Tensor a, b;
  /// Whether the value at the index differs, bit by bit.
  [[nodiscard]] bool differ_at(std::int64_t index) const;
};

/// Why the value of a layer differs. Not attributed where explain() names no set of rules, or knows nothing of such outputs.
[[nodiscard]] ShrinkCause cause_of(const LayerCase& layer, const SpecSheet& a, const SpecSheet& b);

class Oracle {
 public:
  /// What both sides make of a layer, or nothing where one of them cannot run it; it may throw Error for that as well.
  using BothSides = std::function<std::optional<TwoOutputs>(const LayerCase&)>;
  using Cause = std::function<ShrinkCause(const LayerCase&)>;

  Oracle(BothSides both, Cause cause_of_layer) : both_(std::move(both)), cause_of_(std::move(cause_of_layer)) {}
  /// Two backends, which outlive it, and what explain() says of them.
  Oracle(const SpecSheet& a, const SpecSheet& b);

  void expect(ShrinkCause cause) { cause_ = std::move(cause); }
  [[nodiscard]] const ShrinkCause& cause() const { return cause_; }
  [[nodiscard]] std::int64_t trials() const { return trials_; }

  /// What both make of it, or nothing where one of them cannot run it.
  [[nodiscard]] std::optional<TwoOutputs> run(const LayerCase& layer);

  /// It differs, for the expected cause.
  [[nodiscard]] bool holds(const LayerCase& layer);

  /// The same, and both values are still these bits.
  [[nodiscard]] bool holds_with(const LayerCase& layer, const TwoOutputs& outputs, std::int64_t index);

 private:
  BothSides both_;
  Cause cause_of_;
  ShrinkCause cause_;
  std::int64_t trials_ = 0;
};

}  // namespace lastbit
