// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/finish_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lastbit {
namespace {

using kernels::FinishOp;
using kernels::FinishPlan;
using kernels::FinishStep;
using kernels::LaneParameter;
using kernels::LanePlan;
using kernels::ShiftForm;

struct Interval {
  Int128 low = 0, high = 0;
};

using Values = std::vector<Int128>;  ///< one per channel

constexpr Int128 power(int exponent) { return Int128{1} << exponent; }
constexpr bool fits(const Interval& range, int bits) { return range.low >= -power(bits - 1) && range.high < power(bits - 1); }

/// A rounding rule as a form of shift, for one amount.
struct Rounded {
  Int128 bias = 0, extra = 0;
};

constexpr ShiftForm form_of(Rounding rule) {
  switch (rule) {
    case Rounding::toward_zero:
    case Rounding::half_away:
    case Rounding::half_toward_zero: return ShiftForm::sign;
    case Rounding::half_even: return ShiftForm::parity;
    case Rounding::to_odd: return ShiftForm::sticky;
    default: return ShiftForm::plain;
  }
}

constexpr Rounded rounded_by(Rounding rule, int amount) {
  if (amount == 0) return {};
  const Int128 half = power(amount - 1), mask = power(amount) - 1;
  switch (rule) {
    case Rounding::ceil: return {mask, 0};
    case Rounding::toward_zero: return {0, mask};
    case Rounding::half_up: return {half, 0};
    case Rounding::half_down: return {half - 1, 0};
    case Rounding::half_away: return {half, -1};
    case Rounding::half_toward_zero: return {half - 1, 1};
    case Rounding::half_even: return {half - 1, 1};
    case Rounding::to_odd: return {0, mask};
    case Rounding::floor: break;
  }
  return {};
}

/// How many values the parameters of channels repeat after: whole rows, and whole vectors if that asks for few of them.
std::size_t period_of(std::size_t channels, std::size_t lanes) {
  if (channels == 1) return 0;
  const std::size_t aligned = channels * (lanes / std::gcd(channels, lanes));
  const std::size_t unit = aligned <= kernels::finish_block ? aligned : channels;
  return unit * std::max<std::size_t>(1, kernels::finish_block / 2 / unit);
}

template <class Lane>
class Planner {
 public:
  static constexpr int width = width_of<Lane>;

  Planner(std::span<const RescaleOperands> operands, const FinisherInput& input, std::size_t lanes)
      : operands_(operands),
        input_(input),
        lanes_(lanes),
        ranges_(operands.size(), Interval{input.smallest, input.largest}),
        fraction_(operands.size(), 0),
        period_(period_of(operands.size(), lanes)) {}

  [[nodiscard]] bool plan(const Chain& chain);
  [[nodiscard]] std::size_t period() const { return per_channel_ ? period_ : 0; }
  [[nodiscard]] LanePlan<Lane> take() { return std::move(plan_); }

 private:
  using Step = FinishStep<Lane>;

  /// The same for all channels, or one value for each, in the order that the lanes read.
  template <class T, class List>
  LaneParameter<T> parameter(const List& values, bool halves = false);
  Step& append(FinishOp op) {
    Step& step = plan_.steps.emplace_back();
    step.op = op;
    return step;
  }
  [[nodiscard]] std::size_t channels() const { return operands_.size(); }
  [[nodiscard]] bool all_fit(int bits) const {
    return std::all_of(ranges_.begin(), ranges_.end(), [=](const Interval& range) { return fits(range, bits); });
  }
  template <class Function>
  [[nodiscard]] Values each(Function&& function) const {
    Values values(channels());
    for (std::size_t c = 0; c < values.size(); ++c) values[c] = function(c);
    return values;
  }

