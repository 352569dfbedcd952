// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ranges of real values through the operations of a float network that runs in float16: what every rounding can add is added.
#pragma once

#include <optional>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

struct RealRange {
  double min = 0, max = 0;
  [[nodiscard]] double magnitude() const { return -min > max ? -min : max; }
};

/// By tensor of the model; absent: nothing is known.
using RealRanges = std::vector<std::optional<RealRange>>;

/// What an operation delivers, and the largest magnitude of anything it rounds to float16 on the way.
struct RealResult {
  std::optional<RealRange> output;
  double inside = 0;
};

/// `model` is a float32 network; constants have their own ranges. Absent where an input is unknown, or the kind is not followed.
[[nodiscard]] RealResult real_range_after(const Model& model, const Operation& operation, const Float16Arithmetic& rules,
                                          const RealRanges& ranges);

}  // namespace lastbit
