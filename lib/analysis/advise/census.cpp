// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/advise/every_input.hpp"
#include "analysis/unrounded.hpp"
#include "engine/parallel.hpp"
#include "lastbit/advise.hpp"

namespace lastbit {
namespace {

/// Rules that go to the nearest integer step half-way between two; the others step on integers.
bool steps_half_way(Rounding rounding) {
  using enum Rounding;
  return rounding != floor && rounding != ceil && rounding != toward_zero && rounding != to_odd;
}

/// value / divisor, rounded down. Most divisors are powers of two, by which a shift divides in a tenth of the time.
Int128 floor_divided(Int128 value, Int128 divisor) {
  if ((divisor & (divisor - 1)) != 0) return divide(value, divisor, Rounding::floor);
  const auto low = static_cast<std::uint64_t>(divisor), high = static_cast<std::uint64_t>(divisor >> 64);
  return value >> (low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(high));
}

/// How many steps of the rule lie below, counted twice so that a value on a step is odd and one between two steps is even.
Int128 position(const Unrounded& at, Rounding rounding) {
  if (at.is_real) {
    const double from_step = at.real - (steps_half_way(rounding) ? 0.5 : 0.0), below = std::floor(from_step);
    return 2 * static_cast<Int128>(below) + (from_step == below ? 1 : 2);
  }
  const Int128 from_step = 2 * at.value - (steps_half_way(rounding) ? at.unit : 0), below = floor_divided(from_step, 2 * at.unit);
  return 2 * below + (below * 2 * at.unit == from_step ? 1 : 2);
}

/// Knows whether a stage rounds, if only by no place.
class AskedToRound : public ExactMachine {
 public:
  using ExactMachine::ExactMachine;
  [[nodiscard]] bool is_asked() const { return is_asked_; }

  bool shift_right(auto&& amount, Rounding rounding) {
    is_asked_ = true;
    return ExactMachine::shift_right(amount, rounding);
  }
  bool divide(auto&& divisor, Rounding rounding) {
    is_asked_ = true;
    return ExactMachine::divide(divisor, rounding);
  }
  bool scale_in_float(auto&& real, Rounding rounding) {
    is_asked_ = true;
    return ExactMachine::scale_in_float(real, rounding);
  }

 private:
  bool is_asked_ = false;
};

/// The chain up to its last stage that rounds.
Chain up_to_last_rounding(Chain chain, const RescaleOperands& operands) {
  const auto rounds = [&](const Stage& stage) {
    AskedToRound machine({}, operands);
    run(stage, machine);
    return machine.is_asked();
  };
  while (!chain.empty() && !rounds(chain.stages[chain.size - 1U])) --chain.size;
  return chain;
}

/// The last stage that rounds, and what it rounds there.
struct LastRounding {
  std::size_t stage = 0;
  Int128 position = 0;
};
std::optional<LastRounding> last_rounding(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands) {
  std::optional<Unrounded> last;
  std::size_t stage = 0;
  RoundingMachine machine({accumulator, 0}, operands);
  for (std::size_t i = 0; i < chain.size; ++i) {
    run(chain.stages[i], machine);
    if (const auto value = machine.take_unrounded()) last = value, stage = i;
  }
  if (!last) return std::nullopt;
  return LastRounding{stage, position(*last, chain.stages[stage].rounding)};
}

/// With a multiplier one step larger or smaller, as the multiply stage of the chain holds it.
RescaleOperands stepped(const Chain& chain, RescaleOperands operands, int step) {
  EncodedScale& scale = operands.scale;
  for (const Stage& stage : chain) {
    if (scale_of(stage) == ScaleUse::in_float) {
      scale.real_f32 = std::nextafter(scale.real_f32, step < 0 ? 0.0F : std::numeric_limits<float>::max());
      scale.real_f64 = stage.arithmetic == ProductArithmetic::f32 ? static_cast<double>(scale.real_f32)
                                                                  : std::nextafter(scale.real_f64, step < 0 ? 0.0 : 1e300);
    }
    const int dropped = stage.kind == StageKind::multiply && stage.bits > 0 ? std::max(0, scale.significant_bits - stage.bits) : 0;
    if (dropped > 0) step *= 1 << std::min(dropped, 30);
  }
  scale.multiplier = std::max<std::int64_t>(0, scale.multiplier + step);
  return operands;
}

/// tie_place() of a chain for one accumulator after the other.
class TieFinder {
 public:
  TieFinder(const Chain& chain, const RescaleOperands& operands)
      : chain_(up_to_last_rounding(chain, operands)),
        operands_(operands),
        smaller_(stepped(chain, operands, -1)),
        larger_(stepped(chain, operands, 1)) {}

  [[nodiscard]] std::optional<TiePlace> operator()(std::int64_t accumulator) const {
    const auto at = last_rounding(chain_, accumulator, operands_);
    if (!at) return std::nullopt;
    if (at->position % 2 != 0) return TiePlace::on;
    for (const RescaleOperands* const operands : {&smaller_, &larger_}) {
      const auto beside = last_rounding(chain_, accumulator, *operands);
      if (beside && beside->stage == at->stage && beside->position != at->position) return TiePlace::near;
    }
    return TiePlace::clear;
  }

