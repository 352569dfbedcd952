// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What bounds a layer's real output.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "lastbit/window.hpp"

namespace lastbit {

/// The bounds of an output. NaN passes through, so that it is seen.
struct RealBounds {
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
  bool magnitude = false;  ///< of the value, before it is bounded
  [[nodiscard]] constexpr float operator()(float value) const {
    if (magnitude) value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0x7FFF'FFFFU);
    return value < min ? min : value > max ? max : value;
  }
};

[[nodiscard]] constexpr RealBounds real_bounds(Activation activation) {
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return {.min = 0};
    case Activation::relu6: return {.min = 0, .max = 6};
    case Activation::relu_n1_to_1: return {.min = -1, .max = 1};
    case Activation::absolute: return {.magnitude = true};
  }
  return {};
}

}  // namespace lastbit
