// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/prove/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lastbit {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

std::int64_t period_of(const AccumulatorRule& rule, std::size_t group) {
  return rule.when == NarrowingPoint::every_add ? 1 : rule.when == NarrowingPoint::every_tile ? rule.tile(group) : never;
}

/// The power of two that the range just fits is 2^(bits - 1): its larger end, the upper one moved up by 1.
Int128 magnitude(const SumRange& range) { return std::max<Int128>(std::max<Int128>(range.upper + 1, -range.lower), 1); }

/// What wraps may become anything of its width, unless it is one known value.
SumRange narrowed(const SumRange& range, int bits, Overflow overflow) {
  if (fits_width(range, bits) || overflow == Overflow::exact) return range;
  const bool known = range.lower == range.upper;
  if (overflow == Overflow::wrap && !known) return {min_of_width(bits), max_of_width(bits)};
  return {narrow(range.lower, bits, overflow), narrow(range.upper, bits, overflow)};
}

}  // namespace

int bits_for(const SumRange& range) {
  const Int128 size = magnitude(range);
  int bits = 1;
  while (bits < 127 && (Int128{1} << (bits - 1)) < size) ++bits;
  return std::max(bits, 2);
}

double margin_in_bits(const SumRange& range, int width) {
  const double margin = static_cast<double>(width - 1) - std::log2(static_cast<double>(magnitude(range)));
  return bits_for(range) > width ? std::min(margin, -0x1p-62) : std::max(margin, 0.0);  // a double may miss the last unit
}

BoundAccumulator::BoundAccumulator(const AccumulatorRule& rule, const SumRange& start, std::size_t group, std::int64_t multiplier)
    : rule_(rule),
      multiplier_(multiplier),
      period_(period_of(rule, group)),
      to_settling_(period_),
      partial_terms_(has_partial_sums(rule) ? rule.partial.terms(group) : 0),
      exact_(start),
      device_(start),
      before_tail_(never) {
  if (period_ != never) settle();
}

void BoundAccumulator::begin_run(std::int64_t length) {
  empty();
  before_tail_ = length - (rule_.partial.vector == 0 ? 0 : length % rule_.partial.vector);
}

void BoundAccumulator::add(const SumRange& term, const SumRange& beyond) {
  ++steps_;
  if (partial_terms_ == 0) add_to_sum(term);
  else add_to_partial(term, beyond);
  if (--to_settling_ == 0) settle();
}

void BoundAccumulator::add_beside(const SumRange& value) {
  ++steps_;
  exact_ = exact_ + value;
  device_ = device_ + value;
  if (--to_settling_ == 0) settle();
}

void BoundAccumulator::add_to_sum(const SumRange& value) {
  exact_ = exact_ + value * multiplier_;
  device_ = device_ + value * multiplier_;
}

void BoundAccumulator::add_to_partial(const SumRange& term, const SumRange& beyond) {
  const bool in_tail = before_tail_ == 0;
  if (in_tail && rule_.partial.tail == PartialTail::dropped) return;
  if (in_tail && rule_.partial.tail == PartialTail::exact) return add_to_sum(term);
  if (!in_tail) --before_tail_;
  partial_ = partial_ + term + beyond;
  add_to_sum(beyond * -1);
  ++in_partial_;
  const bool is_last = !in_tail && (in_partial_ == partial_terms_ || before_tail_ == 0);
  if (is_last) flush();
  if (rule_.partial.emptied > 0 && ++in_second_ == rule_.partial.emptied) empty();
}

BoundAccumulator::Leaving BoundAccumulator::leaving_of(const SumRange& range, int bits) const {
  const bool above = range.upper > max_of_width(bits);
  return {steps_, above, above ? range.upper : range.lower};
}

/// What it can be before and after it is narrowed.
void BoundAccumulator::note_partial(SumRange& range) {
  const PartialSums& partial = rule_.partial;
  partials_ = partials_ ? hull(*partials_, range) : range;
  if (!partial_leaving_ && !fits_width(range, partial.bits)) partial_leaving_ = leaving_of(range, partial.bits);
  range = narrowed(range, partial.bits, partial.overflow);
}

void BoundAccumulator::flush() {
  if (in_partial_ == 0) return;
  note_partial(partial_);
  if (rule_.partial.emptied == 0) {
    add_to_sum(partial_);
  } else {
    second_ = second_ + partial_;
    note_partial(second_);
  }
  partial_ = {};
  in_partial_ = 0;
}

void BoundAccumulator::empty() {
  flush();
  add_to_sum(second_);
  second_ = {};
  in_second_ = 0;
}

void BoundAccumulator::settle() {
  empty();
  to_settling_ = period_;
  if (!sums_) sums_ = ChannelProof{exact_, steps_, steps_};
  if (exact_.lower < sums_->sums.lower) {
    sums_->sums.lower = exact_.lower;
    sums_->lower_steps = steps_;
  }
  if (exact_.upper > sums_->sums.upper) {
    sums_->sums.upper = exact_.upper;
    sums_->upper_steps = steps_;
  }
  const bool repeated = !tiles_.empty() && tiles_.back().steps == steps_;  // the end of the last tile is the end of the sum
  if (rule_.when == NarrowingPoint::every_tile && !repeated) tiles_.push_back({steps_, device_, 0});
  if (!leaving_ && !fits_width(exact_, rule_.bits)) leaving_ = leaving_of(exact_, rule_.bits);
  device_ = narrowed(device_, rule_.bits, rule_.overflow);
}

}  // namespace lastbit
