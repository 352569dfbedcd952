// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Partial sums and tiles by group, against the contract read position by position: every term knows by itself which partial sum it is in.
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "lastbit/arith/accumulator.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr AccumulatorRule in_pairs{.bits = 32,
                                   .overflow = Overflow::saturate,
                                   .when = NarrowingPoint::at_end,
                                   .partial = {.method = PartialMethod::consecutive_terms, .terms = 2}};
constexpr std::int64_t square = std::int64_t{32768} * 32768;

constexpr std::int64_t sum_of(const AccumulatorRule& rule, std::int64_t start, std::initializer_list<std::int64_t> run) {
  Accumulator sum(rule, start);
  sum.begin_run(static_cast<std::int64_t>(run.size()));
  for (const std::int64_t term : run) sum.add(term);
  return sum.result();
}
// 2^30 + 2^30 is -2^31 in 32 bits; one half of it is not.
static_assert(sum_of(in_pairs, 0, {square, square}) == min_of_width(32));
static_assert(sum_of(in_pairs, 0, {0, square, square, 0}) == max_of_width(32));
static_assert(sum_of(in_pairs, -1, {square}) == square - 1);
static_assert(!is_order_independent(in_pairs));

// 255*127 + 255*127 of codes leaves 16 bits, though what is left without the zero point would not.
constexpr AccumulatorRule of_codes{
    .bits = 32,
    .overflow = Overflow::wrap,
    .when = NarrowingPoint::at_end,
    .partial = {.method = PartialMethod::consecutive_codes, .terms = 2, .bits = 16, .overflow = Overflow::saturate}};
static_assert([] {
  Accumulator sum(of_codes, 0);
  sum.begin_run(2);
  for (int i = 0; i < 2; ++i) sum.add(std::int64_t{255 - 200} * 127, std::int64_t{200} * 127);
  return sum.result();
}() == 32767 - 2 * 200 * 127);

/// Which partial sum a term belongs to; terms of equal keys are added first. No key: added by itself. Dropped terms have no place at all.
struct Key {
  std::size_t tile, run, block;
  friend bool operator<(const Key& a, const Key& b) { return std::tie(a.tile, a.run, a.block) < std::tie(b.tile, b.run, b.block); }
};

struct Expected {
  Int128 value = 0;
  std::int64_t overflows = 0;
};

/// A tile's exact terms and its partial sums, then the narrowing; a block of a run is counted from the start of the run, or of the tile.
Expected oracle(const AccumulatorRule& rule, std::size_t group, std::int64_t multiplier, Int128 start,
                const std::vector<std::vector<std::int64_t>>& runs) {
  const std::size_t tile = rule.when == NarrowingPoint::every_tile ? rule.tile(group) : std::size_t{1} << 40;
  const std::size_t terms = rule.partial.terms(group), vector = rule.partial.vector;
  std::map<Key, Int128> blocks;
  std::map<std::size_t, Int128> tiles;
  std::size_t overall = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const std::size_t first = overall, length = runs[r].size(), whole = vector == 0 ? length : length / vector * vector;
    for (std::size_t i = 0; i < length; ++i, ++overall) {
      const std::size_t in_tile = overall / tile, begin = std::max(first, in_tile * tile);
      tiles[in_tile] += 0;
      if (i < whole) blocks[{in_tile, r, (overall - begin) / terms}] += runs[r][i];
      else if (rule.partial.tail == PartialTail::one_sum) blocks[{in_tile, r, std::size_t{1} << 50}] += runs[r][i];
      else if (rule.partial.tail == PartialTail::exact) tiles[in_tile] += Int128{runs[r][i]} * multiplier;
    }
  }
  for (const auto& [key, sum] : blocks) tiles[key.tile] += wrapped(sum, 32) * multiplier;
  Expected expected{start, 0};
  for (const auto& [index, sum] : tiles) {
    expected.value += sum;
    const Int128 narrow = saturated(expected.value, rule.bits);
    expected.overflows += static_cast<std::int64_t>(narrow != expected.value);
    expected.value = narrow;
  }
  return expected;
}

std::vector<std::vector<std::int64_t>> random_runs(std::mt19937_64& random) {
  std::vector<std::vector<std::int64_t>> runs(1 + random() % 3);
  for (auto& run : runs) {
    run.resize(random() % 40);
    for (std::int64_t& term : run) {
      const std::int64_t ends[] = {square, -square, square - 1, 0, static_cast<std::int64_t>(random() % 1000) - 500};
      term = ends[random() % 5];
    }
  }
  return runs;
}

