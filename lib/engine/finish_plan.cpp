// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/finish_plan.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/finish_planner.hpp"

namespace lastbit {

using kernels::Counted;
using kernels::FinishOp;
using kernels::FinishPlan;
using kernels::LaneParameter;
using kernels::ShiftForm;

std::size_t finish_period(std::size_t channels, std::size_t lanes) {
  if (channels == 1) return 0;
  const std::size_t aligned = channels * (lanes / std::gcd(channels, lanes));
  const std::size_t unit = aligned <= kernels::finish_block ? aligned : channels;
  return unit * std::max<std::size_t>(1, kernels::finish_block / 2 / unit);
}

template <class Lane>
template <class T>
const T* FinishPlanner<Lane>::keep(AlignedVector<T> list) {
  const auto kept = std::make_shared<const AlignedVector<T>>(std::move(list));
  lists_.push_back(kept);
  return kept->data();
}

template <class Lane>
template <class T, class List>
LaneParameter<T> FinishPlanner<Lane>::parameter(const List& values, bool halves) {
  const bool uniform = std::all_of(values.begin(), values.end(), [&](const auto& value) { return value == values[0]; });
  if (uniform) return {keep(AlignedVector<T>(lanes_, static_cast<T>(values[0]))), 0};
  per_channel_ = true;
  AlignedVector<T> list((period_ + lanes_ - 1) / lanes_ * lanes_);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::size_t lane = i % lanes_;
    const std::size_t place = halves && lanes_ > 1 ? i - lane + lane / 2 + lane % 2 * (lanes_ / 2) : i;
    list[place] = static_cast<T>(values[i % values.size()]);
  }
  return {keep(std::move(list)), 1};
}

