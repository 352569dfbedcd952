// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/matrix/expected.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "analysis/last_chain.hpp"

namespace lastbit {
namespace {

struct Normal {
  double mean, variance;

  /// Of every integer from one to the other. A variance of 0 is one number.
  [[nodiscard]] double share(const IntegerRange& range) const {
    return below(static_cast<double>(range.max) + 0.5) - below(static_cast<double>(range.min) - 0.5);
  }

 private:
  [[nodiscard]] double below(double x) const {
    if (variance <= 0) return x < mean ? 0 : 1;
    return std::erfc((mean - x) / std::sqrt(2 * variance)) / 2;
  }
};

/// Values in bins of the same width between the least and the largest.
class Histogram {
 public:
  explicit Histogram(std::span<const std::int64_t> values) {
    const auto [least, largest] = std::ranges::minmax(values);
    first_ = least;
    width_ = (largest - least) / bins + 1;
    for (const std::int64_t value : values) counts_[static_cast<std::size_t>((value - first_) / width_)] += 1;
    for (double& count : counts_) count /= static_cast<double>(values.size());
  }

  [[nodiscard]] double share(const IntegerRange& range) const {
    const IntegerRange within{std::max(range.min, first_), std::min(range.max, first_ + bins * width_ - 1)};
    double sum = 0;
    for (std::int64_t at = within.min; at <= within.max;) {
      const std::int64_t bin = (at - first_) / width_, end = std::min(within.max, first_ + (bin + 1) * width_ - 1);
      sum += counts_[static_cast<std::size_t>(bin)] * static_cast<double>(end - at + 1) / static_cast<double>(width_);
      at = end + 1;
    }
    return sum;
  }

 private:
  static constexpr std::int64_t bins = 64;
  std::int64_t first_ = 0, width_ = 1;
  std::vector<double> counts_ = std::vector<double>(bins, 0);
};

template <class Distribution>
double share_of(const Distribution& distribution, const ColumnDifference& difference) {
  double share = 0;
  for (const IntegerRange& range : difference.same.where) share += distribution.share(range);
  return share;
}

/// Which share of a data input's codes each code is.
using CodeShares = std::map<std::int64_t, double>;

std::vector<CodeShares> code_shares(const LayerOnBoth& layer, std::span<const std::vector<const Tensor*>> samples) {
  std::vector<CodeShares> shares;
  std::vector<std::int32_t> known;
  const std::vector<std::int32_t>& inputs = layer.operation().inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (samples[0][i] == nullptr || std::ranges::find(known, inputs[i]) != known.end()) continue;
    known.push_back(inputs[i]);
    CodeShares& of_one = shares.emplace_back();
    double all = 0;
    for (const auto& sample : samples) {
      for (std::int64_t at = 0; at < sample[i]->element_count(); ++at) of_one[sample[i]->integer_at(at)] += 1;
      all += static_cast<double>(sample[i]->element_count());
    }
    for (auto& [code, share] : of_one) share /= all;
  }
  return shares;
}

double share_of_code(const CodeShares& shares, std::int64_t code) {
  const auto found = shares.find(code);
  return found == shares.end() ? 0 : found->second;
}

/// The sum of a row whose codes are spread like these, independent of each other.
Normal sum_of_row(const CodeShares& shares, std::int64_t terms) {
  double mean = 0, square = 0;
  for (const auto& [code, share] : shares) {
    mean += static_cast<double>(code) * share;
    square += static_cast<double>(code) * static_cast<double>(code) * share;
  }
  return {static_cast<double>(terms) * mean, static_cast<double>(terms) * (square - mean * mean)};
}

double expected_of_rows(const EveryCode& cases, const Normal& sum, std::int64_t least) {
  double share = 0;
  for (std::size_t i = 0; i < cases.a.size(); ++i) {
    const std::int64_t value = least + static_cast<std::int64_t>(i);
    if (cases.a[i] != cases.b[i]) share += sum.share({value, value});
  }
  return share;
}

}  // namespace

double expected_by_ranges(const SharedSums& sums, std::span<const ColumnDifference> differences) {
  double share = 0;
  for (std::size_t c = 0; c < differences.size(); ++c)
    share += share_of(Normal{sums.columns[c].mean, sums.columns[c].variance}, differences[c]);
  return share / static_cast<double>(differences.size());
}

std::optional<Accumulators> accumulators_on(const LayerOnBoth& layer, const SharedSums& sums,
                                            std::span<const std::vector<const Tensor*>> samples) {
  Accumulators accumulators(sums.columns.size());
  for (const auto& sample : samples) {
    const auto last = last_chain(layer.a.model(), layer.index, layer.a.backend(), sample);
    if (!last) return std::nullopt;
    for (std::size_t i = 0; i < last->sums.size(); ++i) {
      const std::size_t column = sums.column_of.empty() ? i % accumulators.size() : sums.column_of[i];
      accumulators[column].push_back(sum_held_as(last->sums[i], sums, sums.columns[column]));
    }
  }
  return accumulators;
}

double expected_by_histogram(const Accumulators& accumulators, std::span<const ColumnDifference> differences) {
  double share = 0, all = 0;
  for (std::size_t c = 0; c < differences.size(); ++c) {
    if (accumulators[c].empty()) continue;
    const auto count = static_cast<double>(accumulators[c].size());
    all += count;
    if (differences[c].same.differing > 0) share += count * share_of(Histogram(accumulators[c]), differences[c]);
  }
  return all == 0 ? 0 : share / all;
}

double expected_by_ranges(const EveryCode& cases) {
  if (cases.by == DecidedBy::window_sums) {
    const auto sums = static_cast<double>(cases.a.size()), codes = (sums - 1) / static_cast<double>(cases.terms) + 1;
    return expected_of_rows(cases, {(sums - 1) / 2, static_cast<double>(cases.terms) * (codes * codes - 1) / 12}, 0);
  }
  double differing = 0;
  for (std::size_t i = 0; i < cases.a.size(); ++i) differing += cases.a[i] != cases.b[i] ? 1 : 0;
  return differing / static_cast<double>(cases.a.size());
}

double expected_by_codes(const EveryCode& cases, const LayerOnBoth& layer, std::span<const std::vector<const Tensor*>> samples) {
  const std::vector<CodeShares> shares = code_shares(layer, samples);
  if (cases.by == DecidedBy::window_sums)
    return expected_of_rows(cases, sum_of_row(shares[0], cases.terms), layer.codes(0).min * cases.terms);
  const bool side_by_side = cases.by == DecidedBy::codes && cases.columns > 1;
  double expected = 0;
  for (std::size_t i = 0; i < cases.a.size(); ++i) {
    if (cases.a[i] == cases.b[i]) continue;
    const std::vector<std::int64_t> codes = cases.codes(i);
    const std::int64_t column = cases.data_inputs[side_by_side ? i % static_cast<std::size_t>(cases.columns) : 0];
    double share = 1;
    for (std::size_t input = 0; input < codes.size(); ++input)
      if (!side_by_side || static_cast<std::int64_t>(input) == column) share *= share_of_code(shares[input], codes[input]);
    expected += share;
  }
  if (side_by_side) return expected / static_cast<double>(cases.columns);
  const bool in_pairs = cases.data_inputs.size() > 1;
  const double constants = cases.data_inputs[0] < 0               ? static_cast<double>(cases.a.size()) / static_cast<double>(cases.columns)
                           : in_pairs && cases.data_inputs[1] < 0 ? static_cast<double>(cases.columns)
                                                                  : 1;
  return expected / constants;  // each of a constant's codes is as likely as any other
}

}  // namespace lastbit
