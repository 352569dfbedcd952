// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/arith/float16.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "support/catch.hpp"
#include "support/float16_oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr Float16Rules ieee = ieee_float16;
constexpr Float16Rules saturating{
    .rounding = Rounding::half_even, .overflow = Float16Overflow::saturate, .top_exponent = Float16TopExponent::infinity_nan};
/// Huawei's class of 2021: sums and products; conversion from float32 and quotients.
constexpr Float16Rules sum_2021{
    .rounding = Rounding::half_even, .overflow = Float16Overflow::all_ones, .top_exponent = Float16TopExponent::ordinary};
constexpr Float16Rules quotient_2021{
    .rounding = Rounding::half_even, .overflow = Float16Overflow::all_ones_below_2_17, .top_exponent = Float16TopExponent::ordinary};

constexpr Float16 bits(int pattern) { return {static_cast<std::uint16_t>(pattern)}; }
constexpr float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();

// Usable in constant expressions.
static_assert(divide(bits(0x3C00), bits(0x4200), ieee, Float16ZeroDivision::ieee) == bits(0x3555));
static_assert(to_float32(to_float16(-0.5, ieee)) == -0.5F);

}  // namespace

TEST_CASE("float16: what stands in the place of what does not fit") {
  struct Case {
    const char* separates;
    float value;
    int ieee, saturated, all_ones, below_2_17;
  };
  const std::array cases{
      Case{"largest value", 65504.0F, 0x7BFF, 0x7BFF, 0x7BFF, 0x7BFF},
      Case{"the last float that rounds down to it", 65519.996F, 0x7BFF, 0x7BFF, 0x7BFF, 0x7BFF},
      Case{"the tie, to the even 65536", 65520.0F, 0x7C00, 0x7BFF, 0x7FFF, 0x7FFF},
      Case{"negative tie", -65520.0F, 0xFC00, 0xFBFF, 0xFFFF, 0xFFFF},
      Case{"the last float below 2^17, though it rounds to 2^17", 131071.99F, 0x7C00, 0x7BFF, 0x7FFF, 0x7FFF},
      Case{"2^17", 131072.0F, 0x7C00, 0x7BFF, 0x7FFF, 0x7BFF},
      Case{"infinity", infinity, 0x7C00, 0x7BFF, 0x7FFF, 0x7BFF},
      Case{"negative infinity", -infinity, 0xFC00, 0xFBFF, 0xFFFF, 0xFBFF},
      Case{"NaN", not_a_number, 0x7E00, 0x0000, 0x7FFF, 0x7BFF},
      Case{"NaN with a sign", std::bit_cast<float>(0xFFC0'2000U), 0xFE01, 0x0000, 0xFFFF, 0xFBFF},
      Case{"smallest subnormal", 0x1p-24F, 0x0001, 0x0001, 0x0001, 0x0001},
      Case{"half of it, a tie to zero", -0x1p-25F, 0x8000, 0x8000, 0x8000, 0x8000},
  };
  for (const Case& c : cases) {
    INFO(c.separates);
    CHECK(to_float16(c.value, ieee) == bits(c.ieee));
    CHECK(to_float16(double{c.value}, ieee) == bits(c.ieee));
    CHECK(to_float16(c.value, saturating) == bits(c.saturated));
    CHECK(to_float16(c.value, sum_2021) == bits(c.all_ones));
    CHECK(to_float16(c.value, quotient_2021) == bits(c.below_2_17));
  }
}

TEST_CASE("float16: zeros, infinities and NaN through the four operations") {
  const Float16 zero = bits(0), minus_zero = bits(0x8000), one = bits(0x3C00), inf = bits(0x7C00), nan = bits(0x7D00);
  const Float16 quiet = bits(0x7E00), max = bits(0x7BFF);
  CHECK(add(one, negate(one), ieee) == zero);
  CHECK(add(one, negate(one), {.rounding = Rounding::floor}) == minus_zero);
  CHECK(add(minus_zero, minus_zero, ieee) == minus_zero);
  CHECK(subtract(minus_zero, zero, ieee) == minus_zero);
  CHECK(add(inf, one, ieee) == inf);
  CHECK(add(one, negate(inf), ieee) == negate(inf));
  CHECK(subtract(inf, inf, ieee) == quiet);
  CHECK(add(nan, one, ieee) == quiet);
  CHECK(multiply(inf, minus_zero, ieee) == quiet);
  CHECK(multiply(inf, negate(one), ieee) == negate(inf));
  CHECK(multiply(minus_zero, one, ieee) == minus_zero);
  CHECK(divide(one, minus_zero, ieee, Float16ZeroDivision::ieee) == negate(inf));
  CHECK(divide(zero, zero, ieee, Float16ZeroDivision::ieee) == quiet);
  CHECK(divide(inf, inf, ieee, Float16ZeroDivision::ieee) == quiet);
  CHECK(divide(inf, negate(one), ieee, Float16ZeroDivision::ieee) == negate(inf));
  CHECK(divide(negate(one), inf, ieee, Float16ZeroDivision::ieee) == minus_zero);
  CHECK(divide(zero, negate(one), ieee, Float16ZeroDivision::ieee) == minus_zero);
  CHECK(divide(one, zero, saturating, Float16ZeroDivision::ieee) == max);
  CHECK(divide(zero, zero, saturating, Float16ZeroDivision::ieee) == zero);
  CHECK(multiply(max, negate(max), saturating) == negate(max));
}

TEST_CASE("float16: the order of saturating sums matters") {
  const Float16 big = to_float16(60000, ieee);
  const Float16 sum = add(big, big, saturating);
  CHECK(to_float32(add(sum, negate(big), saturating)) == 5504.0F);
  CHECK(to_float32(add(add(big, negate(big), saturating), big, saturating)) == 60000.0F);
}

TEST_CASE("float16: the class of 2021 reads its overflow pattern as 131008 and goes on computing") {
  const Float16 overflow = add(bits(0x7BFF), bits(0x7BFF), sum_2021);
  CHECK(overflow == bits(0x7FFF));
  CHECK(to_float32(overflow, Float16TopExponent::ordinary) == 131008.0F);
  CHECK(std::isnan(to_float32(overflow)));
  CHECK(add(overflow, bits(0xFBFF), sum_2021) == bits(0x7BFF));
  CHECK(multiply(overflow, bits(0x3800), sum_2021) == bits(0x7BFF));  // 65504, exactly
  CHECK(divide(bits(0), bits(0xBC00), quotient_2021, Float16ZeroDivision::unsigned_zero) == bits(0));
  CHECK(divide(bits(0xBC00), bits(0), quotient_2021, Float16ZeroDivision::unsigned_zero) == bits(0xFC00));
  CHECK(divide(bits(0), bits(0), quotient_2021, Float16ZeroDivision::unsigned_zero) == bits(0x7C00));
}

TEST_CASE("float16: integers at their bounds") {
  CHECK(to_integer<std::int8_t>(to_float16(127.5F, ieee), Rounding::half_even) == 127);
  CHECK(to_integer<std::int8_t>(to_float16(-128.5F, ieee), Rounding::half_even) == -128);
  CHECK(to_integer<std::uint8_t>(to_float16(-1.0F, ieee), Rounding::half_even) == 0);
  CHECK(to_integer<std::uint8_t>(to_float16(2.5F, ieee), Rounding::half_even) == 2);
  CHECK(to_integer<std::int32_t>(bits(0x7C00), Rounding::half_even) == std::numeric_limits<std::int32_t>::max());
  CHECK(to_integer<std::int16_t>(bits(0xFE00), Rounding::half_even) == std::numeric_limits<std::int16_t>::min());
  CHECK(to_float16(std::numeric_limits<std::int32_t>::min(), saturating) == bits(0xFBFF));
  CHECK(to_float16(2049, ieee) == to_float16(2048, ieee));  // a tie, to even
}

TEST_CASE("float16: the operations at their edges, every rounding rule") {
  // Each near a power of two, the subnormals, the overflow, and a few others; both signs.
  std::vector<Float16> values;
  for (const int pattern :
       {0x0001, 0x0002, 0x0003, 0x00FF, 0x03FE, 0x03FF, 0x0400, 0x0401, 0x0801, 0x13FF, 0x1400, 0x2BFF, 0x2E66, 0x37FF, 0x3800,
        0x3801, 0x3BFF, 0x3C00, 0x3C01, 0x3C02, 0x3FFF, 0x4000, 0x4200, 0x4248, 0x5BFF, 0x5C01, 0x6800, 0x7801, 0x7BFE, 0x7BFF}) {
    values.push_back(bits(pattern));
    values.push_back(bits(pattern + 0x8000));
  }
  for (const Rounding rule : all_roundings) {
    Float16Rules rules = ieee_float16;
    rules.rounding = rule;
    Tally tally;
    for (const Float16 a : values) {
      for (const Float16 b : values) {
        const Int128 x = float16_units(a), y = float16_units(b);
        const auto expect = [&](Float16 found, Int128 numerator, Int128 denominator) {
          const bool negative = (numerator < 0) != (denominator < 0);
          tally.equal(found.bits, float16_nearby(negative, magnitude(numerator), magnitude(denominator), rule).bits, a.bits, b.bits, rule);
        };
        if (x + y != 0) expect(add(a, b, rules), x + y, 1);
        if (x - y != 0) expect(subtract(a, b, rules), x - y, 1);
        expect(multiply(a, b, rules), x * y, two_to_the(24));
        expect(divide(a, b, rules, Float16ZeroDivision::ieee), x * two_to_the(24), y);
      }
    }
    tally.check(14000);
  }
}

}  // namespace lastbit