template <class Lane>
bool FinishPlanner<Lane>::add_each(const Values& addends) {
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
bool FinishPlanner<Lane>::bound_each(const Values& low, const Values& high, Counted counted) {
  if (!flush() || !all_fit(width)) return false;
  bool acts = false;
  for (std::size_t c = 0; c < channels(); ++c) {
    if (low[c] > high[c]) return false;
    ValueBounds& range = ranges_[c];
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
bool FinishPlanner<Lane>::narrow(int width_of_stage, Overflow overflow) {
  const int bits = overflow == Overflow::exact ? 64 : width_of_stage;
  if (all_fit(bits)) return all_fit(width) || !factors_.empty();
  if (overflow != Overflow::wrap)
    return bound_each(Values(channels(), -power(bits - 1)), Values(channels(), power(bits - 1) - 1),
                      overflow == Overflow::saturate ? Counted::stages : Counted::nothing);
  if (bits > width) return false;
  if (!all_fit(width)) {
    if (wraps_ == Wraps::seen) return false;
    hides_wraps_ = true;
  }
  for (ValueBounds& range : ranges_) range = {-power(bits - 1), power(bits - 1) - 1};
  if (!factors_.empty()) append_product(Rounding::floor, std::vector<int>(channels(), 0), bias_, Values(channels(), 0));
  if (bits == width) return true;
  Step& step = append(FinishOp::wrap);
  step.counted = Counted::wraps;
  step.amount = parameter<Lane>(Values(channels(), width - bits));
  return true;
}

template <class Lane>
bool FinishPlanner<Lane>::shift_left(auto&& places) {
  if (!flush()) return false;
  const Values amounts = each([&](std::size_t c) { return Int128{places(operands_[c])}; });
  if (std::all_of(amounts.begin(), amounts.end(), [](Int128 amount) { return amount == 0; })) return true;
  for (std::size_t c = 0; c < channels(); ++c) {
    const Int128 factor = power(static_cast<int>(amounts[c]));
    ranges_[c] = {ranges_[c].low * factor, ranges_[c].high * factor};
  }
  append(FinishOp::shift_left).amount = parameter<Lane>(amounts);
  return true;
}

template <class Lane>
bool FinishPlanner<Lane>::clamp(auto&& bounds) {
  return bound_each(each([&](std::size_t c) { return bounds(operands_[c]).low; }),
                    each([&](std::size_t c) { return bounds(operands_[c]).high; }),
                    facts_of(rest_[0]).bounds_output ? Counted::outputs : Counted::nothing);
}

/// Before the chain.
template <class Lane>
bool FinishPlanner<Lane>::begin() {
  return all_fit(width) && add_each(Values(channels(), Int128{-input_.zero_point})) && all_fit(width);
}

/// Begins a product, which waits for its shift.
template <class Lane>
bool FinishPlanner<Lane>::multiply_each(const Values& factors) {
  if (!flush() || !all_fit(width)) return false;
  for (std::size_t c = 0; c < channels(); ++c) {
    if (factors[c] < 0 || factors[c] >= power(32)) return false;
    ranges_[c] = {ranges_[c].low * factors[c], ranges_[c].high * factors[c]};
  }
  factors_ = factors;
  bias_.assign(channels(), 0);
  return true;
}

/// Whether a product by the factors needs no step: they are 1, and the lane has a bit for what its rounding adds.
template <class Lane>
bool FinishPlanner<Lane>::changes_nothing(const Values& factors) const {
  return factors_.empty() && all_fit(width - 1) && std::all_of(factors.begin(), factors.end(), [](Int128 factor) { return factor == 1; });
}

/// To a product that still waits for its shift, where that cannot leave the width.
template <class Lane>
bool FinishPlanner<Lane>::add_and_narrow(auto&& addend, int bits, Overflow overflow) {
  const Values addends = each([&](std::size_t c) { return std::min(addend(operands_[c], fraction_[c]), power(100)); });
  if (!factors_.empty()) {
    auto sums = ranges_;
    bool acts = false;
    for (std::size_t c = 0; c < channels(); ++c) {
      sums[c] = {sums[c].low + addends[c], sums[c].high + addends[c]};
      acts = acts || !fits(sums[c], overflow == Overflow::exact ? 64 : bits);
    }
    if (!acts) {
      ranges_ = sums;
      for (std::size_t c = 0; c < channels(); ++c) bias_[c] += addends[c];
      return true;
    }
  }
  return add_each(addends) && narrow(bits, overflow);
}

/// A shift by no place that rounds by the sign: what its half adds leaves the lane as any sum does, modulo it.
template <class Lane>
bool FinishPlanner<Lane>::add_by_sign(auto&& addends) {
  if (!flush() || !all_fit(width)) return false;
  Values above(channels()), more_below(channels());
  for (std::size_t c = 0; c < channels(); ++c) {
    const std::pair<Int128, Int128> both = addends(operands_[c], fraction_[c]);
    const Int128 first = both.first, second = both.second;
    if (!fits({first, first}, width)) return false;
    above[c] = first, more_below[c] = second - first;
    const auto moved = [&](Int128 value) { return value + (value < 0 ? second : first); };
    ranges_[c] = {moved(ranges_[c].low), moved(ranges_[c].high)};
  }
  if (std::ranges::all_of(above, [](Int128 value) { return value == 0; })) return true;
  Step& step = append(FinishOp::shift_right);
  step.form = ShiftForm::sign;
  step.bias = parameter<Lane>(above);
  step.extra = parameter<Lane>(more_below);
  step.amount = parameter<Lane>(Values(channels(), 0));
  return true;
}

template <class Lane>
bool FinishPlanner<Lane>::shift_right(auto&& amount, Rounding rule) {
  std::vector<int> amounts(channels());
  for (std::size_t c = 0; c < channels(); ++c) amounts[c] = amount(operands_[c], fraction_[c]);
  return shift_each(rule, std::move(amounts));
}

/// A shift by 62 tells of a value below 2^61 all that a shift by more does; one to the left is a product.
template <class Lane>
bool FinishPlanner<Lane>::shift_each(Rounding rule, std::vector<int> amounts) {
  const bool to_left = std::any_of(amounts.begin(), amounts.end(), [](int amount) { return amount < 0; });
  const int widest = *std::max_element(amounts.begin(), amounts.end());
  if (factors_.empty() && !to_left && widest <= width - 2 && shift_lanes(rule, amounts)) return true;
  if (factors_.empty() && !multiply_each(Values(channels(), 1))) return false;
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

constexpr ValueBounds shifted(const ValueBounds& range, int amount, Rounding rule) {
  return {shift_right(range.low, amount, rule), shift_right(range.high, amount, rule)};
}
/// What the sum of a rounded shift may be on the way.
constexpr ValueBounds on_the_way(const ValueBounds& range, const RoundingTerms& terms) {
  return {range.low + terms.bias + std::min<Int128>(terms.extra, 0), range.high + terms.bias + std::max<Int128>(terms.extra, 0)};
}

template <class Lane>
bool FinishPlanner<Lane>::shift_lanes(Rounding rule, const std::vector<int>& amounts) {
  std::vector<ValueBounds> results(channels());
  Values bias(channels()), extra(channels());
  for (std::size_t c = 0; c < channels(); ++c) {
    const RoundingTerms terms = rounding_terms(rule, amounts[c]);
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
bool FinishPlanner<Lane>::shift_product(Rounding rule, const std::vector<int>& amounts) {
  if (width == 64 && std::all_of(ranges_.begin(), ranges_.end(), [](const ValueBounds& range) { return fits(range, 64); })) {
    const auto before = ranges_;
    const auto steps = steps_.size();
    append(FinishOp::multiply).product.multiplier = parameter<std::int64_t>(factors_);
    const bool biased = std::any_of(bias_.begin(), bias_.end(), [](Int128 value) { return value != 0; });
    const Values bias = bias_;
    if (biased) append(FinishOp::add).bias = parameter<Lane>(bias);
    if (shift_lanes(rule, amounts)) {
      factors_.clear();
      return true;
    }
    steps_.resize(steps);
    ranges_ = before;
  }
  const int product_bits = width == 32 ? 64 : 95;
  Values bias(channels()), extra(channels());
  std::vector<ValueBounds> results(channels());
  for (std::size_t c = 0; c < channels(); ++c) {
    RoundingTerms terms = rounding_terms(rule, amounts[c]);
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
void FinishPlanner<Lane>::append_product(Rounding rule, const std::vector<int>& amounts, const Values& bias, const Values& extra) {
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
bool FinishPlanner<Lane>::flush() {
  if (factors_.empty()) return true;
  return shift_product(Rounding::floor, std::vector<int>(channels(), 0)) && all_fit(width);
}

/// Whether all values from `limit` on, and from -limit down, end at the same bound of the stages that follow.
template <class Lane>
bool FinishPlanner<Lane>::absorbed(std::size_t channel, Int128 limit) const {
  Int128 moved = 0;
  for (const Stage& next : rest_.subspan(1)) {
    const StageFacts& facts = facts_of(next);
    if (facts.bounds != nullptr) {
      const StageBounds bounds = facts.bounds(operands_[channel]);
      return bounds.low > moved - limit && bounds.high < moved + limit;
    }
    if (facts.zero_point != ZeroPointUse::after_rounding) return false;
    moved += operands_[channel].zero_point;
  }
  return false;
}

template <class Lane>
bool FinishPlanner<Lane>::scale_in_float(auto&& real, Rounding rule) {
  if (!flush() || !all_fit(width == 32 ? 32 : 51) || rule == Rounding::to_odd) return false;
  const bool in_double = rest_[0].arithmetic == ProductArithmetic::f64;
  const bool onto_zero = facts_of(rest_[0]).zero_point == ZeroPointUse::before_rounding;
  const double limit = width == 32 ? 0x1p30 : 0x1p50;
  std::vector<double> scales(channels()), zeros(channels());
  for (std::size_t c = 0; c < channels(); ++c) {
    const RescaleOperands& operands = operands_[c];
    scales[c] = in_double ? operands.scale.real_f64 : static_cast<double>(operands.scale.real_f32);
    zeros[c] = static_cast<double>(operands.zero_point);
    if (!(scales[c] >= 0) || std::isinf(scales[c]) || (onto_zero && std::abs(operands.zero_point) >= (1 << 24))) return false;
    const auto bounded = [&](Int128 v) { return Int128{round_to_integer(real(static_cast<std::int64_t>(v), operands), rule)}; };
    ValueBounds range{bounded(ranges_[c].low), bounded(ranges_[c].high)};
    const auto end = static_cast<Int128>(limit);
    if (range.low <= -end || range.high >= end) {
      if (!absorbed(c, end)) return false;
      range = {std::clamp(range.low, -end, end), std::clamp(range.high, -end, end)};
    }
    ranges_[c] = range;
  }
  Step& step = append(FinishOp::float_scale);
  step.rounding = float_rounding(rule, rest_[0].arithmetic);
  step.in_double = in_double;
  step.onto_zero = onto_zero;
  step.limit = limit;
  step.scale_f64 = parameter<double>(scales);
  step.zero_f64 = parameter<double>(zeros);
  step.scale_f32 = parameter<float>(scales);
  step.zero_f32 = parameter<float>(zeros);
  return true;
}

/// The segments that a value reaches.
template <class Lane>
std::vector<ReachedSegment> FinishPlanner<Lane>::reached_segments(std::span<const ScaleSegment> segments) const {
  std::vector<ReachedSegment> reached;
  ValueBounds all = ranges_[0];
  for (const ValueBounds& range : ranges_) all = {std::min(all.low, range.low), std::max(all.high, range.high)};
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const Int128 low = s == 0 ? all.low : std::max(all.low, Int128{segments[s].start} + 1);
    const Int128 high = s + 1 == segments.size() ? all.high : std::min(all.high, Int128{segments[s + 1].start});
    if (low > high) continue;
    const Int128 start = segments[s].start, multiplier = segments[s].multiplier;
    const auto [least, most] = std::minmax({(low - start) * multiplier, (high - start) * multiplier});
    reached.push_back({segments[s], {low, high}, {least, most}});
  }
  return reached;
}

/// In 64 bits: no product leaves the lane on its way.
template <class Lane>
bool FinishPlanner<Lane>::segments_in_integers(const std::vector<ReachedSegment>& reached, const Stage& stage) {
  for (const auto& [segment, values, products] : reached) {
    const RoundingTerms terms = rounding_terms(stage.rounding, segment.shift);
    if (segment.shift > 62 || !fits(products, width) || !fits(on_the_way(products, terms), width)) return false;
  }
  Step& step = append(FinishOp::segments);
  step.form = form_of(stage.rounding);
  const auto list_of = [&](std::size_t first, auto&& function) {
    AlignedVector<std::int64_t> list;
    for (std::size_t s = first; s < reached.size(); ++s) {
      const ScaleSegment& segment = reached[s].segment;
      list.push_back(static_cast<std::int64_t>(function(segment, rounding_terms(stage.rounding, segment.shift))));
    }
    return keep(std::move(list));
  };
  const auto offset = [](const auto& segment, const auto&) { return narrow_wrap(-Int128{segment.start} * segment.multiplier, 64); };
  kernels::SegmentParameters& q = step.segments;
  q.starts = list_of(1, [](const auto& segment, const auto&) { return segment.start; });
  q.start_count = reached.size() - 1;
  q.multiplier = list_of(0, [](const auto& segment, const auto&) { return segment.multiplier; });
  q.offset = list_of(0, offset);
  q.amount = list_of(0, [](const auto& segment, const auto&) { return segment.shift; });
  q.bias = list_of(0, [](const auto&, const auto& terms) { return terms.bias; });
  q.extra = list_of(0, [](const auto&, const auto& terms) { return terms.extra; });
  q.add = list_of(0, [](const auto& segment, const auto&) { return segment.add; });
  return true;
}

/// In double (v - start) * (multiplier / 2^shift) is exact, below 2^53, and rounded to a whole number once; in float a fused addition rounds it,
/// once too. What lies before a segment with a slope of 0 does not matter.
template <class Lane>
bool FinishPlanner<Lane>::segments_in_real(const std::vector<ReachedSegment>& reached, const Stage& stage) {
  using kernels::RealSegments;
  if (reached.size() > RealSegments::count || stage.rounding == Rounding::to_odd) return false;
  RealSegments lists;
  lists.in_float = stage.rounding == Rounding::half_even;
  const auto place_of = [](std::size_t segment, std::size_t levels) {
    std::size_t place = 0;
    for (std::size_t level = 0; level < levels; ++level) place |= (segment >> (RealSegments::levels - 1 - level) & 1) << level;
    return place;
  };
  for (std::size_t s = 0; s < reached.size(); ++s) {
    const auto& [segment, values, products] = reached[s];
    const double slope = std::ldexp(static_cast<double>(segment.multiplier), -segment.shift);
    const ValueBounds from_start{values.low - segment.start, values.high - segment.start};
    if (slope != 0 && (!fits({segment.start, segment.start}, width) || !fits(from_start, width))) return false;
    if (static_cast<float>(slope) != slope || !fits(products, 54) || !fits({segment.add, segment.add}, width)) return false;
    if (!fits({(products.low >> segment.shift) - 1, (products.high >> segment.shift) + 1}, width)) return false;
    if (slope != 0 && !(fits(from_start, 25) && fits({products.low >> segment.shift, products.high >> segment.shift}, 22)))
      lists.in_float = false;
    const std::size_t place = place_of(s, RealSegments::levels);
    lists.start[place] = slope == 0 ? 0 : static_cast<std::int32_t>(segment.start);
    lists.slope[place] = std::bit_cast<std::int32_t>(static_cast<float>(slope));
    lists.add[place] = static_cast<std::int32_t>(segment.add);
  }
  for (std::size_t level = 0; level < RealSegments::levels; ++level) {
    const std::size_t step = RealSegments::count >> level;
    for (std::size_t first = 0; first < RealSegments::count; first += step) {
      const std::size_t s = first + step / 2;
      lists.middle[level][place_of(first, level)] =
          s < reached.size() ? static_cast<std::int32_t>(reached[s].segment.start) : std::numeric_limits<std::int32_t>::max();
    }
  }
  Step& step = append(FinishOp::segments);
  step.rounding = float_rounding(stage.rounding, ProductArithmetic::f64);
  step.segments.real = lists;
  return true;
}

/// Of functions that are looked up, those in segments, which are the layer's; a table has no step.
template <class Lane>
bool FinishPlanner<Lane>::look_up(auto&&) {
  const Stage& stage = rest_[0];
  if (stage.kind != StageKind::segments || !flush() || !all_fit(width)) return false;
  const std::span<const ScaleSegment> segments = operands_[0].segments;
  const auto is_same = [&](const RescaleOperands& each) { return std::ranges::equal(each.segments, segments); };
  if (!std::ranges::all_of(operands_, is_same)) return false;
  if (segments.empty()) return true;
  const std::vector<ReachedSegment> reached = reached_segments(segments);
  if (!(width == 32 ? segments_in_real(reached, stage) : segments_in_integers(reached, stage))) return false;
  steps_.back().segments.away_from_zero =
      stage.step == RoundingStep::away_from_zero && std::ranges::any_of(reached, [](const auto& each) { return each.products.low < 0; });
  ValueBounds results{power(width), -power(width)};
  for (const auto& [segment, values, products] : reached) {
    results.low = std::min(results.low, (products.low >> segment.shift) - 1 + segment.add);
    results.high = std::max(results.high, (products.high >> segment.shift) + 1 + segment.add);
  }
  ranges_.assign(channels(), results);
  return true;
}

/// The last addition and the last clamp go with the store.
template <class Lane>
void FinishPlanner<Lane>::split_last() {
  const Values none(1, 0);
  if (!steps_.empty() && steps_.back().op == FinishOp::clamp) {
    last_ = steps_.back();
    steps_.pop_back();
  } else {
    last_.low = parameter<Lane>(Values(1, -power(width - 1)));
    last_.high = parameter<Lane>(Values(1, power(width - 1) - 1));
  }
  last_.bias = parameter<Lane>(none);
  if (steps_.empty() || steps_.back().op != FinishOp::add) return;
  last_.bias = steps_.back().bias;
  steps_.pop_back();
}

template <class Lane>
kernels::LanePlan<Lane> FinishPlanner<Lane>::take(std::vector<std::shared_ptr<const void>>& lists) {
  const auto steps = std::make_shared<const std::vector<Step>>(std::move(steps_));
  lists_.push_back(steps);
  lists = std::move(lists_);
  return {steps->data(), steps->size(), last_};
}

template <class Lane>
bool FinishPlanner<Lane>::plan(const Chain& chain) {
  if (operands_.empty() || !begin()) return false;
  for (rest_ = {chain.begin(), chain.end()}; !rest_.empty(); rest_ = rest_.subspan(1)) {
    if (!run(rest_[0], *this)) return false;
    if (!factors_.empty() || all_fit(width)) continue;
    const bool wraps =
        rest_.size() > 1 && rest_[1].kind == StageKind::narrow && rest_[1].overflow == Overflow::wrap && rest_[1].bits <= width;
    if (!wraps) return false;
  }
  if (!flush()) return false;
  split_last();
  return true;
}

std::optional<OwnedFinishPlan> finish_plan(const Chain& chain, std::span<const RescaleOperands> operands, const FinisherInput& input,
                                           std::size_t lanes, Wraps wraps) {
  FinishPlanner<std::int32_t> narrow(operands, input, lanes, wraps);
  OwnedFinishPlan owned;
  FinishPlan& plan = owned.plan;
  if (narrow.plan(chain)) {
    plan.period = narrow.period();
    owned.hides_wraps = narrow.hides_wraps();
    plan.narrow = narrow.take(owned.lists);
    return owned;
  }
  FinishPlanner<std::int64_t> wide(operands, input, std::max<std::size_t>(1, lanes / 2), wraps);
  if (!wide.plan(chain)) return std::nullopt;
  plan.in_64_bits = true;
  owned.hides_wraps = wide.hides_wraps();
  plan.period = wide.period();
  plan.wide = wide.take(owned.lists);
  return owned;
}

}  // namespace lastbit