 private:
  const Chain chain_;
  const RescaleOperands& operands_;
  const RescaleOperands smaller_, larger_;
};

void count(TieCount& ties, TiePlace place) {
  ties.on += place == TiePlace::on ? 1 : 0;
  ties.near += place != TiePlace::clear ? 1 : 0;
}

/// One case.
void count(TieCensus& census, TiePlace on_a, TiePlace on_b, bool differs) {
  const TiePlace either = std::max(on_a, on_b);
  count(census.a, on_a);
  count(census.b, on_b);
  count(census.either, either);
  if (differs) count(census.differing_at, either);
}

void add(TieCount& all, const TieCount& more) {
  all.on += more.on;
  all.near += more.near;
}

/// Accumulators beside the steps that stand on a tie or near one, `apart` less than the chain has them. On each side of a step they follow one another,
/// since the value goes away from where the rule steps.
std::map<std::int64_t, TiePlace> ties_of(const Chain& chain, const RescaleOperands& operands, const Staircase& stairs, std::int64_t apart) {
  std::map<std::int64_t, TiePlace> found;
  const TieFinder place_of(chain, operands);
  const auto follow = [&](std::int64_t at, std::int64_t step) {
    for (; at >= stairs.accumulators.min && at <= stairs.accumulators.max && !found.contains(at); at += step) {
      const TiePlace place = place_of(at + apart).value_or(TiePlace::clear);
      if (place == TiePlace::clear) return;
      found.emplace(at, place);
    }
  };
  for (std::size_t step = 1; step < stairs.steps.size(); ++step) {
    follow(stairs.steps[step].first - 1, -1);
    follow(stairs.steps[step].first, 1);
  }
  return found;
}

std::optional<TieCensus> census_of(const SharedSums& sums, const SharedSums::Column& column) {
  const auto both = staircases(sums, column);
  if (!both) return std::nullopt;
  const Staircase &a = (*both)[0], &b = (*both)[1];
  TieCensus census;
  census.cases = a.accumulators.max - a.accumulators.min + 1;
  census.differing = difference(a, b).differing;
  const std::int64_t apart = column.accumulators_b.value_or(column.accumulators).min - column.accumulators.min;
  const auto on_a = ties_of(sums.a, column.a, a, 0);
  auto on_b = ties_of(sums.b, column.b, b, apart);
  const auto differs = [&](std::int64_t accumulator) { return a.output(accumulator) != b.output(accumulator); };
  for (const auto& [accumulator, place] : on_a) {
    const auto same = on_b.extract(accumulator);
    count(census, place, same ? same.mapped() : TiePlace::clear, differs(accumulator));
  }
  for (const auto& [accumulator, place] : on_b) count(census, TiePlace::clear, place, differs(accumulator));
  return census;
}

std::optional<TieCensus> census_of(const SharedSums& sums) {
  if (!sums.open.empty() || (sums.a.empty() && sums.b.empty())) return std::nullopt;
  std::vector<std::optional<TieCensus>> columns(sums.columns.size());
  for_each_part(std::ssize(columns), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto c = static_cast<std::size_t>(first); c < static_cast<std::size_t>(last); ++c) columns[c] = census_of(sums, sums.columns[c]);
  });
  TieCensus all;
  for (const std::optional<TieCensus>& one : columns) {
    if (!one) return std::nullopt;
    all.cases += one->cases;
    all.differing += one->differing;
    for (TieCount TieCensus::*const counted : {&TieCensus::a, &TieCensus::b, &TieCensus::either, &TieCensus::differing_at})
      add(all.*counted, (*one).*counted);
  }
  return all;
}

std::optional<TieCensus> census_of(const EveryCode& cases) {
  if (!cases.open.empty() || !cases.last_a || !cases.last_b) return std::nullopt;
  TieCensus census;
  census.cases = std::ssize(cases.a);
  for (std::size_t i = 0; i < cases.a.size(); ++i) {
    const auto place = [&](const LastChain& last) { return tie_place(last.chain, last.sums[i], last.at(i)).value_or(TiePlace::clear); };
    census.differing += cases.a[i] != cases.b[i] ? 1 : 0;
    count(census, place(*cases.last_a), place(*cases.last_b), cases.a[i] != cases.b[i]);
  }
  return census;
}

std::optional<TieCensus> census_of(const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
  if (!is_on_codes(layer)) return std::nullopt;
  if (sums) return census_of(*sums);
  const std::optional<EveryCode> cases = compare_every_code(layer, CodeRoute::definition);
  return cases ? census_of(*cases) : std::nullopt;
}

}  // namespace

std::optional<TiePlace> tie_place(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands) {
  return TieFinder(chain, operands)(accumulator);
}

std::vector<std::optional<TieCensus>> tie_census(const Model& model, const Device& a, const Device& b, int threads) {
  std::vector<std::optional<TieCensus>> found;
  const SpecSheet b_and_a = with_fallback(b, a);
  const CertifyOptions every_layer;
  with_threads(threads, [&] {
    Certifier(model, a, b_and_a, {}, every_layer).each([&](const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
      found.push_back(census_of(layer, sums));
    });
  });
  return found;
}

}  // namespace lastbit
