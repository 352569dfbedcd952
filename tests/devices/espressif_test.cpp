// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ESP-DL's functions on exact integers: shift_and_round, and the two floors of its portable code for exponents per channel.
#include "lastbit/backends/espressif.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr std::int64_t shifted(const RescaleRule& rule, std::int64_t sum, int shift) {
  return finish(rule.chain, sum,
                {.scale = {.multiplier = 1, .significant_bits = 1, .fraction_bits = 0, .exponent = -shift}, .min = -128, .max = 127});
}
// Ties of both signs; a shift below 0 is one to the left.
static_assert(shifted(espdl::shift_and_round(Rounding::half_up), 5, 1) == 3 &&
              shifted(espdl::shift_and_round(Rounding::half_up), -5, 1) == -2);
static_assert(shifted(espdl::shift_and_round(Rounding::half_even), 5, 1) == 2 &&
              shifted(espdl::shift_and_round(Rounding::half_even), -5, 1) == -2);
static_assert(shifted(espdl::shift_and_round(Rounding::half_even), 7, -3) == 56 &&
              shifted(espdl::shift_and_round(Rounding::half_even), 17, -3) == 127);

TEST_CASE("the portable code's two floors, with the bias in between, are one floor of the sum") {
  const RescaleRule one_floor = espdl::shift_and_round(Rounding::floor);
  Tally tally;
  for (int shift = 4; shift <= 12; ++shift) {
    for (std::int64_t sum = -1000; sum <= 1000; ++sum) {
      for (const std::int64_t bias : {-70, -1, 0, 1, 33}) {
        const Int128 before = rounded(sum, two_to_the(4), Rounding::floor) + bias;
        const Int128 after = rounded(before, two_to_the(shift - 4), Rounding::floor);
        tally.equal(shifted(one_floor, sum + bias * 16, shift), static_cast<std::int64_t>(saturated(after, 8)), sum, bias, shift);
      }
    }
  }
  tally.check(90000);
}

}  // namespace
}  // namespace lastbit
