// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// arith/accumulator.hpp with ranges instead of values: the contract read for every input at once. Every step adds the smallest and the largest
// that its term can be, so each end of the range is what one input makes it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lastbit/prove.hpp"

namespace lastbit {

[[nodiscard]] constexpr SumRange operator+(const SumRange& a, const SumRange& b) { return {a.lower + b.lower, a.upper + b.upper}; }
[[nodiscard]] constexpr SumRange operator*(const SumRange& a, std::int64_t factor) {
  return factor >= 0 ? SumRange{a.lower * factor, a.upper * factor} : SumRange{a.upper * factor, a.lower * factor};
}
[[nodiscard]] constexpr SumRange hull(const SumRange& a, const SumRange& b) {
  return {a.lower < b.lower ? a.lower : b.lower, a.upper > b.upper ? a.upper : b.upper};
}
[[nodiscard]] constexpr bool fits_width(const SumRange& range, int bits) {
  return fits_width(range.lower, bits) && fits_width(range.upper, bits);
}

class BoundAccumulator {
 public:
  BoundAccumulator(const AccumulatorRule& rule, const SumRange& start, std::size_t group, std::int64_t multiplier);

  void begin_run(std::int64_t length);
  /// `beyond` as in Accumulator.
  void add(const SumRange& term, const SumRange& beyond = {});
  void add_beside(const SumRange& value);
  void finish() { settle(); }

  /// Over every narrowing point.
  [[nodiscard]] const ChannelProof& sums() const { return *sums_; }
  /// The sum as it is, before the accumulator narrows it.
  [[nodiscard]] const SumRange& exact() const { return exact_; }
  /// What the device is left with after finish().
  [[nodiscard]] const SumRange& result() const { return device_; }
  /// Every narrowing point of an accumulator that narrows every tile.
  [[nodiscard]] const std::vector<TileProof>& tiles() const { return tiles_; }
  [[nodiscard]] const std::optional<SumRange>& partial() const { return partials_; }
  /// The first narrowing point at which a sum can leave the width.
  struct Leaving {
    std::int64_t steps = 0;
    bool above = false;
    Int128 sum = 0;  ///< the end of the range that leaves
  };
  [[nodiscard]] const std::optional<Leaving>& leaving() const { return leaving_; }
  /// After so many steps a partial sum could have left its width.
  [[nodiscard]] const std::optional<Leaving>& partial_leaving() const { return partial_leaving_; }

 private:
  [[nodiscard]] Leaving leaving_of(const SumRange& range, int bits) const;
  void add_to_partial(const SumRange& term, const SumRange& beyond);
  void add_to_sum(const SumRange& value);
  void note_partial(SumRange& range);
  void flush();
  void empty();
  void settle();
  AccumulatorRule rule_;
  std::int64_t multiplier_;
  std::int64_t period_, to_settling_;
  std::int64_t partial_terms_;
  SumRange exact_, device_;
  SumRange partial_{}, second_{};
  std::int64_t in_partial_ = 0, in_second_ = 0, before_tail_;
  std::int64_t steps_ = 0;
  std::optional<ChannelProof> sums_;
  std::vector<TileProof> tiles_;
  std::optional<SumRange> partials_;
  std::optional<Leaving> leaving_, partial_leaving_;
};

}  // namespace lastbit