  bool stage(const Stage& stage, std::span<const Stage> later);
  bool add(const Values& addends);
  bool bound(const Values& low, const Values& high, bool counted);
  bool settle(const Stage& stage);
  bool begin();
  bool left(const Stage& stage);
  bool shift_left(const Values& amounts, const Stage& stage);
  bool multiplied(const Values& factors);
  bool half(const Stage& stage);
  bool right(const Stage& stage);
  bool shift(Rounding rule, std::vector<int> amounts);
  bool shift_lanes(Rounding rule, const std::vector<int>& amounts);
  bool shift_product(Rounding rule, const std::vector<int>& amounts);
  void append_product(Rounding rule, const std::vector<int>& amounts, const Values& bias, const Values& extra);
  bool in_float(const Stage& stage, std::span<const Stage> later);
  [[nodiscard]] bool absorbed(std::span<const Stage> later, std::size_t channel, Int128 limit) const;
  bool flush();
  void split_last();

  std::span<const RescaleOperands> operands_;
  FinisherInput input_;
  std::size_t lanes_;
  std::vector<Interval> ranges_;  ///< of the value, or of the product that has no step yet
  std::vector<int> fraction_;
  std::size_t period_;
  bool per_channel_ = false;
  LanePlan<Lane> plan_;
  Values factors_;                ///< of a product that the next shift will take in; empty: none
  Values bias_;                   ///< what is added to it before
  std::vector<Interval> before_;  ///< the ranges of the product's value
};

template <class Lane>
template <class T, class List>
LaneParameter<T> Planner<Lane>::parameter(const List& values, bool halves) {
  const bool uniform = std::all_of(values.begin(), values.end(), [&](const auto& value) { return value == values[0]; });
  if (uniform) return {std::vector<T>(lanes_, static_cast<T>(values[0])), 0};
  per_channel_ = true;
  LaneParameter<T> list{std::vector<T>((period_ + lanes_ - 1) / lanes_ * lanes_), 1};
  for (std::size_t i = 0; i < list.values.size(); ++i) {
    const std::size_t lane = i % lanes_;
    const std::size_t place = halves && lanes_ > 1 ? i - lane + lane / 2 + lane % 2 * (lanes_ / 2) : i;
    list.values[place] = static_cast<T>(values[i % values.size()]);
  }
  return list;
}

template <class Lane>
bool Planner<Lane>::add(const Values& addends) {
  if (!flush()) return false;
  if (std::all_of(addends.begin(), addends.end(), [](Int128 value) { return value == 0; })) return true;
  for (std::size_t c = 0; c < channels(); ++c) {
    if (!fits({addends[c], addends[c]}, width)) return false;
    ranges_[c] = {ranges_[c].low + addends[c], ranges_[c].high + addends[c]};
  }
  append(FinishOp::add).bias = parameter<Lane>(addends);
  return true;
}

/// A clamp; where a bound lies beyond the lane, no value reaches it.
template <class Lane>
bool Planner<Lane>::bound(const Values& low, const Values& high, bool counted) {
  if (!flush() || !all_fit(width)) return false;
  bool acts = false;
  for (std::size_t c = 0; c < channels(); ++c) {
    if (low[c] > high[c]) return false;
    Interval& range = ranges_[c];
    acts = acts || range.low < low[c] || range.high > high[c];
    range = {std::clamp(range.low, low[c], high[c]), std::clamp(range.high, low[c], high[c])};
  }
  if (!acts) return true;
  if (!all_fit(width)) return false;
  const auto held = [](const Values& bounds) {
    Values values = bounds;
    for (Int128& value : values) value = std::clamp<Int128>(value, -power(width - 1), power(width - 1) - 1);
    return values;
  };
  Step& step = append(FinishOp::clamp);
  step.counted = counted;
  step.low = parameter<Lane>(held(low));
  step.high = parameter<Lane>(held(high));
  return true;
}

/// Narrows what a step has just computed, exactly or modulo the lane.
template <class Lane>
bool Planner<Lane>::settle(const Stage& stage) {
  const int bits = stage.overflow == Overflow::exact ? 64 : stage.bits;
  if (all_fit(bits)) return all_fit(width) || !factors_.empty();
  if (stage.overflow != Overflow::wrap) return bound(Values(channels(), -power(bits - 1)), Values(channels(), power(bits - 1) - 1), false);
  if (bits > width) return false;
  for (Interval& range : ranges_) range = {-power(bits - 1), power(bits - 1) - 1};
  if (!factors_.empty()) append_product(Rounding::floor, std::vector<int>(channels(), 0), bias_, Values(channels(), 0));
  if (bits < width) append(FinishOp::wrap).amount = parameter<Lane>(Values(channels(), width - bits));
  return true;
}

template <class Lane>
bool Planner<Lane>::shift_left(const Values& amounts, const Stage& stage) {
  if (std::all_of(amounts.begin(), amounts.end(), [](Int128 amount) { return amount == 0; })) return settle(stage);
  for (std::size_t c = 0; c < channels(); ++c) {
    const Int128 factor = power(static_cast<int>(amounts[c]));
    ranges_[c] = {ranges_[c].low * factor, ranges_[c].high * factor};
  }
  append(FinishOp::shift_left).amount = parameter<Lane>(amounts);
  return settle(stage);
}

template <class Lane>
bool Planner<Lane>::left(const Stage& stage) {
  return flush() && shift_left(each([&](std::size_t c) { return std::clamp(operands_[c].scale.exponent, 0, 62); }), stage);
}

/// Before the chain.
template <class Lane>
bool Planner<Lane>::begin() {
  return all_fit(width) && add(Values(channels(), Int128{-input_.zero_point})) && all_fit(width);
}

/// Begins a product, which waits for its shift.
template <class Lane>
bool Planner<Lane>::multiplied(const Values& factors) {
  if (!flush() || !all_fit(width)) return false;
  before_ = ranges_;
  for (std::size_t c = 0; c < channels(); ++c) {
    if (factors[c] < 0 || factors[c] >= power(32)) return false;
    ranges_[c] = {ranges_[c].low * factors[c], ranges_[c].high * factors[c]};
  }
  factors_ = factors;
  bias_.assign(channels(), 0);
  return true;
}

template <class Lane>
bool Planner<Lane>::half(const Stage& stage) {
  const Values halves = each([&](std::size_t c) -> Int128 {
    const int amount = shift_amount(stage, fraction_[c], operands_[c]);
    return amount <= 0 ? 0 : amount > 90 ? power(100) : power(amount - 1);
  });
  if (!factors_.empty()) {
    auto sums = ranges_;
    bool acts = false;
    for (std::size_t c = 0; c < channels(); ++c) {
      sums[c] = {sums[c].low + halves[c], sums[c].high + halves[c]};
      acts = acts || !fits(sums[c], stage.overflow == Overflow::exact ? 64 : stage.bits);
    }
    if (!acts) {
      ranges_ = sums;
      for (std::size_t c = 0; c < channels(); ++c) bias_[c] += halves[c];
      return true;
    }
  }
  return add(halves) && settle(stage);
}

template <class Lane>
bool Planner<Lane>::right(const Stage& stage) {
  std::vector<int> amounts(channels());
  for (std::size_t c = 0; c < channels(); ++c) {
    amounts[c] = shift_amount(stage, fraction_[c], operands_[c]);
    fraction_[c] = fraction_after_shift(stage, amounts[c]);
  }
  if (stage.kind == StageKind::shift_right) return shift(stage.rounding, std::move(amounts));
  const Values zeros =
      each([&](std::size_t c) -> Int128 { return amounts[c] <= 0 ? 0 : power(std::min(amounts[c], 62)) * operands_[c].zero_point; });
  const auto small = [](int amount) { return amount >= 0 && amount <= 62; };
  if (!std::all_of(amounts.begin(), amounts.end(), small)) return false;
  if (std::all_of(amounts.begin(), amounts.end(), [](int amount) { return amount == 0; }))
    return add(each([&](std::size_t c) -> Int128 { return operands_[c].zero_point; }));
  for (std::size_t c = 0; c < channels(); ++c) {
    if (amounts[c] == 0 && operands_[c].zero_point != 0) return false;
  }
  return add(zeros) && all_fit(width) && shift(stage.rounding, std::move(amounts));
}

/// A shift by 62 tells of a value below 2^61 all that a shift by more does; one to the left is a product.
template <class Lane>
bool Planner<Lane>::shift(Rounding rule, std::vector<int> amounts) {
  const bool to_left = std::any_of(amounts.begin(), amounts.end(), [](int amount) { return amount < 0; });
  const int widest = *std::max_element(amounts.begin(), amounts.end());
  if (factors_.empty() && !to_left && widest <= width - 2 && shift_lanes(rule, amounts)) return true;
  if (factors_.empty() && !multiplied(Values(channels(), 1))) return false;
  for (std::size_t c = 0; c < channels(); ++c) {
    if (amounts[c] > 62 && !fits(ranges_[c], 61)) return false;
    if (amounts[c] < 0) {
      if (amounts[c] < -31 || bias_[c] != 0) return false;
      const Int128 factor = power(-amounts[c]);
      factors_[c] *= factor;
      if (factors_[c] >= power(32)) return false;
      ranges_[c] = {ranges_[c].low * factor, ranges_[c].high * factor};
    }
    amounts[c] = std::clamp(amounts[c], 0, 62);
  }
  return shift_product(rule, amounts);
}

constexpr Interval shifted(const Interval& range, int amount, Rounding rule) {
  return {shift_right(range.low, amount, rule), shift_right(range.high, amount, rule)};
}
/// What the sum of a rounded shift may be on the way.
constexpr Interval on_the_way(const Interval& range, const Rounded& terms) {
  return {range.low + terms.bias + std::min<Int128>(terms.extra, 0), range.high + terms.bias + std::max<Int128>(terms.extra, 0)};
}

template <class Lane>
bool Planner<Lane>::shift_lanes(Rounding rule, const std::vector<int>& amounts) {
  std::vector<Interval> results(channels());
  Values bias(channels()), extra(channels());
  for (std::size_t c = 0; c < channels(); ++c) {
    const Rounded terms = rounded_by(rule, amounts[c]);
    if (!fits(ranges_[c], width) || !fits(on_the_way(ranges_[c], terms), width)) return false;
    bias[c] = terms.bias, extra[c] = terms.extra;
    results[c] = shifted(ranges_[c], amounts[c], rule);
  }
  ranges_ = results;
  if (std::all_of(amounts.begin(), amounts.end(), [](int amount) { return amount == 0; })) return true;
  Step& step = append(FinishOp::shift_right);
  step.form = form_of(rule);
  step.bias = parameter<Lane>(bias);
  step.extra = parameter<Lane>(extra);
  step.amount = parameter<Lane>(amounts);
  return true;
}

/// The product's own steps: in lanes of 32 bits it has 64; in lanes of 64 it fits them, or has 96.
template <class Lane>
bool Planner<Lane>::shift_product(Rounding rule, const std::vector<int>& amounts) {
  if (width == 64 && std::all_of(ranges_.begin(), ranges_.end(), [](const Interval& range) { return fits(range, 64); })) {
    const auto before = ranges_;
    const auto steps = plan_.steps.size();
    append(FinishOp::multiply).product.multiplier = parameter<std::int64_t>(factors_);
    const bool biased = std::any_of(bias_.begin(), bias_.end(), [](Int128 value) { return value != 0; });
    const Values bias = bias_;
    if (biased) append(FinishOp::add).bias = parameter<Lane>(bias);
    if (shift_lanes(rule, amounts)) {
      factors_.clear();
      return true;
    }
    plan_.steps.resize(steps);
    ranges_ = before;
  }
  const int product_bits = width == 32 ? 64 : 95;
  Values bias(channels()), extra(channels());
  std::vector<Interval> results(channels());
  for (std::size_t c = 0; c < channels(); ++c) {
    Rounded terms = rounded_by(rule, amounts[c]);
    if (form_of(rule) != ShiftForm::plain && bias_[c] != 0) return false;       // what decides is the sum, not the product alone
    if (form_of(rule) == ShiftForm::sign && factors_[c] == 0) terms.extra = 0;  // a zero has no sign, whatever its factor has
    if (!fits(ranges_[c], product_bits) || !fits(on_the_way(ranges_[c], terms), product_bits)) return false;
    bias[c] = terms.bias + bias_[c], extra[c] = terms.extra;
    results[c] = shifted(ranges_[c], amounts[c], rule);
  }
  ranges_ = results;
  append_product(rule, amounts, bias, extra);
  return true;
}

template <class Lane>
void Planner<Lane>::append_product(Rounding rule, const std::vector<int>& amounts, const Values& bias, const Values& extra) {
  Step& step = append(FinishOp::multiply_shift);
  step.form = form_of(rule);
  step.unsigned_multiplier = std::any_of(factors_.begin(), factors_.end(), [](Int128 value) { return value >= power(31); });
  auto& product = step.product;
  constexpr bool halves = width == 32;
  const auto put = [&](LaneParameter<std::int64_t>& to, auto&& function) { to = parameter<std::int64_t>(each(function), halves); };
  put(product.multiplier, [&](std::size_t c) { return factors_[c]; });
  put(product.carry, [&](std::size_t c) -> Int128 { return factors_[c] >= power(31) ? -1 : 0; });
  put(product.amount, [&](std::size_t c) -> Int128 { return amounts[c]; });
  const Int128 low_half = power(32) - 1;
  put(product.bias, [&](std::size_t c) { return halves ? bias[c] : bias[c] & low_half; });
  put(product.extra, [&](std::size_t c) { return halves ? extra[c] : extra[c] & low_half; });
  if (!halves) {
    put(product.bias_high, [&](std::size_t c) { return bias[c] >> 32; });
    put(product.extra_high, [&](std::size_t c) { return extra[c] >> 32; });
    put(product.up, [&](std::size_t c) -> Int128 { return amounts[c] <= 32 ? 32 - amounts[c] : 64; });
    put(product.down, [&](std::size_t c) -> Int128 { return std::max(amounts[c] - 32, 0); });
    put(product.keep_down, [&](std::size_t c) -> Int128 { return amounts[c] > 32 ? -1 : 0; });
  }
  factors_.clear();
}

/// A product that no shift follows.
template <class Lane>
bool Planner<Lane>::flush() {
  if (factors_.empty()) return true;
  return shift_product(Rounding::floor, std::vector<int>(channels(), 0)) && all_fit(width);
}

/// Whether all values from `limit` on, and from -limit down, end at the same bound of the stages that follow.
template <class Lane>
bool Planner<Lane>::absorbed(std::span<const Stage> later, std::size_t channel, Int128 limit) const {
  const RescaleOperands& operands = operands_[channel];
  Int128 moved = 0;
  const auto within = [&](Int128 low, Int128 high) { return low - moved > -limit && high - moved < limit; };
  for (const Stage& next : later) {
    switch (next.kind) {
      case StageKind::add_zero_point: moved += operands.zero_point; break;
      case StageKind::clamp: return within(operands.min, operands.max);
      case StageKind::saturate: return within(operands.storage_min, operands.storage_max);
      default: return false;
    }
  }
  return false;
}

template <class Lane>
bool Planner<Lane>::in_float(const Stage& stage, std::span<const Stage> later) {
  if (!flush() || !all_fit(width == 32 ? 32 : 51) || stage.rounding == Rounding::to_odd) return false;
  const bool in_double = stage.arithmetic == ScaleArithmetic::f64;
  const bool onto_zero = stage.kind == StageKind::float_scale_with_zero_point;
  const double limit = width == 32 ? 0x1p30 : 0x1p50;
  std::vector<double> scales(channels()), zeros(channels());
  for (std::size_t c = 0; c < channels(); ++c) {
    const RescaleOperands& operands = operands_[c];
    scales[c] = in_double ? operands.scale.real_f64 : static_cast<double>(operands.scale.real_f32);
    zeros[c] = static_cast<double>(operands.zero_point);
    if (!(scales[c] >= 0) || std::isinf(scales[c]) || (onto_zero && std::abs(operands.zero_point) >= (1 << 24))) return false;
    const auto bounded = [&](Int128 v) {
      const auto value = static_cast<std::int64_t>(v);
      return Int128{onto_zero ? scale_onto_zero_point(value, stage, operands) : scale_in_float(value, stage, operands.scale)};
    };
    Interval range{bounded(ranges_[c].low), bounded(ranges_[c].high)};
    const auto end = static_cast<Int128>(limit);
    if (range.low <= -end || range.high >= end) {
      if (!absorbed(later, c, end)) return false;
      range = {std::clamp(range.low, -end, end), std::clamp(range.high, -end, end)};
    }
    ranges_[c] = range;
  }
  Step& step = append(FinishOp::float_scale);
  step.rounding = float_rounding(stage.rounding);
  step.in_double = in_double;
  step.onto_zero = onto_zero;
  step.limit = limit;
  step.scale_f64 = parameter<double>(scales);
  step.zero_f64 = parameter<double>(zeros);
  step.scale_f32 = parameter<float>(scales);
  step.zero_f32 = parameter<float>(zeros);
  return true;
}

template <class Lane>
bool Planner<Lane>::stage(const Stage& stage, std::span<const Stage> later) {
  const auto of = [&](std::int64_t RescaleOperands::*member) {
    return each([=, this](std::size_t c) { return Int128{operands_[c].*member}; });
  };
  const auto largest = Int128{std::numeric_limits<std::int64_t>::max()};
  switch (stage.kind) {
    case StageKind::shift_left: return left(stage);
    case StageKind::shift_left_by: return flush() && shift_left(Values(channels(), Int128{stage.constant}), stage);
    case StageKind::multiply: {
      std::vector<NarrowedMultiplier> narrowed;
      for (const RescaleOperands& operands : operands_) narrowed.push_back(narrow_multiplier(operands.scale, stage.bits, stage.rounding));
      if (!multiplied(each([&](std::size_t c) { return Int128{narrowed[c].multiplier}; }))) return false;
      for (std::size_t c = 0; c < channels(); ++c) fraction_[c] = fraction_after_multiply(fraction_[c], narrowed[c].fraction_bits);
      return true;
    }
    case StageKind::doubling_high_multiply:
      return multiplied(each([&](std::size_t c) { return Int128{operands_[c].scale.multiplier}; })) &&
             shift(stage.rounding, std::vector<int>(channels(), stage.bits - 1)) &&
             settle({.overflow = Overflow::saturate, .bits = stage.bits});
    case StageKind::two_term_shift:
      if (!multiplied(each([&](std::size_t c) { return Int128{two_term_factor(operands_[c].scale.multiplier)}; }))) return false;
      for (std::size_t c = 0; c < channels(); ++c) fraction_[c] = fraction_after_multiply(fraction_[c], operands_[c].scale.fraction_bits);
      return settle(stage);
    case StageKind::shift_right:
    case StageKind::shift_right_with_zero_point: return right(stage);
    case StageKind::add_half: return half(stage);
    case StageKind::float_scale:
    case StageKind::float_scale_with_zero_point: return in_float(stage, later);
    case StageKind::narrow: return settle(stage);
    case StageKind::relu:
      return bound(each([&](std::size_t c) { return operands_[c].rectifier == Rectifier::at_zero ? Int128{0} : -largest - 1; }),
                   Values(channels(), largest), false);
    case StageKind::clip:
      return bound(each([&](std::size_t c) { return operands_[c].clip == no_clip ? -largest - 1 : Int128{0}; }),
                   each([&](std::size_t c) { return operands_[c].clip == no_clip ? largest : Int128{operands_[c].clip}; }), false);
    case StageKind::add_zero_point: return add(of(&RescaleOperands::zero_point));
    case StageKind::clamp: return bound(of(&RescaleOperands::min), of(&RescaleOperands::max), true);
    case StageKind::saturate: return bound(of(&RescaleOperands::storage_min), of(&RescaleOperands::storage_max), true);
    case StageKind::divide:
    case StageKind::table:
    case StageKind::pwl: break;
  }
  return false;
}

/// The last addition and the last clamp go with the store.
template <class Lane>
void Planner<Lane>::split_last() {
  auto& steps = plan_.steps;
  Step& last = plan_.last;
  const Values none(1, 0);
  if (!steps.empty() && steps.back().op == FinishOp::clamp) {
    last = std::move(steps.back());
    steps.pop_back();
  } else {
    last.low = parameter<Lane>(Values(1, -power(width - 1)));
    last.high = parameter<Lane>(Values(1, power(width - 1) - 1));
  }
  last.bias = parameter<Lane>(none);
  if (steps.empty() || steps.back().op != FinishOp::add) return;
  last.bias = std::move(steps.back().bias);
  steps.pop_back();
}

template <class Lane>
bool Planner<Lane>::plan(const Chain& chain) {
  if (operands_.empty() || !begin()) return false;
  for (const Stage* at = chain.begin(); at != chain.end(); ++at) {
    if (!stage(*at, {at + 1, chain.end()})) return false;
    if (factors_.empty() && !all_fit(width)) {
      const bool wraps =
          at + 1 != chain.end() && at[1].kind == StageKind::narrow && at[1].overflow == Overflow::wrap && at[1].bits <= width;
      if (!wraps) return false;
    }
  }
  if (!flush()) return false;
  split_last();
  return true;
}

}  // namespace

