// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One layer on every path that this machine has, on one and more threads, with and without counting events: the same bits as on the scalar
// path on one thread, and, of layers that sum products, as step by step.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "differential/random_layer.hpp"

namespace lastbit::test {

struct Comparisons {
  std::int64_t layers = 0, runs = 0, values = 0;
  /// Layers of sums of which none, some and all outputs left the accumulator on the way.
  std::array<std::int64_t, 3> overflowing{};
  std::map<std::string, std::int64_t, std::less<>> kinds;
};

/// Says what differs, or nothing.
[[nodiscard]] std::optional<std::string> difference_between_paths(const RandomLayer& layer, Comparisons& comparisons);

}  // namespace lastbit::test
