// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// TOSA's functions as the specification has them, in exact integers, against the stages that the sheet makes of them.
#include "lastbit/backends/tosa.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

enum class RoundingMode : std::uint8_t { single_round, double_round };

/// apply_scale_32.
Int128 apply_scale(Int128 value, Int128 multiplier, int shift, RoundingMode mode) {
  Int128 half = two_to_the(shift - 1);
  if (mode == RoundingMode::double_round && shift > 31) half += value >= 0 ? two_to_the(30) : -two_to_the(30);
  return (value * multiplier + half) >> shift;
}

/// Without zero point and bounds.
std::int64_t by_sheet(const RescaleRule& rule, std::int64_t value, std::int64_t multiplier, int shift) {
  return finish(rule.chain, value,
                {.scale = {.multiplier = multiplier, .significant_bits = 31, .fraction_bits = 31, .exponent = 31 - shift}});
}

TEST_CASE("RESCALE: one rounding half up, or one at 31 places and one of the rest, half away") {
  std::mt19937_64 random(71);
  Tally single, twice;
  for (int shift = 2; shift <= 62; ++shift) {
    const std::int64_t largest = (std::int64_t{1} << std::min(shift - 1, 31)) - 1;  // the values that the program may hold
    for (const std::int32_t any : chosen_values<std::int32_t>(random, 300)) {
      for (const std::int64_t multiplier :
           {std::int64_t{1} << 30, (std::int64_t{1} << 31) - 1, std::int64_t{3} << 29, std::int64_t{1518500250}}) {
        const std::int64_t value = std::clamp<std::int64_t>(any, -largest - 1, largest);
        single.equal(by_sheet(tosa::single_round(31), value, multiplier, shift),
                     static_cast<std::int64_t>(apply_scale(value, multiplier, shift, RoundingMode::single_round)), value, multiplier,
                     shift);
        twice.equal(by_sheet(tosa::double_round, value, multiplier, shift),
                    static_cast<std::int64_t>(apply_scale(value, multiplier, shift, RoundingMode::double_round)), value, multiplier, shift);
      }
    }
  }
  single.check(60000);
  twice.check(60000);
}

/// AVG_POOL2D: reciprocal_scale, then apply_scale_32 with one rounding.
Int128 averaged(Int128 sum, std::int64_t count) {
  int k = 0;
  while ((std::int64_t{1} << k) < count) ++k;
  const Int128 multiplier = ((two_to_the(30) + 1) * two_to_the(k)) / count;
  return apply_scale(sum, multiplier, 30 + k, RoundingMode::single_round);
}

TEST_CASE("AVG_POOL2D: the reciprocal is the division, half away from zero") {
  Tally tally;
  const auto compare = [&](std::int64_t sum, std::int64_t count) {
    tally.equal(static_cast<std::int64_t>(averaged(sum, count)), divide(sum, count, Rounding::half_away), sum, count);
  };
  for (std::int64_t count = 1; count <= 64; ++count)  // every sum of 8-bit codes less a zero point
    for (std::int64_t sum = -255 * count; sum <= 255 * count; ++sum) compare(sum, count);
  for (std::int64_t count = 65; count <= 4096; ++count) {  // the ties, and beside them, near 0 and at the ends
    for (const std::int64_t near : {std::int64_t{0}, std::int64_t{254} * count, ((std::int64_t{1} << 28) / count - 2) * count}) {
      for (const std::int64_t beside : {-1, 0, 1}) {
        compare(near + count / 2 + beside, count);
        compare(-(near + count / 2 + beside), count);
      }
    }
  }
  tally.check(1000000);
}

}  // namespace
}  // namespace lastbit
