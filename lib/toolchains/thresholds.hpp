// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where to cut off a distribution before it is quantised: rules that quantisers share. Each vendor's published variant is made of these parts.
//
// A threshold T is for symmetric codes: |x| <= T. Histograms of magnitudes have `n` equal bins over [0, max]; bin i spans i/n to (i+1)/n of max.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lastbit/quantizer.hpp"

namespace lastbit {

struct ClippingRange {
  double min = 0;
  double max = 0;
  friend constexpr bool operator==(const ClippingRange&, const ClippingRange&) = default;
};

/// The upper edge of the first bin at which at least `share` (0 … 1) of all values are counted; max for an empty histogram.
[[nodiscard]] double quantile(const Histogram& histogram, double share);

/// The range that leaves out as many values as possible, in whole bins of the signed histogram, but at most a share of `left_out` at either end.
[[nodiscard]] ClippingRange central_range(const Histogram& histogram, double left_out);

/// Which thresholds are tried: the upper edges of the bins first, first + step, …, and the last one.
struct ThresholdSearch {
  std::size_t first = 0;
  std::size_t step = 1;
};

/// The threshold T that minimises sum counts[i] * (c_i - q(c_i))^2, c_i the middle of bin i, q(x) = min(half_away(x / s), levels) * s with
/// s = T / levels. The smallest of equals.
[[nodiscard]] double mse_threshold(const Histogram& magnitudes, int levels, ThresholdSearch search);

/// The divergence sum p ln(p / q) of two lists of weights, each first divided by its sum; a share q counts as `smallest` where it is less. With
/// 0 the divergence is infinite where p > 0 and q = 0.
[[nodiscard]] double kl_divergence(std::span<const double> p, std::span<const double> q, double smallest = 0);

/// What quantising the first bins to `levels` codes leaves of them: neighbouring bins are joined into `levels` groups of as equal a width as
/// possible, and each group's sum is shared equally among its bins that are not empty in `counts`.
[[nodiscard]] std::vector<double> joined_and_spread(std::span<const double> counts, std::size_t levels);

/// The threshold that minimises the divergence of the first k bins, with all counts beyond them added to the last one, from those bins without
/// the counts beyond, joined_and_spread over the levels (the procedure published by S. Migacz, 8-bit Inference with TensorRT, 2017); shares of
/// the latter count as `smallest` where they are less. The smallest of equals; fewer bins than levels are not tried.
[[nodiscard]] double kl_threshold(const Histogram& magnitudes, std::size_t levels, ThresholdSearch search, double smallest = 0);

}  // namespace lastbit
