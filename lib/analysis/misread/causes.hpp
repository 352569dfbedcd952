// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What tensors of a dump were misread by, and which of it is a fact.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "analysis/explain/part.hpp"
#include "analysis/misread/golden_layers.hpp"
#include "lastbit/misread.hpp"

namespace lastbit {

/// Of one tensor.
struct TensorCause {
  /// misread_as: far as it is read, and near in another way that no rule amounts to. what_if: near with an offset, or as another tensor, which
  /// is a fact where it is then equal. other_sample: the same, and equal where every sample is one of those that are computed. likely: near in
  /// a way that may be in the data.
  enum class Ground : std::uint8_t { misread_as, what_if, other_sample, likely };
  std::string text;
  Ground ground = Ground::misread_as;
  const DumpedLayer* layer = nullptr;                       ///< by which it was judged
  std::optional<Codes> truth{};                             ///< what its codes would have been
  std::function<Integers(const Integers&)> as_dumped = {};  ///< what the dump holds where these are right
  Certainty certainty = Certainty::certain;
};
/// By tensor.
using TensorCauses = std::map<std::int32_t, TensorCause>;

/// Of the layer's inputs those that are named, as they would have been.
[[nodiscard]] std::map<std::int32_t, Codes> true_inputs(const DumpedLayer& layer, const TensorCauses& causes);

/// With the certainty of each. Nothing is said of a tensor whose layer a built-in backend, or one beside it by one rule, computes as it is.
[[nodiscard]] TensorCauses settled(TensorCauses causes, const GoldenLayers& layers);

}  // namespace lastbit
