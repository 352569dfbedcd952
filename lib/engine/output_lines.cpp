// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/output_lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace lastbit {
namespace {

constexpr std::size_t places = 4;  // tried around where a trend has a step
constexpr std::int64_t most_steps = 255;
constexpr std::int64_t worth = 20;      // outputs of a channel that finding one of its steps takes as long as
constexpr double widest_gap = 0x1p-10;  // beyond it too many sums are left to the chain

/// Follows a chain at both ends of its sums, and how far it is a product and an addition between. Values as far below as above an integer are taken as
/// rounded evenly: what a rule makes of them, and of intermediate results, the steps tell.
class TrendMachine {
 public:
  TrendMachine(const RescaleOperands& operands, const IntegerRange& sums)
      : operands_(operands), low_({sums.min, 0}, operands), high_({sums.max, 0}, operands) {}

  bool shift_left(auto&& amount) {
    scale(std::ldexp(1.0, static_cast<int>(amount(operands_))));
    return low_.shift_left(amount) && high_.shift_left(amount);
  }
  bool multiply(auto&& factor) {
    const auto by = static_cast<double>(Int128{factor(operands_)});
    scale(by);
    return by >= 0 && low_.multiply(factor) && high_.multiply(factor);
  }
  bool shift_right(auto&& amount, Rounding rounding) {
    const int by = amount(operands_, low_.at().fraction_bits);
    scale(std::ldexp(1.0, -by));
    if (by > 0) round(rounding);
    return low_.shift_right(amount, rounding) && high_.shift_right(amount, rounding);
  }
  bool add(auto&& addend) {
    const auto by = static_cast<double>(Int128{addend(operands_, low_.at().fraction_bits)});
    above_ += by, below_ += by;
    return low_.add(addend) && high_.add(addend);
  }
  bool add_by_sign(auto&& addends) {
    const std::pair<Int128, Int128> both = addends(operands_, low_.at().fraction_bits);
    above_ += static_cast<double>(both.first), below_ += static_cast<double>(both.second);
    const bool keeps_order = both.second <= both.first + 1;
    return keeps_order && low_.add_by_sign(addends) && high_.add_by_sign(addends);
  }
  bool add_and_narrow(auto&& addend, int bits, Overflow overflow) { return add(addend) && narrow(bits, overflow); }
  bool narrow(int bits, Overflow overflow) {
    const auto leaves = [&](const ExactMachine& end) { return !fits_width(end.at().value, bits); };
    if (overflow == Overflow::wrap && (leaves(low_) || leaves(high_))) return false;
    return low_.narrow(bits, overflow) && high_.narrow(bits, overflow);
  }
  bool clamp(auto&& bounds) { return low_.clamp(bounds) && high_.clamp(bounds); }
  bool scale_in_float(auto&& real, Rounding rounding) {
    constexpr std::int64_t far = 1 << 20;
    const auto at = [&](std::int64_t value) { return static_cast<double>(real(value, operands_)); };
    const double zero = at(0);
    scale((at(far) - zero) / static_cast<double>(far));
    above_ += zero, below_ += zero;
    round(rounding);
    return low_.scale_in_float(real, rounding) && high_.scale_in_float(real, rounding);
  }
  bool divide(auto&& divisor, Rounding rounding) {
    scale(1 / static_cast<double>(Int128{divisor(operands_)}));
    round(rounding);
    return low_.divide(divisor, rounding) && high_.divide(divisor, rounding);
  }
  bool piecewise(auto&& acts, auto&&, auto&&) { return !acts(operands_); }
  bool look_up(auto&&) { return false; }
  bool binary_point(auto&& fraction_bits) { return low_.binary_point(fraction_bits) && high_.binary_point(fraction_bits); }

  [[nodiscard]] double slope() const { return slope_; }
  [[nodiscard]] double above() const { return above_; }
  [[nodiscard]] double below() const { return below_; }

 private:
  void scale(double by) { slope_ *= by, above_ *= by, below_ *= by; }
  void round(Rounding rounding) {
    const double up = rounding == Rounding::ceil ? 0.5 : rounding == Rounding::floor ? -0.5 : 0;
    above_ += rounding == Rounding::toward_zero ? -0.5 : up;
    below_ += rounding == Rounding::toward_zero ? 0.5 : up;
  }

  const RescaleOperands& operands_;
  ExactMachine low_, high_;
  double slope_ = 1, above_ = 0, below_ = 0;
};

/// Between which two numbers the addend of a line lies: the upper line's at or above `least`, the lower one's at or below `most`.
struct Room {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();

  [[nodiscard]] double gap() const { return std::max(0.0, least - most); }
  /// As far from both; of one that does not bind, what was expected.
  [[nodiscard]] double middle(double expected) const {
    if (std::isfinite(least) && std::isfinite(most)) return (least + most) / 2;
    return std::max(least, std::min(most, expected));
  }
};

constexpr std::size_t values_at_a_time = 1 << 13;

}  // namespace

