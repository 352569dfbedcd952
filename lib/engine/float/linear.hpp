// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "engine/executor.hpp"
#include "engine/float/real.hpp"

namespace lastbit {

/// The third input, or empty.
[[nodiscard]] inline std::span<const float> bias_of(const Execution& run) {
  return run.inputs.size() > 2 && run.inputs[2] != nullptr ? run.inputs[2]->values<float>() : std::span<const float>();
}

/// Last step of every linear layer, on values laid out [rows, channels].
inline void add_bias_and_bound(std::span<float> values, std::size_t channels, std::span<const float> bias, const RealBounds& bounds) {
  for (std::size_t row = 0; row < values.size(); row += channels) {
    for (std::size_t c = 0; c < channels; ++c) values[row + c] = bounds(values[row + c] + (bias.empty() ? 0.0F : bias[c]));
  }
}

}  // namespace lastbit
