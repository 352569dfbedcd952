// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How far apart two lists of real values are. `mine` is judged against `truth`; n values each, x of mine, y of truth.
//
// The definitions are those of Ascend's Model Accuracy Analyzer (msaccucmp), sums in double instead of float32; eps = 2.22e-16. One differs: to the
// analyzer every vector that is shorter than eps points where every other does, which metrics_report() says as well; cosine does not.
// Non-finite values are counted and go into every figure, which they make infinite or NaN.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lastbit {

/// Mean and population standard deviation.
struct Distribution {
  double mean = 0;
  double deviation = 0;
};

/// How far apart two lists of real values are; each metric is defined by the function named beside it.
struct ElementMetrics {
  std::int64_t values = 0;
  std::int64_t non_finite_mine = 0;
  std::int64_t non_finite_truth = 0;
  double cosine = 1;                      ///< cosine_of()
  double sqnr_db = 0;                     ///< sqnr_db_of()
  double max_absolute_error = 0;          ///< max |x-y|
  double mean_absolute_error = 0;         ///< mean |x-y|
  double root_mean_square_error = 0;      ///< sqrt(mean (x-y)^2)
  double relative_euclidean = 0;          ///< sqrt(sum (x-y)^2 / sum y^2); |y| <= eps: 0
  double kullback_leibler = 0;            ///< sum p ln(p/q); p, q: x, y scaled to [0,1], at least 2^-23, of sum 1; below eps: 0
  double accumulated_relative_error = 0;  ///< sum |x/y-1| over |y| > eps
  double max_relative_error = 0;          ///< the largest of these, or 0
  double mean_relative_error = 0;         ///< their sum / n
  Distribution mine{};
  Distribution truth{};
};

/// sum xy / (|x| |y|), from -1 to 1, however small the lengths are; both of them 0: 1; one of them: NaN.
[[nodiscard]] double cosine_of(double product, double length_x, double length_y);

/// 10 log10(sum y^2 / sum (x-y)^2); no error: infinity.
[[nodiscard]] double sqnr_db_of(double truth_energy, double error_energy);

/// Both spans have the same, positive size.
[[nodiscard]] ElementMetrics element_metrics(std::span<const float> mine, std::span<const float> truth);
/// Of values that float32 does not hold. `errors`: |x-y| of each, where x and y are too large to tell it; empty: they tell it.
[[nodiscard]] ElementMetrics element_metrics(std::span<const double> mine, std::span<const double> truth,
                                             std::span<const double> errors = {});

/// A pair of values that stands at so many places.
struct CountedPair {
  float mine = 0, truth = 0;
  std::int64_t count = 0;
};
/// The same figures, but for the last bits of their sums; no pair has the count 0, and there is one at least.
[[nodiscard]] ElementMetrics element_metrics(std::span<const CountedPair> pairs);

/// The ten figures of the analyzer's table, under its names and in its order, formatted as it formats them.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> metrics_report(std::span<const float> mine, std::span<const float> truth);

}  // namespace lastbit