class LineFinder::Search {
 public:
  Search(const std::vector<Trend>& trends, const IntegerRange& sums, const FinishRows& finish)
      : trends_(trends), sums_(sums), finish_(finish), channels_(trends.size()), above_(channels_), below_(channels_) {
    for (const Trend& trend : trends) steps_.push_back(1 / trend.slope);
  }

  std::optional<ChannelLines> lines() {
    if (!find_ends()) return std::nullopt;
    const auto together = static_cast<std::int64_t>(std::max<std::size_t>(1, values_at_a_time / places / channels_));
    for (std::int64_t first = smallest_ + 1; first <= largest_; first += together)
      if (!find_steps(first, std::min(first + together, largest_ + 1))) return std::nullopt;
    return laid();
  }

 private:
  /// What the chain makes of values [rows, channels].
  [[nodiscard]] std::vector<std::int64_t> finished(std::vector<std::int64_t> values) const {
    finish_(values);
    return values;
  }

  /// At least `output` comes of the sum: the upper line must say so; at most `output`: the lower one.
  void require_at_least(std::size_t c, std::int64_t sum, std::int64_t output) {
    Room& room = (sum < 0 ? below_ : above_)[c];
    room.least = std::max(room.least, half_below(output) - exact(c, sum) + error(c, sum, output));
  }
  void require_at_most(std::size_t c, std::int64_t sum, std::int64_t output) {
    Room& room = (sum < 0 ? below_ : above_)[c];
    room.most = std::min(room.most, half_below(output + 1) - exact(c, sum) - error(c, sum, output + 1));
  }
  static double half_below(std::int64_t output) { return static_cast<double>(output) - 0.5; }
  [[nodiscard]] double exact(std::size_t c, std::int64_t sum) const {
    return static_cast<double>(static_cast<float>(trends_[c].slope)) * static_cast<double>(sum);
  }
  /// What float can be off near an output: in the product with its addend, in the gap that is added, in a sum of more than 24 bits; and a bit.
  [[nodiscard]] double error(std::size_t c, std::int64_t sum, std::int64_t output) const {
    const double of_sum = std::abs(sum) < (1 << 24) ? 0 : std::abs(exact(c, sum));
    return 0x1p-24 * (2 * (std::abs(static_cast<double>(output)) + 1) + of_sum) + 0x1p-30;
  }

  /// The outputs of the least and the largest sum, and on both sides of 0, where another line begins.
  bool find_ends() {
    const std::int64_t least = sums_.min, most = sums_.max;
    std::vector<std::int64_t> ends;
    for (const std::int64_t sum : {least, std::int64_t{-1}, std::int64_t{0}, most})
      ends.insert(ends.end(), channels_, std::clamp(sum, least, most));
    const std::vector<std::int64_t> outputs = finished(ends);
    const auto row = [&](std::size_t number) { return std::span(outputs).subspan(number * channels_, channels_); };
    smallest_ = *std::ranges::min_element(row(0));
    largest_ = *std::ranges::max_element(row(3));
    if (smallest_ < -128 || largest_ > 255 || largest_ - smallest_ > most_steps) return false;
    for (std::size_t c = 0; c < channels_; ++c) {
      for (std::size_t end : {std::size_t{0}, std::size_t{2}})
        if (row(end)[c] > smallest_) require_at_least(c, ends[end * channels_ + c], row(end)[c]);
      for (std::size_t end : {std::size_t{1}, std::size_t{3}})
        if (row(end)[c] < largest_) require_at_most(c, ends[end * channels_ + c], row(end)[c]);
      const double reach = std::abs(trends_[c].slope) * std::max(-static_cast<double>(least), static_cast<double>(most));
      if (!(reach < 0x1p29)) return false;
    }
    return true;
  }

  /// Where the first of the places stands at which the step to an output is looked for.
  [[nodiscard]] std::int64_t place_of(std::size_t c, std::int64_t output) const {
    const Trend& trend = trends_[c];
    const double above = (half_below(output) - trend.above) * steps_[c];
    const double at = above > 0 ? above : std::min(0.0, (half_below(output) - trend.below) * steps_[c]);
    const std::int64_t last = sums_.max - static_cast<std::int64_t>(places) + 1;
    const double first = std::ceil(at) - static_cast<double>(places) / 2;
    return first <= static_cast<double>(sums_.min) ? sums_.min
           : first >= static_cast<double>(last)    ? last
                                                   : static_cast<std::int64_t>(first);
  }

