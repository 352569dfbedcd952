// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rounding and narrowing over every 16-bit value.
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr int first_value = -32768, last_value = 32767, last_shift = 20;

TEST_CASE("shift_right: every 16-bit value, shifts 0 to 20, every rule, three widths") {
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (int shift = 0; shift <= last_shift; ++shift) {
      for (int value = first_value; value <= last_value; ++value) {
        const Int128 expected = rounded(value, two_to_the(shift), rule);
        tally.equal(shift_right(std::int32_t{value}, shift, rule), expected, value, shift, rule);
        tally.equal(shift_right(std::int64_t{value}, shift, rule), expected, value, shift, rule);
        tally.equal(shift_right(Int128{value}, shift, rule), expected, value, shift, rule);
      }
    }
    tally.check(3 * 65536 * (last_shift + 1));
  }
}

TEST_CASE("divide: every 16-bit numerator, divisors around powers of two and odd ones, every rule") {
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (const std::int64_t divisor : {1, 2, 3, 4, 5, 6, 7, 9, 10, 15, 16, 49, 64, 100, 127, 196, 255, 1000, 12544, 32768, 65535}) {
      for (std::int64_t value = first_value; value <= last_value; ++value) {
        tally.equal(divide(value, divisor, rule), rounded(value, divisor, rule), value, divisor, rule);
      }
    }
    tally.check(65536);
  }
}

TEST_CASE("narrowing: every 17-bit value to every width up to 17") {
  Tally tally;
  for (int bits = 2; bits <= 17; ++bits) {
    for (std::int32_t value = -65536; value <= 65535; ++value) {
      tally.equal(narrow_wrap(value, bits), wrapped(value, bits), value, bits);
      tally.equal(narrow_saturate(value, bits), saturated(value, bits), value, bits);
      tally.equal(fits_width(value, bits), wrapped(value, bits) == value, value, bits);
    }
  }
  tally.check();
}

/// Which rules differ, and exactly where: `expected` says it of value / 2^shift from its remainder alone.
template <class Predicate>
void check_difference(Rounding a, Rounding b, Predicate&& expected) {
  Tally tally;
  for (int shift = 0; shift <= last_shift; ++shift) {
    for (std::int64_t value = first_value; value <= last_value; ++value) {
      const std::int64_t modulus = std::int64_t{1} << shift;
      const std::int64_t remainder = (value % modulus + modulus) % modulus;
      const bool differ = shift_right(value, shift, a) != shift_right(value, shift, b);
      tally.equal(differ, expected(value, remainder, modulus), value, shift, a, b);
    }
  }
  tally.check();
}

TEST_CASE("two rules differ exactly on the inputs that their names predict") {
  const auto tie = [](std::int64_t, std::int64_t remainder, std::int64_t modulus) { return 2 * remainder == modulus; };
  const auto negative_tie = [&](std::int64_t v, std::int64_t r, std::int64_t m) { return tie(v, r, m) && v < 0; };
  const auto positive_tie = [&](std::int64_t v, std::int64_t r, std::int64_t m) { return tie(v, r, m) && v > 0; };
  const auto tie_above_even = [&](std::int64_t v, std::int64_t r, std::int64_t m) { return tie(v, r, m) && (v - r) / m % 2 == 0; };
  const auto tie_above_odd = [&](std::int64_t v, std::int64_t r, std::int64_t m) { return tie(v, r, m) && (v - r) / m % 2 != 0; };
  const auto inexact = [](std::int64_t, std::int64_t r, std::int64_t) { return r != 0; };
  check_difference(Rounding::half_up, Rounding::half_down, tie);
  check_difference(Rounding::half_up, Rounding::half_away, negative_tie);
  check_difference(Rounding::half_up, Rounding::half_toward_zero, positive_tie);
  check_difference(Rounding::half_up, Rounding::half_even, tie_above_even);
  check_difference(Rounding::half_down, Rounding::half_even, tie_above_odd);
  check_difference(Rounding::half_away, Rounding::half_toward_zero, tie);
  check_difference(Rounding::floor, Rounding::ceil, inexact);
  check_difference(Rounding::floor, Rounding::toward_zero, [](std::int64_t v, std::int64_t r, std::int64_t) { return r != 0 && v < 0; });
  check_difference(Rounding::floor, Rounding::to_odd,
                   [](std::int64_t v, std::int64_t r, std::int64_t m) { return r != 0 && (v - r) / m % 2 == 0; });
}

TEST_CASE("every rule is monotone, keeps whole quotients, and errs by less than one, to nearest by at most a half") {
  for (const Rounding rule : all_roundings) {
    const bool to_nearest = rule >= Rounding::half_up && rule <= Rounding::half_even;
    Tally tally;
    for (int shift = 0; shift <= last_shift; ++shift) {
      const std::int64_t divisor = std::int64_t{1} << shift;
      std::int64_t previous = std::numeric_limits<std::int64_t>::min();
      for (std::int64_t value = first_value; value <= last_value; ++value) {
        const std::int64_t found = shift_right(value, shift, rule);
        const std::int64_t error = found * divisor - value;
        tally.equal(found >= previous, true, value, shift, rule);
        tally.equal(-divisor < error && error < divisor, true, value, shift, rule);
        tally.equal(to_nearest && (2 * error > divisor || 2 * error < -divisor), false, value, shift, rule);
        tally.equal(value % divisor == 0 && error != 0, false, value, shift, rule);
        previous = found;
      }
    }
    tally.check();
  }
}

}  // namespace
}  // namespace lastbit
