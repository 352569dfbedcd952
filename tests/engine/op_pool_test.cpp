// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Averages: division, reciprocals, and the mean's folded count.
#include "lastbit/op/mean.hpp"
#include "lastbit/op/pool.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr AveragePoolArithmetic exact_half_away{.method = DivisionMethod::exact, .rounding = Rounding::half_away};
constexpr AveragePoolArithmetic by_reciprocal{
    .method = DivisionMethod::reciprocal, .rounding = Rounding::half_even, .reciprocal_bits = 16, .reciprocal_rounding = Rounding::floor};
static_assert(average(exact_half_away, -3, 2) == -2 && average(exact_half_away, 3, 2) == 2);
static_assert(average(by_reciprocal, 9, 9) == 1);
static_assert(average(exact_half_away, 6 * 127 + 3, 6) == 128 &&
              average(by_reciprocal, 6 * 127 + 3, 6) == 127);  // the truncated 1/6 falls short of the tie

TEST_CASE("average: exact division by every rule") {
  for (const Rounding rule : all_roundings) {
    const AveragePoolArithmetic pool{.method = DivisionMethod::exact, .rounding = rule};
    Tally tally;
    for (std::int64_t count = 1; count <= 50; ++count) {
      for (std::int64_t sum = -128 * count; sum <= 127 * count; sum += 1 + count / 8) {
        tally.equal(average(pool, sum, count), rounded(sum, count, rule), sum, count, rule);
      }
    }
    tally.check(50000);
  }
}

TEST_CASE("average: the leading bits of 1/n, exactly, for every count up to 70000") {
  std::mt19937_64 random(15);
  Tally tally;
  for (const int bits : {8, 15, 16}) {
    for (const Rounding reciprocal_rule : {Rounding::floor, Rounding::half_even, Rounding::half_away}) {
      const AveragePoolArithmetic pool{.method = DivisionMethod::reciprocal,
                                       .rounding = Rounding::half_even,
                                       .reciprocal_bits = static_cast<std::uint8_t>(bits),
                                       .reciprocal_rounding = reciprocal_rule};
      for (std::int64_t count = 1; count <= 70000; count += count < 1000 ? 1 : 37) {
        // 2^(bits - 1) <= 2^k / count < 2^bits.
        const int k = bits - 1 + bit_length(count - 1);
        const Int128 reciprocal = rounded(power_of_two(k), count, reciprocal_rule);
        const std::int64_t sum = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(256 * count)) - 128 * count;
        tally.equal(average(pool, sum, count), rounded(sum * reciprocal, power_of_two(k), Rounding::half_even), sum, count, bits,
                    reciprocal_rule);
      }
    }
  }
  tally.check(9 * 2000);
}

TEST_CASE("mean: as many bits of the count as the multiplier has room for, the quotient truncated") {
  std::mt19937_64 random(16);
  Tally tally;
  for (int exponent = -31; exponent <= 10; ++exponent) {
    for (std::int64_t count = 1; count <= 5000; count += 1 + count / 7) {
      const std::int64_t multiplier = (std::int64_t{1} << 30) + static_cast<std::int64_t>(random() % (1U << 30));
      const EncodedScale found = fold_count({multiplier, 31, 31, exponent, 0}, count);
      int k = 0;  // the largest one of three limits
      while (power_of_two(k + 1) <= count && k < 32 && k < 31 + exponent) ++k;
      tally.equal(found.multiplier, rounded(multiplier * power_of_two(k), count, Rounding::floor), multiplier, count, exponent);
      tally.equal(found.exponent, exponent - k, count, exponent);
    }
  }
  tally.check(42 * 40);
}

}  // namespace
}  // namespace lastbit
