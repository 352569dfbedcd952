// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Float16 values by the vectors of engine/kernels/half.hpp where the rules are theirs, else, and where a result leaves the finite values, one by
// one by definition.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "engine/float16/steps.hpp"
#include "engine/kernels/half.hpp"
#include "engine/kernels/kernels.hpp"

namespace lastbit {

/// The vectors of the path, where they round by all of these rules; null: there are none.
[[nodiscard]] inline const kernels::HalfKernels* half_kernels(std::initializer_list<const Float16Rules*> rules) {
  const bool known = std::all_of(rules.begin(), rules.end(), [](const Float16Rules* rule) {
    return rule->rounding == Rounding::half_even && rule->top_exponent == Float16TopExponent::infinity_nan;
  });
  return known ? kernels::selected_path().half : nullptr;
}

/// Values [0, count): vectors(first, how many) computes some and returns how many, value(i) one. What vectors computes is finite.
template <class Vectors, class Value>
void each_half(const kernels::HalfKernels* half, std::size_t count, OutputCounter& counter, Vectors&& vectors, Value&& value) {
  const std::size_t lanes = half == nullptr ? count : half->lanes;
  for (std::size_t i = 0; i < count;) {
    if (half != nullptr) {
      const std::size_t done = vectors(i, count - i);
      counter.skip(done);
      i += done;
    }
    for (const std::size_t end = std::min(count, i + lanes); i < end; ++i) {
      value(i);
      counter.next();
    }
  }
}

[[nodiscard]] inline kernels::HalfBounds half_bounds(const Float16Bounds& bounds) {
  return {bounds.real().min, bounds.real().max, bounds.min().bits, bounds.max().bits};
}

[[nodiscard]] inline const std::uint16_t* patterns(const Float16* values) { return &values->bits; }
[[nodiscard]] inline std::uint16_t* patterns(Float16* values) { return &values->bits; }

/// Values that pass the vector unit unchanged, then into bounds, where there are any.
inline void pass_values(const kernels::HalfKernels* half, Float16Rounder& rounder, OutputCounter& counter, const Float16Bounds* bounds,
                        const Float16* in, Float16* out, std::size_t count) {
  const kernels::HalfBounds limits = bounds == nullptr ? kernels::HalfBounds{} : half_bounds(*bounds);
  each_half(
      half, count, counter,
      [&](std::size_t i, std::size_t left) {
        return half->combine(kernels::HalfOp::pass, patterns(in + i), patterns(in + i), patterns(out + i), left,
                             bounds == nullptr ? nullptr : &limits);
      },
      [&](std::size_t i) { out[i] = bounds == nullptr ? rounder.passed(in[i]) : (*bounds)(rounder.passed(in[i])); });
}

}  // namespace lastbit
