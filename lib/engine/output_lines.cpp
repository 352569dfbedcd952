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

constexpr std::int64_t outputs_per_step = 20;  // of a channel: to find one of its steps takes as long
// Beyond the fewest, too many sums are left to the chain; beyond the most, float does not tell places apart.
constexpr int fewest_fraction_bits = 10, most_fraction_bits = 16;
constexpr int enough_fraction_bits = 12;

/// Where the addend of a line lies: at or above `least`, at or below `most`; or, where there is no such place, as little outside as can be.
struct Room {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();

  /// As far from both; of one that does not bind, what was expected.
  [[nodiscard]] double middle(double expected) const {
    if (std::isfinite(least) && std::isfinite(most)) return (least + most) / 2;
    return std::max(least, std::min(most, expected));
  }
  /// Not further outside than a place may be rounded to the next.
  [[nodiscard]] bool holds(double addend, double half_a_place) const {
    return addend >= least - half_a_place && addend <= most + half_a_place;
  }
};

/// Lays the lines of all channels.
class Laying {
 public:
  Laying(const std::vector<OutputTrend>& trends, const IntegerRange& sums, const OutputSteps& steps)
      : trends_(trends), sums_(sums), steps_(steps), channels_(trends.size()), above_(channels_), below_(channels_) {}

  /// Nothing where there is no room for them.
  std::optional<ChannelLines> lines() {
    for (std::size_t c = 0; c < channels_; ++c) bind(c);
    std::vector<Room> joint;
    for (std::size_t c = 0; c < channels_; ++c)
      joint.push_back({std::max(above_[c].least, below_[c].least), std::min(above_[c].most, below_[c].most)});
    // One line for all sums saves looking at their signs, where that leaves few more to the chain.
    std::optional<ChannelLines> one = finest(joint, joint);
    if (one && one->fraction_bits >= enough_fraction_bits) return one;
    std::optional<ChannelLines> two = finest(above_, below_);
    return one && two && one->fraction_bits + 1 >= two->fraction_bits ? one : two;
  }

 private:
  /// At least `output` comes of the sum, or at most: so must its place say, if it is not rounded to the end of what is left open.
  void require_at_least(std::size_t c, std::int64_t sum, std::int64_t output) {
    Room& room = (sum < 0 ? below_ : above_)[c];
    room.least = std::max(room.least, static_cast<double>(output) - exact(c, sum) + error(c, sum, output));
  }
  void require_at_most(std::size_t c, std::int64_t sum, std::int64_t output) {
    Room& room = (sum < 0 ? below_ : above_)[c];
    room.most = std::min(room.most, static_cast<double>(output + 1) - exact(c, sum) - error(c, sum, output + 1));
  }
  [[nodiscard]] double exact(std::size_t c, std::int64_t sum) const {
    return static_cast<double>(static_cast<float>(trends_[c].slope)) * static_cast<double>(sum);
  }
  /// What float can be off near an output: in the product with its addend, and in a sum of more than 24 bits; and a bit.
  [[nodiscard]] double error(std::size_t c, std::int64_t sum, std::int64_t output) const {
    const double of_sum = std::abs(sum) < (1 << 24) ? 0 : std::abs(exact(c, sum));
    return 0x1p-24 * (std::abs(static_cast<double>(output)) + 1 + of_sum) + 0x1p-30;
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

  /// The lines that leave the fewest sums to the chain.
  [[nodiscard]] std::optional<ChannelLines> finest(const std::vector<Room>& above, const std::vector<Room>& below) const {
    std::optional<ChannelLines> lines;
    for (int bits = most_fraction_bits; bits >= fewest_fraction_bits && !lines; --bits) lines = laid(above, below, bits);
    return lines;
  }

  [[nodiscard]] std::optional<ChannelLines> laid(const std::vector<Room>& above, const std::vector<Room>& below, int fraction_bits) const {
    ChannelLines lines;
    lines.fraction_bits = fraction_bits;
    lines.smallest = static_cast<std::int32_t>(steps_.smallest);
    lines.largest = static_cast<std::int32_t>(steps_.largest);
    const auto in_places = [&](float outputs) { return std::ldexp(outputs, fraction_bits); };  // exact
    for (std::size_t c = 0; c < channels_; ++c) {
      lines.slope.push_back(in_places(static_cast<float>(trends_[c].slope)));
      const double reach = std::abs(trends_[c].slope) * std::max(-static_cast<double>(sums_.min), static_cast<double>(sums_.max));
      for (auto [rooms, addends, expected] :
           {std::tuple(&above, &lines.above, trends_[c].above), std::tuple(&below, &lines.below, trends_[c].below)}) {
        const Room& room = (*rooms)[c];
        // Where nothing binds, half a sum beside the trend: on it, sums of a scale of a power of two would be ties.
        const auto addend = static_cast<float>(room.middle(expected + 0.5 + trends_[c].slope / 2));
        if (!room.holds(double{addend}, std::ldexp(0.5, -fraction_bits))) return std::nullopt;
        if (!(reach + std::abs(double{addend}) < std::ldexp(0x1p30, -fraction_bits)))
          return std::nullopt;  // places are integers of 32 bits
        addends->push_back(in_places(addend));
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
    : sums_(sums),
      trends_(output_trends(chain, operands, sums)),
      lines_(outputs_per_step * most_output_steps * static_cast<std::int64_t>(trends_.size())) {}

const ChannelLines* LineFinder::lines(std::int64_t outputs, const FinishRows& finish) const {
  if (trends_.empty()) return nullptr;
  return lines_.found(outputs, [&] {
    const auto steps = output_steps(trends_, sums_, finish);
    return steps ? Laying(trends_, sums_, *steps).lines() : std::nullopt;
  });
}

}  // namespace lastbit
