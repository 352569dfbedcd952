// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The machine (lastbit/arith/stages/stage.hpp) that turns stages into steps over lanes of one width, and follows the values' ranges.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "engine/finish_plan.hpp"
#include "lastbit/aligned_vector.hpp"

namespace lastbit {

struct ValueBounds {
  Int128 low = 0, high = 0;
};

using Values = std::vector<Int128>;  ///< one per channel

/// A segment, the values that reach it, and (v - start) * multiplier of them.
struct ReachedSegment {
  ScaleSegment segment;
  ValueBounds values, products;
};

[[nodiscard]] constexpr Int128 power(int exponent) { return Int128{1} << exponent; }
[[nodiscard]] constexpr bool fits(const ValueBounds& range, int bits) {
  return range.low >= -power(bits - 1) && range.high < power(bits - 1);
}

/// How many values the parameters of channels repeat after: whole rows, and whole vectors if that asks for few of them.
[[nodiscard]] std::size_t finish_period(std::size_t channels, std::size_t lanes);

template <class Lane>
class FinishPlanner {
 public:
  static constexpr int width = width_of<Lane>;

  FinishPlanner(std::span<const RescaleOperands> operands, const FinisherInput& input, std::size_t lanes, Wraps wraps)
      : operands_(operands),
        input_(input),
        lanes_(lanes),
        wraps_(wraps),
        ranges_(operands.size(), ValueBounds{input.smallest, input.largest}),
        fraction_(operands.size(), 0),
        period_(finish_period(operands.size(), lanes)) {}

  [[nodiscard]] bool plan(const Chain& chain);

  // The steps of a stage (lastbit/arith/stages/stage.hpp), each for all channels.
  bool shift_left(auto&& places);
  bool multiply(auto&& factor) {
    const Values factors = each([&](std::size_t c) { return Int128{factor(operands_[c])}; });
    return changes_nothing(factors) || multiply_each(factors);
  }
  bool shift_right(auto&& amount, Rounding rule);
  bool add(auto&& addend) {
    return add_each(each([&](std::size_t c) { return addend(operands_[c], fraction_[c]); }));
  }
  bool add_by_sign(auto&& addends);
  bool add_and_narrow(auto&& addend, int bits, Overflow overflow);
  bool narrow(int bits, Overflow overflow);
  bool clamp(auto&& bounds);
  bool scale_in_float(auto&& real, Rounding rule);
  bool divide(auto&&, Rounding) { return false; }
  bool piecewise(auto&& acts, auto&&, auto&&) { return std::none_of(operands_.begin(), operands_.end(), acts); }
  bool look_up(auto&& function);
  bool binary_point(auto&& fraction_bits) {
    for (std::size_t c = 0; c < channels(); ++c) fraction_[c] = fraction_bits(operands_[c], fraction_[c]);
    return true;
  }

  /// Whether a lane may hold, of a value that a stage wraps, no more than the low bits before it does.
  [[nodiscard]] bool hides_wraps() const { return hides_wraps_; }
  [[nodiscard]] std::size_t period() const { return per_channel_ ? period_ : 0; }
  /// The steps, whose lists go to `lists`.
  [[nodiscard]] kernels::LanePlan<Lane> take(std::vector<std::shared_ptr<const void>>& lists);

 private:
  using Step = kernels::FinishStep<Lane>;

  /// The same for all channels, or one value for each, in the order that the lanes read.
  template <class T, class List>
  kernels::LaneParameter<T> parameter(const List& values, bool halves = false);
  /// Where a list lies as long as the plan is kept.
  template <class T>
  const T* keep(AlignedVector<T> list);
  Step& append(kernels::FinishOp op) {
    Step& step = steps_.emplace_back();
    step.op = op;
    return step;
  }
  [[nodiscard]] std::size_t channels() const { return operands_.size(); }
  [[nodiscard]] bool all_fit(int bits) const {
    return std::all_of(ranges_.begin(), ranges_.end(), [=](const ValueBounds& range) { return fits(range, bits); });
  }
  template <class Function>
  [[nodiscard]] Values each(Function&& function) const {
    Values values(channels());
    for (std::size_t c = 0; c < values.size(); ++c) values[c] = function(c);
    return values;
  }

  bool begin();
  bool add_each(const Values& addends);
  bool bound_each(const Values& low, const Values& high, kernels::Counted counted);
  bool multiply_each(const Values& factors);
  [[nodiscard]] bool changes_nothing(const Values& factors) const;
  bool shift_each(Rounding rule, std::vector<int> amounts);
  bool shift_lanes(Rounding rule, const std::vector<int>& amounts);
  [[nodiscard]] std::vector<ReachedSegment> reached_segments(std::span<const ScaleSegment> segments) const;
  bool segments_in_integers(const std::vector<ReachedSegment>& reached, const Stage& stage);
  bool segments_in_real(const std::vector<ReachedSegment>& reached, const Stage& stage);
  bool shift_product(Rounding rule, const std::vector<int>& amounts);
  void append_product(Rounding rule, const std::vector<int>& amounts, const Values& bias, const Values& extra);
  [[nodiscard]] bool absorbed(std::size_t channel, Int128 limit) const;
  bool flush();
  void split_last();

  std::span<const RescaleOperands> operands_;
  FinisherInput input_;
  std::span<const Stage> rest_;  ///< of the chain, the stage at hand first
  std::size_t lanes_;
  Wraps wraps_;
  bool hides_wraps_ = false;
  std::vector<ValueBounds> ranges_;  ///< of the value, or of the product that has no step yet
  std::vector<int> fraction_;
  std::size_t period_;
  bool per_channel_ = false;
  std::vector<Step> steps_;
  Step last_;
  std::vector<std::shared_ptr<const void>> lists_;
  Values factors_;  ///< of a product that the next shift will take in; empty: none
  Values bias_;     ///< what is added to it before
};

}  // namespace lastbit