TEST_CASE("partial sums: runs, blocks, tails and tiles of every group") {
  std::mt19937_64 random(41);
  Tally tally;
  for (int round = 0; round < 20000; ++round) {
    AccumulatorRule rule = in_pairs;
    rule.when = random() % 2 == 0 ? NarrowingPoint::every_tile : NarrowingPoint::at_end;
    for (std::size_t i = 0; i < largest_group; ++i) {
      rule.tile.terms[i] = static_cast<std::uint32_t>(1 + random() % 20);
      rule.partial.terms.terms[i] = static_cast<std::uint32_t>(1 + random() % 9);
    }
    const std::uint8_t vectors[] = {0, 4, 8, 16};
    rule.partial.vector = vectors[random() % 4];
    rule.partial.tail = static_cast<PartialTail>(random() % 3);
    const std::size_t group = 1 + random() % largest_group;
    const auto multiplier = static_cast<std::int64_t>(random() % 256);
    const auto start = narrow_wrap(static_cast<std::int64_t>(random()), 32);
    const auto runs = random_runs(random);
    Accumulator sum(rule, start, group, multiplier);
    for (const auto& run : runs) {
      sum.begin_run(static_cast<std::int64_t>(run.size()));
      for (const std::int64_t term : run) sum.add(term);
    }
    const Expected expected = oracle(rule, group, multiplier, start, runs);
    tally.equal(sum.result(), expected.value, round, group, multiplier, rule.partial.vector, rule.partial.tail, rule.when);
    tally.equal(sum.overflow_count(), expected.overflows, round, group);
  }
  tally.check(40000);
}

/// A code, a weight and their place: segments of `emptied` terms, in them blocks of `terms`.
struct Product {
  std::int64_t code, weight;
};
Int128 sum_of_codes(const PartialSums& partial, std::int64_t zero_point, const std::vector<std::vector<Product>>& runs) {
  const auto narrowed = [&](Int128 v) {
    return partial.overflow == Overflow::wrap ? wrapped(v, partial.bits) : saturated(v, partial.bits);
  };
  const std::size_t terms = partial.terms(1);
  Int128 total = 0;
  for (const auto& run : runs) {
    const std::size_t segment = partial.emptied == 0 ? run.size() : partial.emptied;
    for (std::size_t first = 0; first < run.size(); first += segment) {
      Int128 second = 0;
      for (std::size_t block = first; block < std::min(first + segment, run.size()); block += terms) {
        Int128 sum = 0;
        for (std::size_t i = block; i < std::min({block + terms, first + segment, run.size()}); ++i) sum += run[i].code * run[i].weight;
        second = partial.emptied == 0 ? second + narrowed(sum) : narrowed(second + narrowed(sum));
      }
      total += second;
    }
    for (const Product& one : run) total -= zero_point * one.weight;
  }
  return total;
}

TEST_CASE("partial sums of codes: narrow, in a second sum that is emptied, and exact in what the zero point takes off") {
  std::mt19937_64 random(43);
  Tally tally;
  std::size_t narrowed = 0;
  for (int round = 0; round < 20000; ++round) {
    AccumulatorRule rule = of_codes;
    rule.partial.terms = static_cast<std::uint32_t>(1 + random() % 5);
    rule.partial.bits = static_cast<std::uint8_t>(14 + random() % 6);
    rule.partial.overflow = random() % 2 == 0 ? Overflow::wrap : Overflow::saturate;
    rule.partial.emptied = static_cast<std::uint16_t>(random() % 2 == 0 ? 0 : 1 + random() % 12);
    const auto zero_point = static_cast<std::int64_t>(random() % 256);
    std::vector<std::vector<Product>> runs(1 + random() % 3);
    std::int64_t exact = 0;
    Accumulator sum(rule, 0);
    for (auto& run : runs) {
      run.resize(random() % 30);
      sum.begin_run(static_cast<std::int64_t>(run.size()));
      for (Product& one : run) {
        one = {static_cast<std::int64_t>(random() % 256), static_cast<std::int64_t>(random() % 256) - 128};
        sum.add((one.code - zero_point) * one.weight, zero_point * one.weight);
        exact += (one.code - zero_point) * one.weight;
      }
    }
    const std::int64_t result = sum.result();
    tally.equal(result, sum_of_codes(rule.partial, zero_point, runs), round, rule.partial.terms(1), rule.partial.emptied);
    narrowed += result != exact ? 1 : 0;
  }
  tally.check(20000);
  CHECK(narrowed > 5000);
}

}  // namespace
}  // namespace lastbit
