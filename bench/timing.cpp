// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "timing.hpp"

#include <time.h>

#include <algorithm>
#include <limits>

namespace lastbit::bench {
namespace {

constexpr double shortest_sample = 0.0005;  // seconds; far above what the clocks resolve, and short enough to be left alone now and then
constexpr int fewest_rounds = 5;

double now(Clock clock) {
  timespec time{};
  clock_gettime(clock == Clock::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_of(const std::function<void()>& run, int repeats, Clock clock) {
  const double start = now(clock);
  for (int i = 0; i < repeats; ++i) run();
  return (now(clock) - start) / repeats;
}

}  // namespace

std::vector<double> seconds_in_turns(std::span<const std::function<void()>> runs, double budget, Clock clock) {
  std::vector<double> least(runs.size(), std::numeric_limits<double>::infinity());
  std::vector<int> repeats;
  for (const auto& run : runs) {
    static_cast<void>(seconds_of(run, 1, clock));  // caches, pages and lazily made things
    repeats.push_back(std::max(1, static_cast<int>(shortest_sample / std::max(seconds_of(run, 1, clock), 1e-9))));
  }
  double spent = 0;
  for (int round = 0; round < fewest_rounds || spent < budget * static_cast<double>(runs.size()); ++round) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double seconds = seconds_of(runs[i], repeats[i], clock);
      spent += seconds * repeats[i];
      least[i] = std::min(least[i], seconds);
    }
  }
  return least;
}

}  // namespace lastbit::bench
