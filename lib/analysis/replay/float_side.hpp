// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a float network computes beside its quantised model, under the model's names and in its order of axes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/replay/match.hpp"
#include "lastbit/trace.hpp"

namespace lastbit {

struct FloatSide {
  NamedTrace trace;                                      ///< real values
  std::vector<std::optional<Counterpart>> counterparts;  ///< by the model's tensor
};

/// The float path of the model, or of another network that is given the same inputs: those of `model`, codes or real values.
/// Throws Error(bad_input) where an input of the float network is none of the model's.
[[nodiscard]] FloatSide float_side(const Model& model, const Model* float_network, std::span<const Tensor> inputs, int threads);

/// The same as codes of the model's tensors, as the backend makes codes of real inputs; tensors of which it can make none, and those that are not
/// finite, stay as they are. `model` is the backend's (Emulator::model).
[[nodiscard]] NamedTrace in_codes(NamedTrace real, const Model& model, const Backend& backend);

}  // namespace lastbit
