// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "timing.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace lastbit::bench {
namespace {

constexpr double shortest_sample = 0.002;  // seconds; far above what the clock resolves
constexpr int fewest_rounds = 5;

double seconds_of(const std::function<void()>& run, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
}

}  // namespace

std::vector<double> seconds_in_turns(std::span<const std::function<void()>> runs, double budget) {
  std::vector<double> least(runs.size(), std::numeric_limits<double>::infinity());
  std::vector<int> repeats;
  for (const auto& run : runs) {
    static_cast<void>(seconds_of(run, 1));  // caches, pages and lazily made things
    repeats.push_back(std::max(1, static_cast<int>(shortest_sample / std::max(seconds_of(run, 1), 1e-9))));
  }
  double spent = 0;
  for (int round = 0; round < fewest_rounds || spent < budget * static_cast<double>(runs.size()); ++round) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double seconds = seconds_of(runs[i], repeats[i]);
      spent += seconds * repeats[i];
      least[i] = std::min(least[i], seconds);
    }
  }
  return least;
}

}  // namespace lastbit::bench
