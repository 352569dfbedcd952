// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace lastbit::bench {

/// thread: processor time of the calling thread, in which nothing else on the machine counts. wall: what passed, for work that several
/// threads share.
enum class Clock : std::uint8_t { thread, wall };

/// Seconds of one run of each, the least of many. They take turns, so that all meet the same machine; `budget` is the time for each.
[[nodiscard]] std::vector<double> seconds_in_turns(std::span<const std::function<void()>> runs, double budget, Clock clock);

}  // namespace lastbit::bench
