// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the sums of one operation can be, channel by channel.
#pragma once

#include <vector>

#include "analysis/prove/sums.hpp"
#include "lastbit/prove.hpp"

namespace lastbit {

struct Bounded {
  LayerProof proof;                   ///< what follows from the sums alone: its sums, tiles, worst channel
  std::vector<IntegerRange> results;  ///< of every channel, what the device's accumulator can hold in the end
  std::vector<SumRange> whole;        ///< of every channel, the finished sum as it is, before the accumulator narrows it
};

[[nodiscard]] Bounded bounded(const Sums& sums);

}  // namespace lastbit
