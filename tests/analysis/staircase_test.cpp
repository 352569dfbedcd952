// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Staircases against finish() on every accumulator of an interval, for random chains of every stage and rounding.
#include "lastbit/staircase.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

#include "analysis/staircase/pieces.hpp"
#include "engine/finisher.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/encodings.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using test::Tally;

constexpr std::size_t roundings = names_of(Rounding{}).size();

std::int64_t between(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

std::uint8_t bits_between(std::mt19937_64& random, int low, int high) { return static_cast<std::uint8_t>(between(random, low, high)); }

Stage random_stage(StageKind kind, std::mt19937_64& random) {
  const StageFacts& facts = stage_facts[static_cast<std::size_t>(kind)];
  Stage stage{.kind = kind,
              .rounding = static_cast<Rounding>(random() % roundings),
              .overflow = static_cast<Overflow>(random() % 3),
              .bits = bits_between(random, std::max(facts.least_bits, 6), facts.most_bits),
              .amount = static_cast<ShiftAmount>(random() % names_of(ShiftAmount{}).size()),
              .constant = bits_between(random, 0, 12),
              .limit = bits_between(random, 0, 31),
              .arithmetic = static_cast<ProductArithmetic>(random() % 2),
              .step = static_cast<RoundingStep>(random() % 2)};
  return stage;
}

/// Operands with a table and a piecewise-linear function, which live as long as this.
struct RandomLayer {
  Chain chain;
  std::vector<std::int32_t> table;
  std::vector<PwlSegment> segments;
  RescaleOperands operands;
};

void fill_functions(RandomLayer& layer, std::mt19937_64& random) {
  layer.table.resize(static_cast<std::size_t>(between(random, 1, 300)));
  for (std::int32_t& entry : layer.table) entry = static_cast<std::int32_t>(between(random, -200, 200));
  std::int32_t base = static_cast<std::int32_t>(between(random, -60000, 0));
  for (std::int64_t i = between(random, 0, 12); i > 0; --i) {
    layer.segments.push_back(pwl_segment(base, static_cast<std::int16_t>(between(random, -20000, 20000)),
                                         static_cast<std::int16_t>(between(random, -3000, 3000))));
    base += static_cast<std::int32_t>(between(random, 1, 20000));
  }
  layer.operands.table = {between(random, -200, 0), layer.table};
  layer.operands.pwl = layer.segments;
}

/// Any stages in any order, as a file could state them; `must` among them.
RandomLayer random_layer(StageKind must, std::mt19937_64& random) {
  RandomLayer layer;
  const std::int64_t before = between(random, 0, 3), behind = between(random, 0, 2);
  for (std::int64_t i = 0; i < before; ++i) layer.chain.append(random_stage(static_cast<StageKind>(random() % stage_kinds), random));
  layer.chain.append(random_stage(must, random));
  for (std::int64_t i = 0; i < behind; ++i) layer.chain.append(random_stage(static_cast<StageKind>(random() % stage_kinds), random));
  const int bits = random() % 3 == 0 ? 16 : 8;
  if (random() % 4 != 0) layer.chain.append({.kind = StageKind::clamp});
  const double scale = std::ldexp(1.0 + static_cast<double>(random() % 4096) / 4096, static_cast<int>(between(random, -14, 1)));
  layer.operands = {
      .scale = encode(test::q31, scale),
      .zero_point = between(random, min_of_width(bits), max_of_width(bits)),
      .min = min_of_width(bits),
      .max = max_of_width(bits),
      .rectifier = static_cast<Rectifier>(random() % 3),
      .data_bits = random() % 2 == 0 ? 8 : 32,
      .output_bits = bits,
      .clip = random() % 2 == 0 ? no_clip : between(random, 0, 100000),
      .storage_min = min_of_width(bits),
      .storage_max = max_of_width(bits),
      .count = between(random, 1, 60),
      .offset = between(random, -100000, 100000),
      .converter = {between(random, -100000, 100000), between(random, -32768, 32767), static_cast<int>(between(random, 0, 20))}};
  if (random() % 2 == 0) layer.operands.below_zero = {0, between(random, -32768, 32767), static_cast<int>(between(random, 0, 20))};
  if (random() % 8 == 0) layer.operands.scale.multiplier = -layer.operands.scale.multiplier;  // as a register may hold it
  fill_functions(layer, random);
  return layer;
}

IntegerRange random_interval(std::mt19937_64& random) {
  const std::int64_t first = between(random, -60000, 60000);
  return {first, first + between(random, 0, 20000)};
}

/// Every accumulator, and that the staircase is canonical.
void check_every(const RandomLayer& layer, const Staircase& found, Tally& tally) {
  const IntegerRange& range = found.accumulators;
  REQUIRE(found.steps.front().first == range.min);
  std::size_t step = 0;
  for (std::int64_t at = range.min; at <= range.max; ++at) {
    if (step + 1 < found.steps.size() && found.steps[step + 1].first == at) {
      ++step;
      tally.equal(found.steps[step].output != found.steps[step - 1].output, true, at);
    }
    tally.equal(found.steps[step].output, finish(layer.chain, at, layer.operands), at, static_cast<int>(layer.chain.begin()->kind),
                static_cast<int>(layer.chain.size));
  }
  tally.equal(step, found.steps.size() - 1);
}

/// Every accumulator of a wide interval, by the code that runs networks; how many there were.
std::int64_t check_wide(const RandomLayer& layer, const IntegerRange& range, Tally& tally) {
  const auto found = staircase(layer.chain, layer.operands, range);
  if (!found) return 0;
  const Finisher finisher(layer.chain, {layer.operands}, FinisherInput{range.min, range.max, 0});
  std::vector<std::int64_t> values(std::size_t{1} << 16);
  std::size_t step = 0;
  for (std::int64_t first = range.min; first <= range.max; first += static_cast<std::int64_t>(values.size())) {
    values.resize(static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(values.size()), range.max - first + 1)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<std::int64_t>(i);
    finisher(values);
    for (std::size_t i = 0; i < values.size();) {
      const std::int64_t at = first + static_cast<std::int64_t>(i);
      while (step + 1 < found->steps.size() && found->steps[step + 1].first <= at) ++step;
      const std::int64_t next = step + 1 < found->steps.size() ? found->steps[step + 1].first : range.max + 1;
      const auto end = static_cast<std::size_t>(std::min<std::int64_t>(next - first, static_cast<std::int64_t>(values.size())));
      const bool same =
          std::all_of(values.data() + i, values.data() + end, [&](std::int64_t value) { return value == found->steps[step].output; });
      tally.equal(same, true, at, static_cast<int>(layer.chain.begin()->kind), static_cast<int>(layer.chain.size));
      i = end;
    }
  }
  return range.max - range.min + 1;
}

}  // namespace

