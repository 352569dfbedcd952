// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/arith/ordered_sum.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"

namespace lastbit {
namespace {

/// Sums as the texts of how they were made.
struct Written {
  [[nodiscard]] std::string sum(const std::string& a, const std::string& b) const { return "(" + a + "+" + b + ")"; }
  [[nodiscard]] std::string rounded(float) const { return "?"; }
  [[nodiscard]] float real(const std::string&) const { return 1e30F; }  // no term of an exact block
};

struct InFloat {
  [[nodiscard]] float sum(float a, float b) const { return a + b; }
  [[nodiscard]] float rounded(float value) const { return value; }
  [[nodiscard]] float real(float value) const { return value; }
};

std::string in_order(SumOrder order, std::size_t count, bool with_start) {
  std::vector<std::string> terms;
  for (std::size_t i = 0; i < count; ++i) terms.push_back(std::string(1, static_cast<char>('a' + i)));
  return ordered_sum<std::string>(terms, {StepPrecision::float32, order, 4}, with_start ? std::optional<std::string>("S") : std::nullopt,
                                  Written{});
}

}  // namespace

TEST_CASE("each order of a sum, written out") {
  CHECK(in_order(SumOrder::sequential, 4, false) == "(((a+b)+c)+d)");
  CHECK(in_order(SumOrder::sequential, 3, true) == "(((S+a)+b)+c)");
  CHECK(in_order(SumOrder::pairwise, 1, false) == "a");
  CHECK(in_order(SumOrder::pairwise, 5, false) == "(((a+b)+(c+d))+e)");
  CHECK(in_order(SumOrder::pairwise, 7, true) == "(S+(((a+b)+(c+d))+((e+f)+g)))");
  CHECK(in_order(SumOrder::blocks_sequential, 6, false) == "((((a+b)+c)+d)+(e+f))");
  CHECK(in_order(SumOrder::blocks_pairwise, 9, false) == "((((a+b)+(c+d))+((e+f)+(g+h)))+i)");
  CHECK(in_order(SumOrder::blocks_pairwise, 6, true) == "((S+((a+b)+(c+d)))+(e+f))");
  CHECK(in_order(SumOrder::blocks_exact, 5, true) == "((S+(((a+b)+c)+d))+e)");  // terms that are not exact: sequential
}

TEST_CASE("an exact block is the rounded exact sum") {
  const unsigned seed = 7;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<float> terms;
    Int128 exact = 0;  // in units of 2^-48
    for (int i = 0; i < 16; ++i) {
      const auto significand = static_cast<std::int32_t>(random() % (1U << 22)) - (1 << 21);
      const auto shift = static_cast<int>(random() % 58);
      terms.push_back(std::ldexp(static_cast<float>(significand), shift - 48));
      exact += significand * test::two_to_the(shift);
    }
    const float found = ordered_sum<float>(terms, {StepPrecision::float32, SumOrder::blocks_exact, 16}, std::nullopt, InFloat{});
    REQUIRE(test::same_number(test::dyadic(found), test::as_float32({exact, -48})));
  }
}

TEST_CASE("what is no multiple of 2^-48 below 2^34 is added one after the other") {
  for (const float odd : {0x1p-49F, 0x1p34F, std::numeric_limits<float>::infinity()}) {
    std::vector<float> terms{0x1p24F, 1, 1, odd};
    const float expected = ((0x1p24F + 1) + 1) + odd;
    CHECK(ordered_sum<float>(terms, {StepPrecision::float32, SumOrder::blocks_exact, 4}, std::nullopt, InFloat{}) == expected);
  }
  std::vector<float> terms{0x1p24F, 1, 1};
  CHECK(ordered_sum<float>(terms, {StepPrecision::float32, SumOrder::blocks_exact, 4}, std::nullopt, InFloat{}) == 0x1p24F + 2);
}

}  // namespace lastbit
