// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lastbit/error.hpp"
#include "lastbit/sweep.hpp"

namespace lastbit {

void SampleSet::add(SampleRange range) {
  if (range.first >= range.last) return;
  const auto behind = std::ranges::upper_bound(ranges_, range.first, {}, &SampleRange::first);
  const bool twice =
      (behind != ranges_.end() && behind->first < range.last) || (behind != ranges_.begin() && std::prev(behind)->last > range.first);
  if (twice) {
    throw Error(ErrorCode::bad_input, "sweep",
                "of samples " + std::to_string(range.first) + " to " + std::to_string(range.last - 1) + " some are counted already");
  }
  auto at = ranges_.insert(behind, range);
  const auto join_next = [&](auto left) {
    if (std::next(left) == ranges_.end() || left->last != std::next(left)->first) return;
    left->last = std::next(left)->last;
    ranges_.erase(std::next(left));
  };
  join_next(at);
  if (at != ranges_.begin()) join_next(std::prev(at));
}

void SampleSet::add(const SampleSet& other) {
  for (const SampleRange& range : other.ranges_) add(range);
}

std::int64_t SampleSet::count() const {
  std::int64_t sum = 0;
  for (const SampleRange& range : ranges_) sum += range.last - range.first;
  return sum;
}

SampleSet SampleSet::missing(std::int64_t all) const {
  SampleSet rest;
  std::int64_t next = 0;
  for (const SampleRange& range : ranges_) {
    rest.add({next, std::min(range.first, all)});
    next = range.last;
  }
  rest.add({next, all});
  return rest;
}

void RealSums::add(std::span<const float> x, std::span<const float> y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = x[i], b = y[i];  // products of two float32 are exact in double
    if (!std::isfinite(a) || !std::isfinite(b)) {
      ++non_finite;
      continue;
    }
    ++values;
    judged.add(a * a);
    truth.add(b * b);
    product.add(a * b);
    largest_error = std::max(largest_error, std::abs(a - b));
  }
}

void RealSums::merge(const RealSums& other) {
  values += other.values;
  non_finite += other.non_finite;
  judged.add(other.judged);
  truth.add(other.truth);
  product.add(other.product);
  largest_error = std::max(largest_error, other.largest_error);
}

namespace {

/// sum (x - y)^2 = sum x^2 - 2 sum x y + sum y^2, exactly, then rounded.
double squared_error(const RealSums& sums) {
  ExactSum error = sums.judged;
  error.add_multiple(sums.product, -2);
  error.add(sums.truth);
  return error.to_double();
}

}  // namespace

double RealSums::cosine() const { return cosine_of(product.to_double(), std::sqrt(judged.to_double()), std::sqrt(truth.to_double())); }

double RealSums::sqnr_db() const { return sqnr_db_of(truth.to_double(), squared_error(*this)); }

double RealSums::root_mean_square_error() const { return values == 0 ? 0 : std::sqrt(squared_error(*this) / static_cast<double>(values)); }

double RealSums::relative_euclidean() const {
  const double error = squared_error(*this);
  return error == 0 ? 0 : std::sqrt(error / truth.to_double());
}

std::int64_t TensorSums::largest_lsb() const {
  const bool low = lowest_lsb < 0 && (lowest_lsb == std::numeric_limits<std::int64_t>::min() || -lowest_lsb > highest_lsb);
  return low ? lowest_lsb : highest_lsb;
}

void TensorSums::merge(const TensorSums& other) {
  values += other.values;
  differing += other.differing;
  samples_differing += other.samples_differing;
  if (other.first_sample) first_sample = std::min(first_sample.value_or(*other.first_sample), *other.first_sample);
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) histogram.counts[i] += other.histogram.counts[i];
  lowest_lsb = std::min(lowest_lsb, other.lowest_lsb);
  highest_lsb = std::max(highest_lsb, other.highest_lsb);
  lsb_sum += other.lsb_sum;
  lsb_magnitude_sum += other.lsb_magnitude_sum;
  reference.merge(other.reference);
  golden.merge(other.golden);
}

void SweepStatistics::merge(const SweepStatistics& other) {
  SampleSet both = samples;
  both.add(other.samples);  // throws before anything is counted
  samples = std::move(both);
  for (std::size_t b = 0; b < backends.size(); ++b) {
    const BackendSums& from = other.backends[b];
    for (std::size_t t = 0; t < from.tensors.size(); ++t) backends[b].tensors[t].merge(from.tensors[t]);
    for (std::size_t o = 0; o < from.answers.size(); ++o) {
      backends[b].answers[o].samples += from.answers[o].samples;
      backends[b].answers[o].as_reference += from.answers[o].as_reference;
      backends[b].answers[o].as_golden += from.answers[o].as_golden;
    }
    for (std::size_t i = 0; i < from.events.size(); ++i) backends[b].events[i] += from.events[i];
  }
}

}  // namespace lastbit
