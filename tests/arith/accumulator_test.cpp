// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/arith/accumulator.hpp"

#include <algorithm>
#include <vector>

#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr std::int64_t sum_of(const AccumulatorRule& rule, std::int64_t start, std::initializer_list<std::int64_t> terms) {
  Accumulator sum(rule, start);
  for (const std::int64_t term : terms) sum.add(term);
  return sum.result();
}

// What separates the rules: 127 + 1 - 1 in eight bits.
static_assert(sum_of({8, Overflow::wrap, NarrowingPoint::every_add}, 127, {1, -1}) == 127);
static_assert(sum_of({8, Overflow::saturate, NarrowingPoint::every_add}, 127, {1, -1}) == 126);
static_assert(sum_of({8, Overflow::saturate, NarrowingPoint::every_tile, 2}, 127, {1, -1}) == 127);
static_assert(sum_of({8, Overflow::saturate, NarrowingPoint::at_end}, 127, {1, 1, -1}) == 127);
static_assert(sum_of({8, Overflow::exact, NarrowingPoint::every_add}, 127, {1}) == 128);
static_assert(sum_of({8, Overflow::wrap, NarrowingPoint::at_end}, 127, {1}) == -128);
// A 64-bit accumulator wraps and saturates like any other.
static_assert(sum_of({64, Overflow::wrap, NarrowingPoint::every_add}, max_of_width(64), {1}) == min_of_width(64));
static_assert(sum_of({64, Overflow::saturate, NarrowingPoint::every_add}, max_of_width(64), {1, -1}) == max_of_width(64) - 1);
static_assert(sum_of({64, Overflow::saturate, NarrowingPoint::at_end}, min_of_width(64), {-5, 4}) == min_of_width(64));
static_assert(sum_of({8, Overflow::exact, NarrowingPoint::every_add}, max_of_width(64), {1, 1, -1}) == max_of_width(64));

constexpr int count_overflows(const AccumulatorRule& rule, std::initializer_list<std::int64_t> terms) {
  Accumulator sum(rule, 0);
  for (const std::int64_t term : terms) sum.add(term);
  static_cast<void>(sum.result());
  return static_cast<int>(sum.overflow_count());
}
static_assert(count_overflows({8, Overflow::saturate, NarrowingPoint::every_add}, {127, 1, 1, -1}) == 2);
static_assert(count_overflows({8, Overflow::saturate, NarrowingPoint::at_end}, {127, 1, 1}) == 1);
static_assert(count_overflows({8, Overflow::wrap, NarrowingPoint::every_add}, {127, 1, -1}) == 2);  // leaves upwards, then downwards

/// The contract as a plain loop over positions.
Int128 accumulator_oracle(const AccumulatorRule& rule, Int128 start, const std::vector<std::int64_t>& terms) {
  const std::size_t period = rule.when == NarrowingPoint::every_add    ? 1
                             : rule.when == NarrowingPoint::every_tile ? rule.tile(1)
                                                                       : terms.size() + 1;
  Int128 sum = rule.when == NarrowingPoint::at_end ? start : narrowed(start, rule.bits, rule.overflow);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    sum += terms[i];
    if ((i + 1) % period == 0) sum = narrowed(sum, rule.bits, rule.overflow);
  }
  return saturated(narrowed(sum, rule.bits, rule.overflow), 64);
}

std::vector<AccumulatorRule> rules_of_width(int bits) {
  std::vector<AccumulatorRule> rules;
  for (const Overflow overflow : all_overflows) {
    const auto width = static_cast<std::uint8_t>(bits);
    rules.push_back({width, overflow, NarrowingPoint::every_add});
    rules.push_back({width, overflow, NarrowingPoint::at_end});
    for (const std::uint32_t tile : {1U, 2U, 3U, 8U}) rules.push_back({width, overflow, NarrowingPoint::every_tile, tile});
  }
  return rules;
}

/// Terms that walk along the ends of the width: steps to the end, one beyond, back, and far beyond where products of 16 bits reach.
std::vector<std::int64_t> boundary_terms(int bits, std::mt19937_64& random) {
  const std::int64_t reach = std::min(max_of_width(bits), max_of_width(31));
  std::vector<std::int64_t> terms;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t steps[] = {reach, -reach, 1, -1, reach - 1, -reach - 1, static_cast<std::int64_t>(random() % 7) - 3};
    terms.push_back(steps[random() % std::size(steps)]);
  }
  return terms;
}

TEST_CASE("every rule at every width against the plain sum, along both ends of the width") {
  std::mt19937_64 random(8);
  Tally tally;
  for (int bits = 2; bits <= 64; ++bits) {
    for (const AccumulatorRule& rule : rules_of_width(bits)) {
      for (int round = 0; round < 20; ++round) {
        const std::int64_t starts[] = {0, 1, max_of_width(bits), min_of_width(bits)};
        const std::int64_t start = starts[random() % 4];
        const auto terms = boundary_terms(bits, random);
        Accumulator sum(rule, start);
        for (const std::int64_t term : terms) sum.add(term);
        tally.equal(sum.result(), accumulator_oracle(rule, start, terms), bits, rule.overflow, rule.when, rule.tile(1), start);
      }
    }
  }
  tally.check(63 * 18 * 20);
}

TEST_CASE("where is_order_independent says so, the order and the points of narrowing do not matter; elsewhere they do") {
  std::mt19937_64 random(9);
  int dependent_differences = 0;
  Tally tally;
  for (const AccumulatorRule& rule : rules_of_width(8)) {
    for (int round = 0; round < 50; ++round) {
      auto terms = boundary_terms(8, random);
      const Int128 in_order = accumulator_oracle(rule, 3, terms);
      std::shuffle(terms.begin(), terms.end(), random);
      Accumulator shuffled(rule, 3);
      for (const std::int64_t term : terms) shuffled.add(term);
      if (is_order_independent(rule)) tally.equal(shuffled.result(), in_order, rule.overflow, rule.when, rule.tile(1));
      else dependent_differences += static_cast<int>(shuffled.result() != in_order);
    }
  }
  tally.check();
  CHECK(dependent_differences > 0);
}

}  // namespace
}  // namespace lastbit
