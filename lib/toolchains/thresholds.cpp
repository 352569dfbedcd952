// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "toolchains/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lastbit {
namespace {

std::int64_t total_of(const Histogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t{0});
}

double edge(const Histogram& histogram, std::size_t bin) {
  if (bin == histogram.counts.size()) return histogram.max;
  return histogram.min + (histogram.max - histogram.min) * static_cast<double>(bin) / static_cast<double>(histogram.counts.size());
}

/// Calls score(bins) for each number of bins to keep, and gives the edge of the first lowest score.
template <class Score>
double best_edge(const Histogram& histogram, ThresholdSearch search, Score&& score) {
  const std::size_t bins = histogram.counts.size();
  double best = std::numeric_limits<double>::infinity();
  double threshold = histogram.max;
  const auto attempt = [&](std::size_t kept) {
    const double found = score(kept);
    if (!(found < best)) return;
    best = found;
    threshold = edge(histogram, kept);
  };
  for (std::size_t kept = search.first + 1; kept < bins; kept += search.step) attempt(kept);
  attempt(bins);
  return threshold;
}

}  // namespace

double quantile(const Histogram& histogram, double share) {
  const auto needed = share * static_cast<double>(total_of(histogram));
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    seen += histogram.counts[i];
    if (seen > 0 && static_cast<double>(seen) >= needed) return edge(histogram, i + 1);
  }
  return histogram.max;
}

ClippingRange central_range(const Histogram& histogram, double left_out) {
  const double outside = left_out * static_cast<double>(total_of(histogram));
  std::size_t first = 0, last = histogram.counts.size();
  std::int64_t below = 0, above = 0;
  while (first + 1 < last && static_cast<double>(below + histogram.counts[first]) <= outside) below += histogram.counts[first++];
  while (last > first + 1 && static_cast<double>(above + histogram.counts[last - 1]) <= outside) above += histogram.counts[--last];
  return {edge(histogram, first), edge(histogram, last)};
}

double mse_threshold(const Histogram& magnitudes, int levels, ThresholdSearch search) {
  const auto bins = static_cast<double>(magnitudes.counts.size());
  return best_edge(magnitudes, search, [&](std::size_t kept) {
    const double step = magnitudes.max * static_cast<double>(kept) / bins / levels;
    double error = 0;
    for (std::size_t i = 0; i < magnitudes.counts.size(); ++i) {
      if (magnitudes.counts[i] == 0) continue;
      const double middle = magnitudes.max * (static_cast<double>(i) + 0.5) / bins;
      const double left = middle - std::min(std::floor(middle / step + 0.5), static_cast<double>(levels)) * step;
      error += static_cast<double>(magnitudes.counts[i]) * left * left;
    }
    return error;
  });
}

double kl_divergence(std::span<const double> p, std::span<const double> q, double smallest) {
  const double sum_p = std::accumulate(p.begin(), p.end(), 0.0), sum_q = std::accumulate(q.begin(), q.end(), 0.0);
  double divergence = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0) continue;
    const double share = std::max(sum_q == 0 ? 0 : q[i] / sum_q, smallest);
    if (share == 0) return std::numeric_limits<double>::infinity();
    divergence += p[i] / sum_p * std::log(p[i] / sum_p / share);
  }
  return divergence;
}

std::vector<double> joined_and_spread(std::span<const double> counts, std::size_t levels) {
  std::vector<double> spread(counts.size(), 0);
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t first = level * counts.size() / levels, end = (level + 1) * counts.size() / levels;
    const auto group = counts.subspan(first, end - first);
    const auto filled = static_cast<double>(std::ranges::count_if(group, [](double count) { return count > 0; }));
    if (filled == 0) continue;
    const double each = std::accumulate(group.begin(), group.end(), 0.0) / filled;
    for (std::size_t i = first; i < end; ++i) spread[i] = counts[i] > 0 ? each : 0;
  }
  return spread;
}

double kl_threshold(const Histogram& magnitudes, std::size_t levels, ThresholdSearch search, double smallest) {
  const std::vector<double> counts(magnitudes.counts.begin(), magnitudes.counts.end());
  search.first = std::max(search.first, levels - 1);
  return best_edge(magnitudes, search, [&](std::size_t kept) {
    const std::span<const double> inside(counts.data(), kept);
    std::vector<double> reference(inside.begin(), inside.end());
    reference.back() += std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(kept), counts.end(), 0.0);
    return kl_divergence(reference, joined_and_spread(inside, levels), smallest);
  });
}

}  // namespace lastbit