TEST_CASE("wide intervals, by the code that runs networks", "[.wide]") {
  const char* const asked = std::getenv("LASTBIT_ACCUMULATORS");
  const std::int64_t wanted = asked != nullptr ? std::atoll(asked) : 100'000'000;
  std::mt19937_64 random(20261125);
  Tally tally;
  std::int64_t accumulators = 0, layers = 0;
  for (std::size_t kind = 0; accumulators < wanted; kind = (kind + 1) % stage_kinds, ++layers) {
    const RandomLayer layer = random_layer(static_cast<StageKind>(kind), random);
    const std::int64_t first = between(random, -(std::int64_t{1} << 26), std::int64_t{1} << 26);
    accumulators += check_wide(layer, {first, first + between(random, 0, std::int64_t{1} << 21)}, tally);
  }
  std::cout << accumulators << " accumulators of " << layers << " chains\n";
  tally.check();
}

TEST_CASE("a staircase says what the chain computes on every accumulator, whatever its stages") {
  std::mt19937_64 random(20261124);
  Tally tally;
  std::int64_t left_out = 0, split = 0;
  for (std::size_t kind = 0; kind < stage_kinds; ++kind) {
    for (int i = 0; i < 40; ++i) {
      const RandomLayer layer = random_layer(static_cast<StageKind>(kind), random);
      const IntegerRange range = random_interval(random);
      const auto found = staircase(layer.chain, layer.operands, range);
      const auto pieces = monotone_pieces(layer.chain, layer.operands, range, std::size_t{1} << 17);
      split += pieces && pieces->size() > 1 ? 1 : 0;
      left_out += found ? 0 : 1;
      if (found) check_every(layer, *found, tally);
    }
  }
  CHECK(left_out < 20);
  CHECK(split > 50);
  tally.check(5'000'000);
}

}  // namespace lastbit
