// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rounding away from the 16-bit values of tests/exhaustive: long shifts, ties of wide values, extremes, exact wide products.
#include "lastbit/arith/rounding.hpp"

#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

struct NamedCase {
  Rounding rule;
  std::array<int, 9> halves;  ///< results for -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2
};

// One row per rule: what the name promises.
constexpr NamedCase named_cases[] = {
    {Rounding::floor, {-2, -2, -1, -1, 0, 0, 1, 1, 2}},           {Rounding::ceil, {-2, -1, -1, 0, 0, 1, 1, 2, 2}},
    {Rounding::toward_zero, {-2, -1, -1, 0, 0, 0, 1, 1, 2}},      {Rounding::half_up, {-2, -1, -1, 0, 0, 1, 1, 2, 2}},
    {Rounding::half_down, {-2, -2, -1, -1, 0, 0, 1, 1, 2}},       {Rounding::half_away, {-2, -2, -1, -1, 0, 1, 1, 2, 2}},
    {Rounding::half_toward_zero, {-2, -1, -1, 0, 0, 0, 1, 1, 2}}, {Rounding::half_even, {-2, -2, -1, 0, 0, 0, 1, 2, 2}},
    {Rounding::to_odd, {-2, -1, -1, -1, 0, 1, 1, 1, 2}},
};

constexpr bool all_named_cases_hold() {
  for (const NamedCase& row : named_cases) {
    for (int i = 0; i < 9; ++i) {
      const int expected = row.halves[static_cast<std::size_t>(i)];
      if (shift_right(i - 4, 1, row.rule) != expected || divide(std::int64_t{i - 4}, std::int64_t{2}, row.rule) != expected) return false;
    }
  }
  return std::size(named_cases) == all_roundings.size();
}
static_assert(all_named_cases_hold());

// Extremes that a careless sum with half the divisor would overflow.
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
static_assert(shift_right(largest, 1, Rounding::half_up) == std::int64_t{1} << 62);
static_assert(shift_right(largest, 62, Rounding::half_up) == 2 && shift_right(smallest, 62, Rounding::half_down) == -2);
static_assert(divide(largest, largest - 1, Rounding::ceil) == 2 && divide(smallest, largest, Rounding::half_away) == -1);
static_assert(multiply_shift(smallest, smallest, 126, Rounding::half_even) == 1);
static_assert(multiply_shift(-3, 1, -2, Rounding::floor) == -12);

/// Values next to every whole and half multiple of 2^shift near zero, and chosen ones.
std::vector<std::int64_t> values_for(int shift, std::mt19937_64& random) {
  auto values = chosen_values<std::int64_t>(random, 30);
  if (shift == 0) return values;
  for (int halves = -5; halves <= 5; ++halves) {
    for (std::int64_t delta = -1; delta <= 1; ++delta) {
      const Int128 near = halves * two_to_the(shift - 1) + delta;
      if (near >= smallest && near <= largest) values.push_back(static_cast<std::int64_t>(near));
    }
  }
  return values;
}

TEST_CASE("shift_right of 64 and 128 bits: shifts 0 to 62, and on to 126") {
  std::mt19937_64 random(62);
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (int shift = 0; shift <= 62; ++shift) {
      for (const std::int64_t value : values_for(shift, random)) {
        const Int128 expected = rounded(value, two_to_the(shift), rule);
        tally.equal(shift_right(value, shift, rule), expected, value, shift, rule);
        tally.equal(shift_right(Int128{value}, shift, rule), expected, value, shift, rule);
        const int longer = shift + 64;  // 2^shift * value needs up to 126 bits
        const Int128 wide = Int128{value} * two_to_the(62) + value;
        tally.equal(shift_right(wide, longer, rule), rounded(wide, two_to_the(longer), rule), value, longer, rule);
      }
    }
    tally.check(63 * 100);
  }
}

TEST_CASE("shift_right of 32 bits: shifts 0 to 30") {
  std::mt19937_64 random(32);
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (int shift = 0; shift <= 30; ++shift) {
      for (const std::int32_t value : chosen_values<std::int32_t>(random, 100)) {
        tally.equal(shift_right(value, shift, rule), rounded(value, two_to_the(shift), rule), value, shift, rule);
      }
    }
    tally.check(31 * 100);
  }
}

TEST_CASE("divide of 64 bits: numerators and divisors of every size, exact multiples and ties") {
  std::mt19937_64 random(64);
  const auto values = chosen_values<std::int64_t>(random, 60);
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (const std::int64_t divisor : values) {
      if (divisor <= 0) continue;
      for (const std::int64_t value : values)
        tally.equal(divide(value, divisor, rule), rounded(value, divisor, rule), value, divisor, rule);
      for (std::int64_t halves = -5; halves <= 5; ++halves) {
        const Int128 near = Int128{divisor} * halves / 2;
        if (near < smallest || near > largest) continue;
        tally.equal(divide(static_cast<std::int64_t>(near), divisor, rule), rounded(near, divisor, rule), near, divisor, rule);
        tally.equal(divide(near, Int128{divisor}, rule), rounded(near, divisor, rule), near, divisor, rule);
      }
    }
    tally.check(10000);
  }
}

TEST_CASE("multiply_shift: exact 128-bit products, shifts -8 to 126") {
  std::mt19937_64 random(128);
  const auto values = chosen_values<std::int64_t>(random, 0);
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (int amount = -8; amount <= 124; ++amount) {
      for (int i = 0; i < 300; ++i) {
        const std::int64_t value = i % 2 == 0 ? values[random() % values.size()] : static_cast<std::int64_t>(random());
        std::int64_t multiplier = values[random() % values.size()];
        if (amount < 0) multiplier %= std::int64_t{1} << 40;  // so that the shifted product fits
        const Int128 product = Int128{value} * multiplier;
        const Int128 expected = amount < 0 ? product * two_to_the(-amount) : rounded(product, two_to_the(amount), rule);
        tally.equal(multiply_shift(value, multiplier, amount, rule), expected, value, multiplier, amount, rule);
      }
    }
    tally.check(133 * 300);
  }
}

}  // namespace
}  // namespace lastbit