kernels::FloatRounding float_rounding(Rounding rule) {
  constexpr auto thresholds = kernels::FloatForm::thresholds;
  constexpr double never = 2;
  const float half = 0.5F, above = std::nextafter(half, 1.0F), least = std::numeric_limits<float>::denorm_min();
  switch (rule) {
    case Rounding::half_even: return {};
    case Rounding::floor: return {thresholds, never, -least};
    case Rounding::ceil: return {thresholds, least, -never};
    case Rounding::half_up: return {thresholds, half, -above};
    case Rounding::half_down: return {thresholds, above, -half};
    case Rounding::half_away: return {thresholds, half, -half};
    case Rounding::half_toward_zero: return {thresholds, above, -above};
    case Rounding::toward_zero:
    case Rounding::to_odd: break;
  }
  return {thresholds, never, -never};
}

std::optional<FinishPlan> finish_plan(const Chain& chain, std::span<const RescaleOperands> operands, const FinisherInput& input,
                                      std::size_t lanes) {
  Planner<std::int32_t> narrow(operands, input, lanes);
  FinishPlan plan;
  if (narrow.plan(chain)) {
    plan.period = narrow.period();
    plan.narrow = narrow.take();
    return plan;
  }
  Planner<std::int64_t> wide(operands, input, std::max<std::size_t>(1, lanes / 2));
  if (!wide.plan(chain)) return std::nullopt;
  plan.in_64_bits = true;
  plan.period = wide.period();
  plan.wide = wide.take();
  return plan;
}

}  // namespace lastbit
