// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/advise/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace lastbit {
namespace {

constexpr double standard_normal_975 = 1.959963984540054;
constexpr int resamplings = 2000;
constexpr unsigned resampling_seed = 20240229;

struct Vectors {
  double expected_energy = 0, found_energy = 0, product = 0, error_energy = 0;
};

void add(Vectors& sums, const Tensor& expected, const Tensor& found) {
  const auto truth = expected.values<float>(), mine = found.values<float>();
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double y = truth[i], x = mine[i];
    sums.expected_energy += y * y;
    sums.found_energy += x * x;
    sums.product += x * y;
    sums.error_energy += (x - y) * (x - y);
  }
}

/// A zero or infinite vector has no direction and is unlike any other.
double likeness(const Vectors& sums) {
  if (sums.error_energy == 0) return 1;
  const double cosine = cosine_of(sums.product, std::sqrt(sums.expected_energy), std::sqrt(sums.found_energy));
  return std::isnan(cosine) ? 0 : cosine;
}

std::int64_t count_differing(const Tensor& a, const Tensor& b) {
  std::int64_t count = 0;
  visit_element_type(a.type(), [&]<class T>() {
    const auto x = a.values<T>(), y = b.values<T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if constexpr (std::is_floating_point_v<T>) count += x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i])) ? 1 : 0;
      else count += x[i] != y[i] ? 1 : 0;
    }
  });
  return count;
}

}  // namespace

double Agreement::relative_error() const {
  if (error_energy == 0) return 0;
  const double ratio = std::sqrt(error_energy / expected_energy);
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

void Agreement::add(const Agreement& other) {
  samples += other.samples;
  values += other.values;
  differing += other.differing;
  same_top += other.same_top;
  cosine_sum += other.cosine_sum;
  distance_sum += other.distance_sum;
  error_energy += other.error_energy;
  expected_energy += other.expected_energy;
}

Agreement agreement_of(const Model& model, const MixedRun& run, std::span<const Tensor> expected, std::span<const Tensor> found) {
  Agreement result{.samples = 1};
  Vectors sums;
  std::optional<bool> same_top;
  for (std::size_t o = 0; o < expected.size(); ++o) {
    const std::int32_t index = model.outputs[o];
    const Quantization& quantization = model.tensor(index).quantization;
    const std::int64_t values = expected[o].element_count();
    result.values += values;
    result.differing += count_differing(run.as_on_b(index, expected[o]), run.as_on_b(index, found[o]));
    add(sums, dequantized(expected[o], quantization), dequantized(found[o], quantization));
    if (values > 1 && !same_top) same_top = top_positions(expected[o], values) == top_positions(found[o], values);
  }
  result.same_top = same_top.value_or(true) ? 1 : 0;
  result.cosine_sum = likeness(sums);
  result.distance_sum = std::sqrt(2 - 2 * result.cosine_sum);
  result.error_energy = sums.error_energy;
  result.expected_energy = sums.expected_energy;
  return result;
}

std::string_view name_of(Objective objective) {
  switch (objective) {
    case Objective::differing: return "differing";
    case Objective::cosine: return "cosine";
    case Objective::top: return "top";
    case Objective::distance: return "distance";
    case Objective::relative_error: break;
  }
  return "relative_error";
}

std::optional<Objective> objective_from(std::string_view name) {
  for (const Objective objective :
       {Objective::differing, Objective::cosine, Objective::top, Objective::distance, Objective::relative_error}) {
    if (name_of(objective) == name) return objective;
  }
  return std::nullopt;
}

double cost_of(const Agreement& agreement, Objective objective) {
  switch (objective) {
    case Objective::differing: return agreement.differing_share();
    case Objective::cosine: return 1 - agreement.cosine();
    case Objective::top: return 1 - agreement.same_top_share();
    case Objective::distance: return agreement.distance();
    case Objective::relative_error: break;
  }
  return agreement.relative_error();
}

Interval wilson_interval(std::int64_t hits, std::int64_t trials) {
  if (trials == 0) return {0, 1};
  const double n = static_cast<double>(trials), p = static_cast<double>(hits) / n;
  const double z2 = standard_normal_975 * standard_normal_975;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = standard_normal_975 / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  return {hits == 0 ? 0 : std::max(0.0, centre - half), hits == trials ? 1 : std::min(1.0, centre + half)};
}

std::optional<Interval> bootstrap_interval(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  std::mt19937 random(resampling_seed);
  std::vector<double> means;
  for (int i = 0; i < resamplings; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < values.size(); ++k) sum += values[random() % values.size()];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  std::ranges::sort(means);
  return Interval{means[resamplings / 40 - 1], means[resamplings - resamplings / 40]};
}

}  // namespace lastbit
