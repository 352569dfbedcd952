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
  /// The largest magnitude.
  [[nodiscard]] double size() const { return max_or_nan(std::abs(min), std::abs(max)); }
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

  void add(double x, double y, double error, double px, double py, std::int64_t count) {
    const auto weight = static_cast<double>(count);
    dot += weight * (x * y);
    absolute += weight * error;
    largest = max_or_nan(largest, error);
    squares += weight * (error * error);
    if (std::abs(y) > eps) {
      const double ratio = error == std::abs(x - y) ? std::abs(x / y - 1) : error / std::abs(y);
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

/// Squares and products that double's range does not hold, in units of the largest magnitudes.
struct Scaled {
  double mine = 0, truth = 0, dot = 0, error_squares = 0;
  double truth_size = 0, error_size = 0;

  [[nodiscard]] double cosine() const { return cosine_of(dot, std::sqrt(mine), std::sqrt(truth)); }
  [[nodiscard]] double error_length() const { return error_size * std::sqrt(error_squares); }
  [[nodiscard]] double sqnr_db() const {
    if (error_size == 0) return std::numeric_limits<double>::infinity();
    return 20 * (std::log10(truth_size) - std::log10(error_size)) + 10 * std::log10(truth / error_squares);
  }
};

template <class Each>
Scaled scaled_sums(Each&& each, const Side& x, const Side& y, double largest_error) {
  Scaled sums{.truth_size = y.size(), .error_size = largest_error};
  const auto over = [](double value, double size) { return size > 0 ? value / size : 0; };
  each([&](double mine, double truth, double error, std::int64_t count) {
    const double a = over(mine, x.size()), b = over(truth, y.size()), e = over(error, largest_error);
    const auto weight = static_cast<double>(count);
    sums.mine += weight * (a * a);
    sums.truth += weight * (b * b);
    sums.dot += weight * (a * b);
    sums.error_squares += weight * (e * e);
  });
  return sums;
}

/// `each` calls what it is given with x, y, |x-y| and at how many places they stand.
template <class Each>
ElementMetrics metrics_of(Each&& each) {
  Side x, y;
  each([&](double mine, double truth, double /*error*/, std::int64_t count) {
    x.add(mine, count);
    y.add(truth, count);
  });
  Pairs pairs;
  each([&](double mine, double truth, double error, std::int64_t count) {
    x.add_to_spread(mine, count);
    y.add_to_spread(truth, count);
    pairs.add(mine, truth, error, x.probability(mine), y.probability(truth), count);
  });
  const auto count = static_cast<double>(x.values);
  ElementMetrics metrics{.values = x.values,
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
  constexpr double least = 1e-140, most = 1e140;  // of a length whose square double holds
  const auto is_held = [&](double length) { return length == 0 || (length > least && length < most); };
  const bool is_finite = std::isfinite(x.size()) && std::isfinite(y.size()) && std::isfinite(pairs.largest);
  if (!is_finite || (is_held(x.size()) && is_held(y.size()) && is_held(pairs.largest))) return metrics;
  const Scaled scaled = scaled_sums(each, x, y, pairs.largest);
  metrics.cosine = scaled.cosine();
  metrics.sqnr_db = scaled.sqnr_db();
  metrics.root_mean_square_error = scaled.error_length() / std::sqrt(count);
  return metrics;
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
  if (length_x == 0 && length_y == 0) return 1;
  if (length_x == 0 || length_y == 0) return nan;
  return std::clamp(product / (length_x * length_y), -1.0, 1.0);
}

double sqnr_db_of(double truth_energy, double error_energy) {
  return error_energy == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(truth_energy / error_energy);
}

ElementMetrics element_metrics(std::span<const float> mine, std::span<const float> truth) {
  return metrics_of([&](auto&& add) {
    for (std::size_t i = 0; i < mine.size(); ++i) add(mine[i], truth[i], std::abs(double{mine[i]} - double{truth[i]}), 1);
  });
}

ElementMetrics element_metrics(std::span<const double> mine, std::span<const double> truth, std::span<const double> errors) {
  return metrics_of([&](auto&& add) {
    for (std::size_t i = 0; i < mine.size(); ++i) add(mine[i], truth[i], errors.empty() ? std::abs(mine[i] - truth[i]) : errors[i], 1);
  });
}

ElementMetrics element_metrics(std::span<const CountedPair> pairs) {
  return metrics_of([&](auto&& add) {
    for (const CountedPair& pair : pairs) add(pair.mine, pair.truth, std::abs(double{pair.mine} - double{pair.truth}), pair.count);
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
