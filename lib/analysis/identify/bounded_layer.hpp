// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layer as a proof goes through it: what its sums can be, channel by channel, what a way to sum makes of them, and what a chain makes of that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/identify/conv_search.hpp"
#include "engine/finisher.hpp"

namespace lastbit {

/// What a way to sum makes of a layer's exact sums.
struct Narrowed {
  std::string open{};  ///< why that is not known; empty: it is
  int bits = 0;        ///< that they are narrowed to; 0: they all fit
  Overflow overflow = Overflow::exact;
  std::vector<std::int64_t> shift{};  ///< by channel: the bias as it is stored less the bias; empty: none

  [[nodiscard]] std::int64_t shift_of(std::int64_t channel) const { return shift.empty() ? 0 : shift[static_cast<std::size_t>(channel)]; }

  friend bool operator==(const Narrowed&, const Narrowed&) = default;
  friend bool operator<(const Narrowed& a, const Narrowed& b);
};

/// A layer whose sums are bounded.
class BoundedLayer {
 public:
  BoundedLayer(const ConvSpace& space, const IdentifyPair& pair);

  /// Why they are not; empty: they are.
  [[nodiscard]] const std::string& open() const { return open_; }
  /// By channel.
  [[nodiscard]] const std::vector<IntegerRange>& sums() const { return sums_; }
  [[nodiscard]] bool has_one_scale() const { return variant().scales().index(1) == 0; }
  [[nodiscard]] Narrowed narrowed(const SumRules& rules) const;
  /// Of a chain on a channel; nothing where the device of this rule has no such scale. For any thread.
  [[nodiscard]] std::optional<RescaleOperands> operands(std::uint32_t rescale, std::int64_t channel) const;

 private:
  [[nodiscard]] const ConvVariant& variant() const { return data_.variants[0]; }
  void bound(const IntegerRange& codes);

  const ConvSpace& space_;
  ConvData data_;
  std::string open_;
  std::vector<IntegerRange> sums_;
  IntegerRange partial_{0, 0};  ///< of all parts of every sum, in any order
};

/// What the sums of a channel of a layer can be.
struct Column {
  std::size_t layer = 0;
  std::int64_t channel = 0;
  IntegerRange sums;
};

/// What sums become that are moved, and narrowed to a width other than 0.
[[nodiscard]] FinisherInput accumulators_of(const IntegerRange& sums, int bits, std::int64_t shift);

/// Where the accumulators of a column lie, and what a chain makes of them.
class OnColumn {
 public:
  static constexpr std::size_t most_edges = std::size_t{1} << 17;

  OnColumn(const Chain& chain, const RescaleOperands& operands, const Narrowed& narrowed, const Column& column);

  /// Of sums of the column. For any thread.
  [[nodiscard]] std::vector<std::int64_t> outputs(std::span<const std::int64_t> sums) const;
  /// Intervals of sums on which the output never turns round; nothing where they cannot be had.
  [[nodiscard]] std::optional<std::vector<IntegerRange>> pieces() const;
  /// Sums beside which the output changes, both sides of each, and the ends; nothing where they cannot be listed.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> edges() const;

 private:
  [[nodiscard]] std::int64_t accumulator(std::int64_t sum) const;
  /// Intervals of sums that the accumulator only moves, or makes one number of.
  [[nodiscard]] std::vector<IntegerRange> straight_parts() const;

  const Chain& chain_;
  RescaleOperands operands_;
  int bits_;  ///< that sums are narrowed to; 0: they all fit
  Overflow overflow_;
  std::int64_t shift_;
  IntegerRange sums_;
  Finisher finisher_;
};

}  // namespace lastbit
