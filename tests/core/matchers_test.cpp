// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/core/matchers.hpp"

#include <sstream>
#include <string>
#include <support/catch.hpp>
#include <vector>

namespace lastbit::test {
namespace {

using testing::exactly_equal_to;
using testing::judge;
using testing::within_lsb;

Array<std::int8_t> int8(Extents shape, std::vector<std::int8_t> values) { return {std::move(values), shape}; }

}  // namespace

TEST_CASE("core matchers: a test framework takes arrays and views as they are") {
  const auto a = int8({2, 2}, {1, 2, 3, 4}), b = int8({2, 2}, {1, 2, 3, 5});
  REQUIRE_THAT(a, exactly_equal_to(a));
  REQUIRE_THAT(b.view(), within_lsb(1, 0.25).of(a));
  CHECK_FALSE(exactly_equal_to(a.view()).match(b));
}

TEST_CASE("core matchers: the message names count, share, largest difference, position and both values") {
  const auto a = int8({1, 2, 3}, {1, 2, 3, 4, 5, 6}), b = int8({1, 2, 3}, {1, 2, 3, 4, 8, 4});
  const auto verdict = judge(b, exactly_equal_to(a));
  CHECK_FALSE(verdict.passed());
  CHECK(verdict.message() == "2 of 6 values differ (33.33 %); largest +3 LSB; first at index 4 [0,1,1]: got 8, expected 5");
  CHECK(judge(b, within_lsb(1, 0.5).of(a)).message() ==
        "2 of 6 values differ (33.33 %, allowed 50 %); largest +3 LSB (allowed 1); first at index 4 [0,1,1]: got 8, expected 5");
  CHECK(judge(a, exactly_equal_to(a)).message() == "every value is equal");
}

TEST_CASE("core matchers: both limits of within_lsb count") {
  const auto zeros = int8({4}, {0, 0, 0, 0});
  CHECK(judge(int8({4}, {1, 0, 0, -1}), within_lsb(1, 0.5).of(zeros)));
  CHECK_FALSE(judge(int8({4}, {1, 0, 0, -2}), within_lsb(1, 0.5).of(zeros)));
  CHECK_FALSE(judge(int8({4}, {1, 1, 0, -1}), within_lsb(1, 0.5).of(zeros)));
  CHECK_FALSE(judge(int8({4}, {1, 0, 0, 0}), within_lsb(0, 1.0).of(zeros)));
}

TEST_CASE("core matchers: another type or shape is no difference of values") {
  const auto codes = int8({2, 2}, {1, 2, 3, 4});
  CHECK(judge(int8({4}, {1, 2, 3, 4}), exactly_equal_to(codes)).message() == "got int8 4, expected int8 2x2");
  const Array<std::uint8_t> other{{1, 2, 3, 4}, {2, 2}};
  CHECK(judge(other, within_lsb(9, 1).of(codes)).message() == "got uint8 2x2, expected int8 2x2");
}

TEST_CASE("core matchers: they describe what they want, and arrays say what they are") {
  const Array<std::int16_t> wide{{1, 2}, {1, 2}};
  CHECK(exactly_equal_to(wide).description() == "exactly equal to int16 1x2");
  std::ostringstream text;
  text << wide << ", ";
  within_lsb(1, 0.02).of(wide).DescribeNegationTo(&text);
  CHECK(text.str() == "int16 1x2, not: within 1 LSB in at most 2 % of int16 1x2");
}

}  // namespace lastbit::test
