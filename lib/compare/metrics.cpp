// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace lastbit {
namespace {

constexpr double eps = 2.22e-16;
constexpr double probability_floor = std::numeric_limits<float>::epsilon();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// std::max and std::min drop a NaN on one side.
double max_or_nan(double a, double b) { return std::isnan(b) || b > a ? b : a; }
double min_or_nan(double a, double b) { return std::isnan(b) || b < a ? b : a; }

/// What one side alone says.
struct Side {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double norm = 0;
  std::int64_t non_finite = 0;
  Distribution distribution;

  explicit Side(std::span<const float> values) {
    double sum = 0;
    double squares = 0;
    for (const double value : values) {
      min = min_or_nan(min, value);
      max = max_or_nan(max, value);
      sum += value;
      squares += value * value;
      if (!std::isfinite(value)) ++non_finite;
    }
    const auto count = static_cast<double>(values.size());
    norm = std::sqrt(squares);
    distribution.mean = sum / count;
    double spread = 0;
    for (const double value : values) spread += (value - distribution.mean) * (value - distribution.mean);
    distribution.deviation = std::sqrt(spread / count);
  }

  /// Scaled to [0, 1]; a constant stays itself.
  [[nodiscard]] double probability(double value) const {
    return max_or_nan(probability_floor, max == min ? value : (value - min) / (max - min));
  }
};

bool vanishes(const Side& side) { return side.norm <= eps; }

/// Sums over pairs, one pass.
struct Pairs {
  double dot = 0, absolute = 0, largest = 0, squares = 0, relative = 0, largest_relative = 0;
  double p = 0, q = 0, p_log_ratio = 0;

  void add(double x, double y, double px, double py) {
    const double error = std::abs(x - y);
    dot += x * y;
    absolute += error;
    largest = max_or_nan(largest, error);
    squares += error * error;
    if (std::abs(y) > eps) {
      const double ratio = std::abs(x / y - 1);
      relative += ratio;
      largest_relative = max_or_nan(largest_relative, ratio);
    }
    p += px;
    q += py;
    p_log_ratio += px * std::log(px / py);
  }

  /// With p and q divided by their sums P and Q: sum p/P ln(p/q * Q/P).
  [[nodiscard]] double divergence() const {
    const double value = p_log_ratio / p + std::log(q / p);
    return std::abs(value) < eps ? 0 : value;
  }
};

std::string fixed(const char* format, double value) {
  if (std::isnan(value)) return "nan";  // printf may print a sign
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// The analyzer says "1.0" and "NaN" where it decides without computing.
std::string cosine_text(const ElementMetrics& metrics, std::span<const float> mine, std::span<const float> truth) {
  const bool no_mine = vanishes(Side(mine));
  const bool no_truth = vanishes(Side(truth));
  if (no_mine && no_truth) return "1.0";
  return no_mine || no_truth ? "NaN" : fixed("%.6f", metrics.cosine);
}

std::string text_of(const Distribution& d) {
  const auto flushed = [](double value) { return fixed("%.3f", std::abs(value) < 0.001 ? 0 : value); };
  return "(" + flushed(d.mean) + ";" + flushed(d.deviation) + ")";
}

}  // namespace

double cosine_of(double product, double length_x, double length_y) {
  if (length_x <= eps && length_y <= eps) return 1;
  if (length_x <= eps || length_y <= eps) return nan;
  return std::clamp(product / (length_x * length_y), -1.0, 1.0);
}

double sqnr_db_of(double truth_energy, double error_energy) {
  return error_energy == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(truth_energy / error_energy);
}

ElementMetrics element_metrics(std::span<const float> mine, std::span<const float> truth) {
  const Side x(mine);
  const Side y(truth);
  Pairs pairs;
  for (std::size_t i = 0; i < mine.size(); ++i) pairs.add(mine[i], truth[i], x.probability(mine[i]), y.probability(truth[i]));
  const auto count = static_cast<double>(mine.size());
  return {.values = static_cast<std::int64_t>(mine.size()),
          .non_finite_mine = x.non_finite,
          .non_finite_truth = y.non_finite,
          .cosine = cosine_of(pairs.dot, x.norm, y.norm),
          .sqnr_db = sqnr_db_of(y.norm * y.norm, pairs.squares),
          .max_absolute_error = pairs.largest,
          .mean_absolute_error = pairs.absolute / count,
          .root_mean_square_error = std::sqrt(pairs.squares / count),
          .relative_euclidean = vanishes(y) ? 0 : std::sqrt(pairs.squares) / y.norm,
          .kullback_leibler = pairs.divergence(),
          .accumulated_relative_error = pairs.relative,
          .max_relative_error = pairs.largest_relative,
          .mean_relative_error = pairs.relative / count,
          .mine = x.distribution,
          .truth = y.distribution};
}

std::vector<std::pair<std::string, std::string>> metrics_report(std::span<const float> mine, std::span<const float> truth) {
  const ElementMetrics m = element_metrics(mine, truth);
  const auto six = [](double value) { return fixed("%.6f", value); };
  return {{"CosineSimilarity", cosine_text(m, mine, truth)},
          {"MaxAbsoluteError", six(m.max_absolute_error)},
          {"AccumulatedRelativeError", six(m.accumulated_relative_error)},
          {"RelativeEuclideanDistance", six(m.relative_euclidean)},
          {"KullbackLeiblerDivergence", six(m.kullback_leibler)},
          {"StandardDeviation", text_of(m.mine) + "," + text_of(m.truth)},
          {"MeanAbsoluteError", six(m.mean_absolute_error)},
          {"RootMeanSquareError", six(m.root_mean_square_error)},
          {"MaxRelativeError", six(m.max_relative_error)},
          {"MeanRelativeError", six(m.mean_relative_error)}};
}

}  // namespace lastbit
