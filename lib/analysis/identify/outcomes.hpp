// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How well the outputs of a layer tell combinations of rules apart.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/identify/conv_search.hpp"

namespace lastbit {

/// Of the combinations in the blocks, one to stand for all that have the same chain and the same sums of these values.
[[nodiscard]] std::vector<Combination> distinct_combinations(const ConvSpace& space, const std::vector<Block>& blocks, const ConvData& data,
                                                             const std::vector<std::int64_t>& values);

/// What combinations make of some outputs of a layer, as small numbers: equal ones for equal outputs.
class OutcomeTable {
 public:
  /// `values` are indices of outputs.
  OutcomeTable(const ConvSpace& space, const ConvData& data, const std::vector<std::int64_t>& values,
               const std::vector<Combination>& combinations);
  /// Of columns that are known already.
  explicit OutcomeTable(const std::vector<std::vector<std::uint32_t>>& columns);

  [[nodiscard]] std::size_t values() const { return values_; }
  [[nodiscard]] std::uint32_t kinds(std::size_t value) const { return kinds_[value]; }
  [[nodiscard]] std::span<const std::uint32_t> column(std::size_t value) const {
    const std::size_t rows = numbers_.size() / values_;
    return std::span(numbers_).subspan(value * rows, rows);
  }

 private:
  std::size_t values_;
  std::vector<std::uint32_t> kinds_;    ///< per value, how many different outputs there are
  std::vector<std::uint32_t> numbers_;  ///< [value][combination]
};

/// Some of the values, and into how many cells of equal outcomes they part the combinations.
struct Choice {
  std::vector<std::size_t> values;  ///< positions in the table
  std::uint32_t cells = 1;
  double bits = 0;  ///< entropy of the cell
};

/// Values that tell most, one after the other, until none tells more.
[[nodiscard]] Choice choose(const OutcomeTable& table, std::size_t combinations, std::size_t most);

/// The cell of every combination, all values taken together.
[[nodiscard]] std::vector<std::uint32_t> cells_of(const OutcomeTable& table, std::size_t combinations);

/// A sum at which a chain goes over from one output to the next: a tie, or what lies nearest to one.
[[nodiscard]] std::int64_t threshold(const Chain& chain, const RescaleOperands& operands, std::int64_t output, IntegerRange sums);

}  // namespace lastbit