  /// Of outputs [first, last).
  bool find_steps(std::int64_t first, std::int64_t last) {
    const auto row_of = [&](std::int64_t output) { return static_cast<std::size_t>(output - first) * places * channels_; };
    std::vector<std::int64_t> tried(row_of(last));
    for (std::int64_t output = first; output < last; ++output) {
      for (std::size_t c = 0; c < channels_; ++c) {
        const std::int64_t place = place_of(c, output);
        for (std::size_t i = 0; i < places; ++i) tried[row_of(output) + i * channels_ + c] = place + static_cast<std::int64_t>(i);
      }
    }
    const std::vector<std::int64_t> outputs = finished(tried);
    for (std::int64_t output = first; output < last; ++output) {
      for (std::size_t c = 0; c < channels_; ++c) {
        const std::size_t at = row_of(output) + c;
        std::size_t i = 0;
        while (i < places && outputs[at + i * channels_] < output) ++i;
        const bool before_all = i == 0 && tried[at] == sums_.min;
        const bool behind_all = i == places && tried[at + (places - 1) * channels_] == sums_.max;
        if (before_all || behind_all) continue;
        if (i == 0 || i == places) return false;
        require_at_least(c, tried[at + i * channels_], output);
        require_at_most(c, tried[at + (i - 1) * channels_], output - 1);
      }
    }
    return true;
  }

  [[nodiscard]] std::optional<ChannelLines> laid() const {
    double gap = 0;
    for (const auto* const rooms : {&above_, &below_})
      for (const Room& room : *rooms) gap = std::max(gap, room.gap());
    ChannelLines lines;
    lines.gap = static_cast<float>(gap + 0x1p-14);  // what addends lose as floats
    lines.smallest = static_cast<std::int32_t>(smallest_);
    lines.largest = static_cast<std::int32_t>(largest_);
    if (lines.gap > widest_gap) return std::nullopt;
    for (std::size_t c = 0; c < channels_; ++c) {
      lines.slope.push_back(static_cast<float>(trends_[c].slope));
      for (auto [rooms, addends, expected] :
           {std::tuple(&above_, &lines.above, trends_[c].above), std::tuple(&below_, &lines.below, trends_[c].below)}) {
        const Room& room = (*rooms)[c];
        // Where nothing binds, half a sum beside the trend: on it, sums of a scale of a power of two would be ties.
        const auto addend = static_cast<float>(room.middle(expected + trends_[c].slope / 2) - double{lines.gap} / 2);
        if (!(double{addend} <= room.most && double{addend} + double{lines.gap} >= room.least)) return std::nullopt;
        addends->push_back(addend);
      }
    }
    return lines;
  }

  const std::vector<Trend>& trends_;
  const IntegerRange& sums_;
  const FinishRows& finish_;
  std::size_t channels_;
  std::vector<double> steps_;        ///< from one output to the next, in sums
  std::vector<Room> above_, below_;  ///< of sums from 0 on, and below
  std::int64_t smallest_ = 0, largest_ = 0;
};

std::optional<LineFinder::Trend> LineFinder::trend_of(const Chain& chain, const RescaleOperands& operands, const IntegerRange& sums) {
  TrendMachine machine(operands, sums);
  for (const Stage& stage : chain)
    if (!run(stage, machine)) return std::nullopt;
  const Trend trend{machine.slope(), machine.above(), machine.below()};
  const bool is_sound = trend.slope >= 0x1p-40 && std::isfinite(trend.slope) && std::isfinite(trend.above) && std::isfinite(trend.below);
  return is_sound ? std::optional(trend) : std::nullopt;
}

LineFinder::LineFinder(const Chain& chain, std::span<const RescaleOperands> operands, const IntegerRange& sums) : sums_(sums) {
  if (sums.max - sums.min < static_cast<std::int64_t>(places)) return;
  for (const RescaleOperands& each : operands) {
    const std::optional<Trend> trend = trend_of(chain, each, sums);
    if (!trend) {
      trends_.clear();
      return;
    }
    trends_.push_back(*trend);
  }
}

const ChannelLines* LineFinder::lines(std::int64_t outputs, const FinishRows& finish) const {
  if (trends_.empty()) return nullptr;
  if (!found_->looked.load(std::memory_order_acquire)) {
    const std::int64_t cost = worth * most_steps * static_cast<std::int64_t>(trends_.size());
    const bool is_worth_it = found_->outputs.fetch_add(outputs, std::memory_order_relaxed) + outputs >= cost;
    if (!is_worth_it && !ScopedEagerLines::any()) return nullptr;
    const std::scoped_lock lock(found_->looking);
    if (!found_->looked.load(std::memory_order_relaxed)) {
      found_->lines = Search(trends_, sums_, finish).lines();
      found_->looked.store(true, std::memory_order_release);
    }
  }
  return found_->lines ? &*found_->lines : nullptr;
}

}  // namespace lastbit
