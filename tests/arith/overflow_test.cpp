// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Narrowing of wide values; every value of few bits is in tests/exhaustive.
#include "lastbit/arith/overflow.hpp"

#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

static_assert(narrow(128, 8, Overflow::wrap) == -128 && narrow(128, 8, Overflow::saturate) == 127 &&
              narrow(128, 8, Overflow::exact) == 128);
static_assert(narrow_wrap(Int128{1} << 64, 64) == 0 && narrow_saturate(Int128{1} << 64, 64) == std::numeric_limits<std::int64_t>::max());
static_assert(min_of_width(64) == std::numeric_limits<std::int64_t>::min() && max_of_width(2) == 1 && min_of_width(2) == -2);

TEST_CASE("widths 2 to 64: both ends, one beyond, one modulus beyond, and chosen values") {
  std::mt19937_64 random(2);
  const auto chosen = chosen_values<std::int64_t>(random, 200);
  Tally tally;
  for (int bits = 2; bits <= 64; ++bits) {
    std::vector<Int128> values(chosen.begin(), chosen.end());
    for (const int sign : {-1, 1}) {
      for (Int128 delta = -2; delta <= 2; ++delta) {
        values.push_back(sign * two_to_the(bits - 1) + delta);
        values.push_back(sign * two_to_the(bits) + delta);
        values.push_back(sign * 3 * two_to_the(bits) + delta);
      }
    }
    for (const std::int64_t value : chosen) values.push_back(Int128{value} * chosen[random() % chosen.size()]);
    for (const Int128 value : values) {
      for (const Overflow rule : {Overflow::wrap, Overflow::saturate})
        tally.equal(narrow(value, bits, rule), narrowed(value, bits, rule), value, bits, rule);
      const bool fits = value == saturated(value, bits);
      tally.equal(fits_width(value, bits), fits, value, bits);
      if (fits) tally.equal(narrow_exact(value, bits), value, value, bits);
      tally.equal(narrow(value, bits, Overflow::exact), saturated(value, 64), value, bits);
      if (value != saturated(value, 64)) continue;
      const auto as_i64 = static_cast<std::int64_t>(value);
      for (const Overflow rule : all_overflows) tally.equal(narrow(as_i64, bits, rule), narrowed(value, bits, rule), value, bits, rule);
    }
  }
  tally.check(63 * 1000);
}

}  // namespace
}  // namespace lastbit
