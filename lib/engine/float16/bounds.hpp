// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/float/real.hpp"
#include "engine/float16/steps.hpp"
#include "engine/kernels/half.hpp"

namespace lastbit {

/// Bounds as float16 constants. NaN passes through, so that it is seen; a bound that is absent bounds nothing.
class Float16Bounds {
 public:
  Float16Bounds(const RealBounds& bounds, Float16Rounder& rounder)
      : min_(rounder.converted(bounds.min)), max_(rounder.converted(bounds.max)), bounds_(bounds), rounder_(rounder) {
    static_cast<void>(rounder_.take_left());
  }

  [[nodiscard]] kernels::HalfBounds for_vectors() const { return {bounds_.min, bounds_.max, min_.bits, max_.bits}; }

  [[nodiscard]] Float16 operator()(Float16 value) const {
    const float real = rounder_.real(value);
    if (real < bounds_.min) return min_;
    return real > bounds_.max ? max_ : value;
  }

 private:
  Float16 min_, max_;
  RealBounds bounds_;
  Float16Rounder& rounder_;
};

}  // namespace lastbit
