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

constexpr std::int64_t worth = 20;      // outputs of a channel that finding one of its steps takes as long as
constexpr double widest_gap = 0x1p-10;  // beyond it too many sums are left to the chain

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

/// Lays the lines of all channels.
class Laying {
 public:
  Laying(const std::vector<OutputTrend>& trends, const IntegerRange& sums, const OutputSteps& steps)
      : trends_(trends), sums_(sums), steps_(steps), channels_(trends.size()), above_(channels_), below_(channels_) {}

  /// Nothing where there is no room for them.
  std::optional<ChannelLines> lines() {
    for (std::size_t c = 0; c < channels_; ++c) {
      const double reach = std::abs(trends_[c].slope) * std::max(-static_cast<double>(sums_.min), static_cast<double>(sums_.max));
      if (!(reach < 0x1p29)) return std::nullopt;
      bind(c);
    }
    join();
    return laid();
  }

 private:
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

  /// To the outputs of both sums of every step, of the least and of the largest sum, and on both sides of 0, where another line begins.
  void bind(std::size_t c) {
    for (std::int64_t output = steps_.smallest + 1; output <= steps_.largest; ++output) {
      const std::int64_t first = steps_.first_of(c, output);
      if (first == sums_.min || first > sums_.max) continue;
      require_at_least(c, first, output);
      require_at_most(c, first - 1, output - 1);
    }
    for (const std::int64_t least : {sums_.min, std::clamp<std::int64_t>(0, sums_.min, sums_.max)})
      if (const std::int64_t output = steps_.output(c, least); output > steps_.smallest) require_at_least(c, least, output);
    for (const std::int64_t most : {std::clamp<std::int64_t>(-1, sums_.min, sums_.max), sums_.max})
      if (const std::int64_t output = steps_.output(c, most); output < steps_.largest) require_at_most(c, most, output);
  }

  [[nodiscard]] double widest_of(const std::vector<Room>& rooms) const {
    double gap = 0;
    for (const Room& room : rooms) gap = std::max(gap, room.gap());
    return gap + 0x1p-14;  // what addends lose as floats
  }

  /// One line for all sums saves looking at their signs, where that leaves few more to the chain.
  void join() {
    std::vector<Room> joint;
    for (std::size_t c = 0; c < channels_; ++c)
      joint.push_back({std::max(above_[c].least, below_[c].least), std::min(above_[c].most, below_[c].most)});
    const double gap = std::max(widest_of(above_), widest_of(below_));
    if (widest_of(joint) <= std::max(2 * gap, 0x1p-12)) above_ = below_ = std::move(joint);
  }

  [[nodiscard]] std::optional<ChannelLines> laid() const {
    ChannelLines lines;
    lines.gap = static_cast<float>(std::max(widest_of(above_), widest_of(below_)));
    lines.smallest = static_cast<std::int32_t>(steps_.smallest);
    lines.largest = static_cast<std::int32_t>(steps_.largest);
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

  const std::vector<OutputTrend>& trends_;
  const IntegerRange& sums_;
  const OutputSteps& steps_;
  std::size_t channels_;
  std::vector<Room> above_, below_;  ///< of sums from 0 on, and below
};

}  // namespace

LineFinder::LineFinder(const Chain& chain, std::span<const RescaleOperands> operands, const IntegerRange& sums)
    : sums_(sums), trends_(output_trends(chain, operands, sums)) {}

const ChannelLines* LineFinder::lines(std::int64_t outputs, const FinishRows& finish) const {
  if (trends_.empty()) return nullptr;
  if (!found_->looked.load(std::memory_order_acquire)) {
    const std::int64_t cost = worth * most_output_steps * static_cast<std::int64_t>(trends_.size());
    const bool is_worth_it = found_->outputs.fetch_add(outputs, std::memory_order_relaxed) + outputs >= cost;
    if (!is_worth_it && !ScopedEagerLines::any()) return nullptr;
    const std::scoped_lock lock(found_->looking);
    if (!found_->looked.load(std::memory_order_relaxed)) {
      if (const auto steps = output_steps(trends_, sums_, finish)) found_->lines = Laying(trends_, sums_, *steps).lines();
      found_->looked.store(true, std::memory_order_release);
    }
  }
  return found_->lines ? &*found_->lines : nullptr;
}

}  // namespace lastbit
