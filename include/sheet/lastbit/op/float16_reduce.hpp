// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Windows of float16 data as one value: max_pool2d, average_pool2d, global_average_pool, mean.
//
// Contract of float16_mean: sum(x) * c or sum(x * c), c = 1/count as a constant of the sum's precision; terms in row-major order. A tap in the
// padding is no value: it is neither added nor counted.
// Contract of float16_largest: the first of the largest values, as it passes the vector unit; a NaN wins, so that it is seen.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "lastbit/arith/ordered_sum.hpp"
#include "lastbit/op/float16_steps.hpp"

namespace lastbit {

[[nodiscard]] constexpr Float16 float16_mean(const Float16Mean& rule, Float16Rounder& rounder, std::span<const Float16> values) {
  Float16 result;
  with_steps(rule.sum.precision, rounder, [&]<class Steps>(const Steps& steps) {
    using Value = typename Steps::Value;
    const Value factor = steps.constant(1.0 / static_cast<double>(values.size()));
    std::vector<Value> terms(values.size(), Value{});
    std::transform(values.begin(), values.end(), terms.begin(), [&](Float16 value) {
      return rule.scaling == MeanScaling::before_sum ? steps.product(steps.from(value), factor) : steps.from(value);
    });
    const Value sum = ordered_sum<Value>(terms, rule.sum, std::nullopt, steps);
    result = steps.delivered(rule.scaling == MeanScaling::before_sum ? sum : steps.product(sum, factor));
  });
  return result;
}

[[nodiscard]] constexpr Float16 float16_largest(Float16Rounder& rounder, std::span<const Float16> values) {
  Float16 largest = values[0];
  for (const Float16 value : values) {
    const float candidate = rounder.real(value);
    if (candidate > rounder.real(largest) || candidate != candidate) largest = value;
  }
  return rounder.passed(largest);
}

}  // namespace lastbit
