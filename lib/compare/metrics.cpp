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

/// What one side alone says, of values that each stand at `count` places.
struct Side {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0, spread = 0;
  std::int64_t values = 0, non_finite = 0;

  void add(double value, std::int64_t count) {
    const auto weight = static_cast<double>(count);
    min = min_or_nan(min, value);
    max = max_or_nan(max, value);
    sum += weight * value;
    squares += weight * (value * value);
    values += count;
    if (!std::isfinite(value)) non_finite += count;
  }
  /// Once all were added.
  void add_to_spread(double value, std::int64_t count) { spread += static_cast<double>(count) * ((value - mean()) * (value - mean())); }

  [[nodiscard]] double mean() const { return sum / static_cast<double>(values); }
  [[nodiscard]] double norm() const { return std::sqrt(squares); }
  [[nodiscard]] Distribution distribution() const { return {mean(), std::sqrt(spread / static_cast<double>(values))}; }
  /// Scaled to [0, 1]; a constant stays itself.
  [[nodiscard]] double probability(double value) const {
    return max_or_nan(probability_floor, max == min ? value : (value - min) / (max - min));
  }
};

bool vanishes(double norm) { return norm <= eps; }

/// Sums over pairs.
struct Pairs {
  double dot = 0, absolute = 0, largest = 0, squares = 0, relative = 0, largest_relative = 0;
  double p = 0, q = 0, p_log_ratio = 0;

  void add(double x, double y, double px, double py, std::int64_t count) {
    const auto weight = static_cast<double>(count);
    const double error = std::abs(x - y);
    dot += weight * (x * y);
    absolute += weight * error;
    largest = max_or_nan(largest, error);
    squares += weight * (error * error);
    if (std::abs(y) > eps) {
      const double ratio = std::abs(x / y - 1);
      relative += weight * ratio;
      largest_relative = max_or_nan(largest_relative, ratio);
    }
    p += weight * px;
    q += weight * py;
    p_log_ratio += weight * (px * std::log(px / py));
  }

  /// With p and q divided by their sums P and Q: sum p/P ln(p/q * Q/P).
  [[nodiscard]] double divergence() const {
    const double value = p_log_ratio / p + std::log(q / p);
    return std::abs(value) < eps ? 0 : value;
  }
};

/// `each` calls what it is given with x, y and at how many places they stand.
template <class Each>
ElementMetrics metrics_of(Each&& each) {
  Side x, y;
  each([&](double mine, double truth, std::int64_t count) {
    x.add(mine, count);
    y.add(truth, count);
  });
  Pairs pairs;
  each([&](double mine, double truth, std::int64_t count) {
    x.add_to_spread(mine, count);
    y.add_to_spread(truth, count);
    pairs.add(mine, truth, x.probability(mine), y.probability(truth), count);
  });
  const auto count = static_cast<double>(x.values);
  return {.values = x.values,
          .non_finite_mine = x.non_finite,
          .non_finite_truth = y.non_finite,
          .cosine = cosine_of(pairs.dot, x.norm(), y.norm()),
          .sqnr_db = sqnr_db_of(y.norm() * y.norm(), pairs.squares),
          .max_absolute_error = pairs.largest,
          .mean_absolute_error = pairs.absolute / count,
          .root_mean_square_error = std::sqrt(pairs.squares / count),
          .relative_euclidean = vanishes(y.norm()) ? 0 : std::sqrt(pairs.squares) / y.norm(),
          .kullback_leibler = pairs.divergence(),
          .accumulated_relative_error = pairs.relative,
          .max_relative_error = pairs.largest_relative,
          .mean_relative_error = pairs.relative / count,
          .mine = x.distribution(),
          .truth = y.distribution()};
}

std::string fixed(const char* format, double value) {
  if (std::isnan(value)) return "nan";  // printf may print a sign
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// The analyzer says "1.0" and "NaN" where it decides without computing.
std::string cosine_text(const ElementMetrics& metrics, std::span<const float> mine, std::span<const float> truth) {
  const auto norm_of = [](std::span<const float> values) {
    Side side;
    for (const double value : values) side.add(value, 1);
    return side.norm();
  };
  const bool no_mine = vanishes(norm_of(mine)), no_truth = vanishes(norm_of(truth));
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
  return metrics_of([&](auto&& add) {
    for (std::size_t i = 0; i < mine.size(); ++i) add(mine[i], truth[i], 1);
  });
}

ElementMetrics element_metrics(std::span<const CountedPair> pairs) {
  return metrics_of([&](auto&& add) {
    for (const CountedPair& pair : pairs) add(pair.mine, pair.truth, pair.count);
  });
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
