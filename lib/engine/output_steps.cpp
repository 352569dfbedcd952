// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/output_steps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lastbit {
namespace {

constexpr std::size_t places = 4;  // tried around where a trend has a step
constexpr std::size_t values_at_a_time = 1 << 13;

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

class Search {
 public:
  Search(std::span<const OutputTrend> trends, const IntegerRange& sums, const FinishRows& finish)
      : trends_(trends), sums_(sums), finish_(finish), channels_(trends.size()) {
    for (const OutputTrend& trend : trends) widths_.push_back(1 / trend.slope);
    found_.channels = channels_;
  }

  std::optional<OutputSteps> steps() {
    if (!find_ends()) return std::nullopt;
    found_.first.resize(static_cast<std::size_t>(found_.largest - found_.smallest) * channels_);
    const auto together = static_cast<std::int64_t>(std::max<std::size_t>(1, values_at_a_time / places / channels_));
    for (std::int64_t first = found_.smallest + 1; first <= found_.largest; first += together)
      if (!find_steps(first, std::min(first + together, found_.largest + 1))) return std::nullopt;
    return std::move(found_);
  }

 private:
  /// What the chain makes of values [rows, channels].
  [[nodiscard]] std::vector<std::int64_t> finished(std::vector<std::int64_t> values) const {
    finish_(values);
    return values;
  }

  bool find_ends() {
    std::vector<std::int64_t> ends(channels_, sums_.min);
    ends.insert(ends.end(), channels_, sums_.max);
    const std::vector<std::int64_t> outputs = finished(ends);
    const auto row = [&](std::size_t number) { return std::span(outputs).subspan(number * channels_, channels_); };
    found_.smallest = *std::ranges::min_element(row(0));
    found_.largest = *std::ranges::max_element(row(1));
    return found_.smallest >= -128 && found_.largest <= 255 && found_.largest - found_.smallest <= most_output_steps;
  }

  /// Where the first of the places stands at which the step to an output is looked for.
  [[nodiscard]] std::int64_t place_of(std::size_t c, std::int64_t output) const {
    const OutputTrend& trend = trends_[c];
    const double half_below = static_cast<double>(output) - 0.5;
    const double above = (half_below - trend.above) * widths_[c];
    const double at = above > 0 ? above : std::min(0.0, (half_below - trend.below) * widths_[c]);
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
        const bool before_all = tried[at] == sums_.min, behind_all = tried[at + (places - 1) * channels_] == sums_.max;
        if ((i == 0 && !before_all) || (i == places && !behind_all)) return false;
        found_.first[static_cast<std::size_t>(output - found_.smallest - 1) * channels_ + c] = tried[at] + static_cast<std::int64_t>(i);
      }
    }
    return true;
  }

  std::span<const OutputTrend> trends_;
  const IntegerRange& sums_;
  const FinishRows& finish_;
  std::size_t channels_;
  std::vector<double> widths_;  ///< from one output to the next, in sums
  OutputSteps found_;
};

std::optional<OutputTrend> output_trend(const Chain& chain, const RescaleOperands& operands, const IntegerRange& sums) {
  TrendMachine machine(operands, sums);
  for (const Stage& stage : chain)
    if (!run(stage, machine)) return std::nullopt;
  const OutputTrend trend{machine.slope(), machine.above(), machine.below()};
  const bool is_sound = trend.slope >= 0x1p-40 && std::isfinite(trend.slope) && std::isfinite(trend.above) && std::isfinite(trend.below);
  return is_sound ? std::optional(trend) : std::nullopt;
}

}  // namespace

std::vector<OutputTrend> output_trends(const Chain& chain, std::span<const RescaleOperands> operands, const IntegerRange& sums) {
  std::vector<OutputTrend> trends;
  if (sums.max - sums.min < static_cast<std::int64_t>(places)) return trends;
  for (const RescaleOperands& each : operands) {
    const std::optional<OutputTrend> trend = output_trend(chain, each, sums);
    if (!trend) return {};
    trends.push_back(*trend);
  }
  return trends;
}

std::int64_t OutputSteps::output(std::size_t channel, std::int64_t sum) const {
  std::int64_t reached = smallest, beyond = largest + 1;
  while (beyond - reached > 1) {
    const std::int64_t middle = reached + (beyond - reached) / 2;
    (first_of(channel, middle) <= sum ? reached : beyond) = middle;
  }
  return reached;
}

std::optional<OutputSteps> output_steps(std::span<const OutputTrend> trends, const IntegerRange& sums, const FinishRows& finish) {
  return Search(trends, sums, finish).steps();
}

}  // namespace lastbit
