// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace lastbit::bench {

/// Seconds of one run of each, the least of many. They take turns, so that all meet the same machine; `budget` is the time for each.
[[nodiscard]] std::vector<double> seconds_in_turns(std::span<const std::function<void()>> runs, double budget);

}  // namespace lastbit::bench
