// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/outcomes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace lastbit {
namespace {

/// A device that has no such scale refuses the layer: an outcome as well, the same for all values.
constexpr std::int64_t refused = std::numeric_limits<std::int64_t>::min();

std::vector<std::int64_t> outputs_of(const ConvVariant& variant, const ConvData& data, const std::vector<std::int64_t>& values,
                                     const std::vector<std::int64_t>& sums, const RescaleRule& rule, std::uint32_t encoding) {
  std::vector<std::int64_t> outputs = sums;
  if (!applies_scale(rule.chain)) return outputs;
  const std::vector<EncodedScale>* const scales = variant.scales().encoded(rule.scale, encoding);
  if (scales == nullptr) return std::vector<std::int64_t>(sums.size(), refused);
  for (std::size_t v = 0; v < outputs.size(); ++v)
    outputs[v] = finish(rule.chain, outputs[v], variant.scales().operands(data.channel(values[v]), *scales));
  return outputs;
}

/// Combinations in cells: those of a cell have the same outputs on all the values chosen so far.
class Partition {
 public:
  explicit Partition(std::size_t combinations) : cell_(combinations, 0) {}

  /// Entropy in bits that the cells would have with one more value.
  [[nodiscard]] double bits_with(const OutcomeTable& table, std::size_t value) {
    const std::uint32_t kinds = table.kinds(value);
    counts_.assign(static_cast<std::size_t>(cells_) * kinds, 0);
    const auto column = table.column(value);
    for (std::size_t i = 0; i < cell_.size(); ++i) ++counts_[cell_[i] * kinds + column[i]];
    double sum = 0;
    for (const std::uint32_t count : counts_) sum += count > 1 ? count * std::log2(static_cast<double>(count)) : 0;
    const auto total = static_cast<double>(cell_.size());
    return std::log2(total) - sum / total;
  }
  void refine(const OutcomeTable& table, std::size_t value) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> cells;
    const auto column = table.column(value);
    for (std::size_t i = 0; i < cell_.size(); ++i) {
      const auto next = static_cast<std::uint32_t>(cells.size());
      cell_[i] = cells.try_emplace({cell_[i], column[i]}, next).first->second;
    }
    cells_ = static_cast<std::uint32_t>(cells.size());
  }
  [[nodiscard]] std::uint32_t cells() const { return cells_; }
  [[nodiscard]] const std::vector<std::uint32_t>& cell() const { return cell_; }

 private:
  std::vector<std::uint32_t> cell_;
  std::vector<std::uint32_t> counts_;
  std::uint32_t cells_ = 1;
};

}  // namespace

std::vector<Combination> distinct_combinations(const ConvSpace& space, const std::vector<Block>& blocks, const ConvData& data,
                                               const std::vector<std::int64_t>& values) {
  std::vector<Combination> list;
  for (const Block& block : blocks) {
    std::map<std::vector<std::int64_t>, std::uint32_t> groups;
    for (const std::uint32_t sum : block.sums) {
      const SumRules& rules = space.sums[sum];
      std::vector<std::int64_t> sums{static_cast<std::int64_t>(rules.per_channel)};
      for (const std::int64_t value : values) sums.push_back(data.variant(rules.per_channel).sum(rules, value));
      groups.try_emplace(std::move(sums), sum);
    }
    for (const auto& [sums, sum] : groups) {
      for (const std::uint32_t rescale : block.rescales) list.push_back({sum, rescale});
    }
  }
  return list;
}

OutcomeTable::OutcomeTable(const ConvSpace& space, const ConvData& data, const std::vector<std::int64_t>& values,
                           const std::vector<Combination>& combinations)
    : values_(values.size()), kinds_(values_, 0), numbers_(values_ * combinations.size()) {
  std::vector<std::map<std::int64_t, std::uint32_t>> known(values_);
  std::map<std::uint32_t, std::vector<std::int64_t>> sums;
  for (std::size_t row = 0; row < combinations.size(); ++row) {
    const auto [sum, rescale] = combinations[row];
    const ConvVariant& variant = data.variant(space.sums[sum].per_channel);
    std::vector<std::int64_t>& of_sum = sums[sum];
    for (std::size_t v = of_sum.size(); v < values_; ++v) of_sum.push_back(variant.sum(space.sums[sum], values[v]));
    const std::vector<std::int64_t> outputs = outputs_of(variant, data, values, of_sum, space.rescales[rescale], space.encodings[rescale]);
    for (std::size_t v = 0; v < values_; ++v) {
      const auto [at, fresh] = known[v].try_emplace(outputs[v], kinds_[v]);
      if (fresh) ++kinds_[v];
      numbers_[v * combinations.size() + row] = at->second;
    }
  }
}

Choice choose(const OutcomeTable& table, std::size_t combinations, std::size_t most) {
  Partition partition(combinations);
  Choice choice;
  std::vector<double> gain(table.values(), std::numeric_limits<double>::max());  // a value's gain never grows: look at the best first
  while (choice.values.size() < most && partition.cells() < combinations) {
    std::size_t best = table.values();
    double best_gain = 1e-9;
    std::vector<std::size_t> order(table.values());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gain[a] > gain[b]; });
    for (const std::size_t value : order) {
      if (gain[value] <= best_gain) break;
      gain[value] = partition.bits_with(table, value) - choice.bits;
      if (gain[value] > best_gain) best_gain = gain[value], best = value;
    }
    if (best == table.values()) break;
    partition.refine(table, best);
    choice.values.push_back(best);
    choice.bits += best_gain;
  }
  choice.cells = partition.cells();
  return choice;
}

OutcomeTable::OutcomeTable(const std::vector<std::vector<std::uint32_t>>& columns) : values_(columns.size()) {
  for (const std::vector<std::uint32_t>& column : columns) {
    numbers_.insert(numbers_.end(), column.begin(), column.end());
    kinds_.push_back(*std::max_element(column.begin(), column.end()) + 1);
  }
}

std::vector<std::uint32_t> cells_of(const OutcomeTable& table, std::size_t combinations) {
  Partition partition(combinations);
  for (std::size_t value = 0; value < table.values(); ++value) partition.refine(table, value);
  return partition.cell();
}

std::int64_t threshold(const Chain& chain, const RescaleOperands& operands, std::int64_t output, IntegerRange sums) {
  const auto reaches = [&](std::int64_t sum) { return finish(chain, sum, operands) >= output; };
  std::int64_t low = sums.min, high = sums.max;
  // Most multipliers hold the scale to five bits or better: the step then lies near the real quotient.
  const double quotient = static_cast<double>(output - operands.zero_point) / operands.scale.real_f64;
  if (std::abs(quotient) < 0x1p50) {
    const auto middle = static_cast<std::int64_t>(quotient);
    const std::int64_t around = 4 + std::abs(middle) / 32 + static_cast<std::int64_t>(std::min(0x1p40, 1 / operands.scale.real_f64));
    const std::int64_t from = std::max(low, middle - around), to = std::min(high, middle + around);
    if (from < to && !reaches(from) && reaches(to)) low = from + 1, high = to;
  }
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (reaches(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

}  // namespace lastbit
