// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/certify/differing_accumulators.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/finisher.hpp"
#include "engine/output_steps.hpp"

namespace lastbit {
namespace {

IntegerRange hull_of(std::span<const SharedSums::Column> columns) {
  IntegerRange hull = columns.front().accumulators;
  for (const SharedSums::Column& column : columns)
    hull = {std::min(hull.min, column.accumulators.min), std::max(hull.max, column.accumulators.max)};
  return hull;
}

int bits_of(const IntegerRange& range) {
  int bits = 1;
  while (bits < 64 && !(fits_width(range.min, bits) && fits_width(range.max, bits))) ++bits;
  return bits;
}

std::optional<OutputSteps> steps_of(const Chain& chain, std::vector<RescaleOperands> operands, const IntegerRange& sums) {
  const std::vector<OutputTrend> trends = output_trends(chain, operands, sums);
  if (trends.empty()) return std::nullopt;
  const Finisher finisher(chain, std::move(operands), bits_of(sums));
  return output_steps(trends, sums, [&](std::span<std::int64_t> values) { finisher(values); });
}

/// The first sum of which at least this output is made, of outputs that the side may not have.
std::int64_t first_of(const OutputSteps& steps, std::size_t channel, std::int64_t output, const IntegerRange& sums) {
  if (output <= steps.smallest) return sums.min;
  return output > steps.largest ? sums.max + 1 : steps.first_of(channel, output);
}

}  // namespace

std::optional<std::int64_t> differing_accumulators(const SharedSums& sums, std::span<const SharedSums::Column> columns) {
  if (columns.empty() || sums.a.empty() || sums.b.empty()) return std::nullopt;
  std::vector<RescaleOperands> of_a, of_b;
  for (const SharedSums::Column& column : columns) {
    if (column.accumulators_b) return std::nullopt;
    of_a.push_back(column.a);
    of_b.push_back(column.b);
  }
  const IntegerRange hull = hull_of(columns);
  const auto a = steps_of(sums.a, std::move(of_a), hull), b = steps_of(sums.b, std::move(of_b), hull);
  if (!a || !b) return std::nullopt;
  const std::int64_t smallest = std::min(a->smallest, b->smallest), largest = std::max(a->largest, b->largest);
  std::int64_t differing = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const IntegerRange& own = columns[c].accumulators;
    std::int64_t counted = own.min;  // those below are
    for (std::int64_t output = smallest + 1; output <= largest;
         ++output) {  // between its two steps one side has reached it, the other has not
      const auto [first, last] = std::minmax({first_of(*a, c, output, hull), first_of(*b, c, output, hull)});
      const std::int64_t begin = std::max(first, counted), end = std::min(last, own.max + 1);
      differing += std::max<std::int64_t>(0, end - begin);
      counted = std::max(counted, end);
    }
  }
  return differing;
}

}  // namespace lastbit
