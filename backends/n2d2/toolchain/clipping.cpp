// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "n2d2/toolchain/clipping.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "toolchains/thresholds.hpp"

namespace lastbit::n2d2 {
namespace {

constexpr int candidates = 1000;

/// max * (1 - k / 1000) for which score is least; the largest of equals.
template <class Score>
double best_candidate(double max, Score&& score) {
  double best = max, least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < candidates; ++k) {
    const double threshold = max * (1 - static_cast<double>(k) / candidates);
    const double found = score(threshold);
    if (found >= least) continue;
    least = found;
    best = threshold;
  }
  return best;
}

}  // namespace

Histogram with_bins(const Histogram& histogram, std::size_t bins) {
  const std::size_t joined = histogram.counts.size() / bins;
  if (joined <= 1) return histogram;
  Histogram result{histogram.min, histogram.max, std::vector<std::int64_t>(bins, 0)};
  for (std::size_t i = 0; i < joined * bins; ++i) result.counts[i / joined] += histogram.counts[i];
  return result;
}

double mse_clipping(const Histogram& magnitudes, double levels) {
  const double width = magnitudes.max / static_cast<double>(magnitudes.counts.size());
  return best_candidate(magnitudes.max, [&](double threshold) {
    double error = 0;
    for (std::size_t i = 0; i < magnitudes.counts.size(); ++i) {
      if (magnitudes.counts[i] == 0) continue;
      const double value = (static_cast<double>(i) + 0.5) * width;
      const double left = value - std::min(std::floor(value * levels / threshold + 0.5), levels) * threshold / levels;
      error += static_cast<double>(magnitudes.counts[i]) * left * left;
    }
    return error;
  });
}

double kl_clipping(const Histogram& magnitudes, std::size_t levels) {
  const std::vector<double> counts(magnitudes.counts.begin(), magnitudes.counts.end());
  return best_candidate(magnitudes.max, [&](double threshold) {
    const auto kept = static_cast<std::size_t>(std::lround(threshold / magnitudes.max * static_cast<double>(counts.size())));
    if (kept < levels) return std::numeric_limits<double>::infinity();
    const std::span<const double> inside(counts.data(), kept);
    std::vector<double> reference(inside.begin(), inside.end());
    reference.back() += std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(kept), counts.end(), 0.0);
    return kl_divergence(reference, joined_and_spread(inside, levels), 1e-12);
  });
}

}  // namespace lastbit::n2d2
