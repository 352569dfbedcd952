// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/arith/pwl.hpp"

#include <vector>

#include "lastbit/arith/table.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr PwlSegment steps[] = {{-100, -7, 256, 8}, {0, 10, -128, 8}, {50, 3, 1, 32}};
static_assert(evaluate_pwl(steps, -101) == -7 && evaluate_pwl(steps, -100) == -7);  // left of and at the first base
static_assert(evaluate_pwl(steps, -99) == -6 && evaluate_pwl(steps, 0) == 10);      // a base belongs to its own segment
static_assert(evaluate_pwl(steps, 1) == 9);                                         // -1/2 toward -inf
static_assert(evaluate_pwl({}, 5) == 5);

/// The contract, read from the last segment backwards.
Int128 pwl_oracle(const std::vector<PwlSegment>& segments, std::int32_t x) {
  for (std::size_t i = segments.size(); i-- > 0;) {
    const PwlSegment& s = segments[i];
    const bool first_end = i == 0 && x == s.x_base;
    if (x >= s.x_base && !first_end) return rounded((Int128{x} - s.x_base) * s.slope, two_to_the(s.shift), Rounding::floor) + s.y_base;
  }
  return segments.front().y_base;
}

TEST_CASE("piecewise-linear functions: around every base, at both ends of 32 bits, random in between") {
  std::mt19937_64 random(6);
  Tally tally;
  for (int round = 0; round < 200; ++round) {
    std::vector<PwlSegment> segments;
    std::int64_t base = min_of_width(32) + static_cast<std::int64_t>(random() % 1000);
    for (int i = 0; i < 12 && base < max_of_width(32); ++i) {
      segments.push_back({static_cast<std::int32_t>(base), static_cast<std::int16_t>(random()), static_cast<std::int16_t>(random()),
                          static_cast<std::uint8_t>(8 + 8 * (random() % 4))});
      base += 1 + static_cast<std::int64_t>(random() % (std::uint64_t{1} << (random() % 32)));
    }
    auto inputs = chosen_values<std::int32_t>(random, 50);
    for (const PwlSegment& segment : segments) {
      inputs.push_back(segment.x_base);
      if (segment.x_base > min_of_width(32)) inputs.push_back(segment.x_base - 1);
    }
    const PwlTable table(segments);
    for (const std::int32_t x : inputs) {
      tally.equal(evaluate_pwl(segments, x), pwl_oracle(segments, x), x, round);
      tally.equal(table(x), pwl_oracle(segments, x), x, round);
    }
  }
  tally.check(200 * 100);
}

TEST_CASE("tables: every input of 16 bits reads its entry or the nearest end; far inputs too") {
  std::vector<std::int32_t> values(256);
  for (int i = 0; i < 256; ++i) values[static_cast<std::size_t>(i)] = 1000 - 3 * i;
  const LookupTable table{.first = -128, .values = values};
  Tally tally;
  for (std::int64_t x = -32768; x <= 32767; ++x) tally.equal(table(x), 1000 - 3 * (saturated(x, 8) + 128), x);
  tally.equal(table(min_of_width(64)), 1000);
  tally.equal(table(max_of_width(64)), 1000 - 3 * 255);
  tally.check(65538);
  CHECK(LookupTable{}(-9) == -9);
}

}  // namespace
}  // namespace lastbit
