// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/staircase.hpp"

#include <algorithm>

#include "analysis/staircase/pieces.hpp"
#include "analysis/staircase/sliding_extremes.hpp"

namespace lastbit {
namespace {

class Climber {
 public:
  Climber(const Chain& chain, const RescaleOperands& operands) : chain_(chain), operands_(operands) {}

  /// False where there are too many steps.
  [[nodiscard]] bool climb(const IntegerRange& piece) {
    StaircaseStep at{piece.min, output_of(piece.min)};
    const StaircaseStep last{piece.max, output_of(piece.max)};
    add(at);
    width_ = std::max<std::int64_t>(1, width_);
    while (at.output != last.output) {
      at = next(at, last);
      add(at);
      if (static_cast<std::int64_t>(steps.size()) > most_staircase_steps) return false;
    }
    return true;
  }

  std::vector<StaircaseStep> steps;

 private:
  [[nodiscard]] std::int64_t output_of(std::int64_t accumulator) const { return finish(chain_, accumulator, operands_); }

  void add(const StaircaseStep& step) {
    if (steps.empty() || steps.back().output != step.output) steps.push_back(step);
  }

  /// The step behind the one that begins with `begin`: of the first accumulator with another output; `other`, the piece's last one, has another.
  /// Steps are about as wide as the one before.
  [[nodiscard]] StaircaseStep next(const StaircaseStep& begin, StaircaseStep other) {
    std::int64_t same = begin.first;
    const auto take = [&](std::int64_t at) {
      const std::int64_t output = output_of(at);
      if (output == begin.output) same = at;
      else other = {at, output};
      return output == begin.output;
    };
    if (width_ < other.first - same) {
      const bool rises = take(same + width_);
      for (std::int64_t stride = 1; other.first - same > stride; stride *= 2) {
        if (take(rises ? same + stride : other.first - stride) != rises) break;
      }
    }
    while (other.first - same > 1) take(same + (other.first - same) / 2);
    width_ = other.first - begin.first;
    return other;
  }

  const Chain& chain_;
  const RescaleOperands& operands_;
  std::int64_t width_ = 1;
};

/// The last accumulator of a step.
std::int64_t last_of(const Staircase& one, std::size_t step) {
  return step + 1 < one.steps.size() ? one.steps[step + 1].first - 1 : one.accumulators.max;
}

}  // namespace

std::int64_t Staircase::output(std::int64_t accumulator) const {
  const auto above = std::ranges::upper_bound(steps, accumulator, {}, &StaircaseStep::first);
  return std::prev(above)->output;
}

std::optional<Staircase> staircase(const Chain& chain, const RescaleOperands& operands, const IntegerRange& accumulators) {
  if (!fits_width(accumulators.min, 62) || !fits_width(accumulators.max, 62)) return std::nullopt;
  const auto pieces = monotone_pieces(chain, operands, accumulators, static_cast<std::size_t>(most_staircase_steps));
  if (!pieces) return std::nullopt;
  Climber climber(chain, operands);
  for (const IntegerRange& piece : *pieces) {
    if (!climber.climb(piece)) return std::nullopt;
  }
  return Staircase{accumulators, std::move(climber.steps)};
}

StaircaseDifference difference(const Staircase& a, const Staircase& b) {
  StaircaseDifference found;
  found.accumulators = a.accumulators.max - a.accumulators.min + 1;
  std::size_t of_a = 0, of_b = 0;
  for (std::int64_t at = a.accumulators.min; at <= a.accumulators.max;) {
    const std::int64_t end = std::min(last_of(a, of_a), last_of(b, of_b)) + 1;
    const std::int64_t apart = a.steps[of_a].output - b.steps[of_b].output;
    if (apart != 0) {
      found.differing += end - at;
      found.largest = std::max(found.largest, apart < 0 ? -apart : apart);
      if (!found.where.empty() && found.where.back().max == at - 1) found.where.back().max = end - 1;
      else found.where.push_back({at, end - 1});
    }
    of_a += end > last_of(a, of_a) ? 1U : 0U;
    of_b += end > last_of(b, of_b) ? 1U : 0U;
    at = end;
  }
  return found;
}

std::int64_t largest_difference(const Staircase& a, const Staircase& b, std::int64_t apart) {
  const std::int64_t reach = std::min(apart, a.accumulators.max - a.accumulators.min);
  std::int64_t largest = 0;
  SlidingExtremes window;  // of b's steps, each at its last accumulator
  std::size_t next = 0;
  for (std::size_t step = 0; step < a.steps.size(); ++step) {
    const std::int64_t first = a.steps[step].first - reach, last = last_of(a, step) + reach;
    for (; next < b.steps.size() && b.steps[next].first <= last; ++next)
      window.push(last_of(b, next), {b.steps[next].output, b.steps[next].output});
    window.drop_before(std::max(first, b.accumulators.min));
    const IntegerRange others = window.range();
    largest = std::max({largest, a.steps[step].output - others.min, others.max - a.steps[step].output});
  }
  return largest;
}

}  // namespace lastbit
