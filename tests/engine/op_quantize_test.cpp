// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/op/quantize.hpp"

#include <vector>

#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr IntegerRange i8{-128, 127};
constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr QuantizeArithmetic half_away = by_division(Rounding::half_away);
constexpr QuantizeArithmetic half_even_before{.division = ScaleDivision::divide,
                                              .rounding = Rounding::half_even,
                                              .zero_point = ZeroPointAt::before_rounding,
                                              .out_of_range = OutOfRange::saturate};
constexpr QuantizeArithmetic x86{.division = ScaleDivision::divide,
                                 .rounding = Rounding::half_away,
                                 .zero_point = ZeroPointAt::after_rounding,
                                 .out_of_range = OutOfRange::int32_min};

static_assert(quantize(half_away, 1.25F, 0.5F, 0, i8) == 3 && quantize(half_away, -1.25F, 0.5F, 0, i8) == -3);
// An odd zero point moves a tie to the other even neighbour.
static_assert(quantize(half_even_before, 2.5F, 1.0F, 1, i8) == 4 && quantize(by_division(Rounding::half_even), 2.5F, 1.0F, 1, i8) == 3);
static_assert(quantize(half_away, infinite, 1.0F, 0, i8) == 127 && quantize(half_away, -infinite, 1.0F, 0, i8) == -128);
static_assert(quantize(x86, 1e20F, 1.0F, 0, i8) == -128 && quantize(x86, -1e20F, 1.0F, -1, i8) == 127);  // -2^31 - 1 wraps

/// a / b to float, from an integer quotient with more than enough bits and a sticky last one.
Dyadic quotient(float a, float b) {
  const Dyadic x = dyadic(a), y = dyadic(b);
  return as_float32({rounded(x.significand * two_to_the(60), y.significand, Rounding::to_odd), x.exponent - 60 - y.exponent});
}

std::vector<float> inputs(float scale, std::mt19937_64& random) {
  std::vector<float> values;
  for (int halves = -600; halves <= 600; ++halves) {
    const float tie = static_cast<float>(halves) / 2 * scale;
    const auto bits = std::bit_cast<std::uint32_t>(tie);
    values.push_back(tie);
    if (bits % 0x80000000U > 0x01000000) values.insert(values.end(), {std::bit_cast<float>(bits + 1), std::bit_cast<float>(bits - 1)});
  }
  for (int i = 0; i < 200; ++i) {
    values.push_back(
        std::bit_cast<float>(static_cast<std::uint32_t>((90 + random() % 64) << 23 | random() % 0x800000 | (random() % 2) << 31)));
  }
  return values;
}

TEST_CASE("quantize: the float quotient or product, one rounding by the rule, zero point, bounds") {
  std::mt19937_64 random(41);
  Tally tally;
  for (int round = 0; round < 12; ++round) {
    const float scale = round == 0   ? 1.0F
                        : round == 1 ? 0.25F
                                     : std::bit_cast<float>(static_cast<std::uint32_t>((117 + random() % 14) << 23 | random() % 0x800000));
    const auto zero_point = static_cast<std::int64_t>(random() % 256) - 128;
    for (const float x : inputs(scale, random)) {
      const Dyadic divided = quotient(x, scale);
      const Dyadic multiplied = as_float32(product(dyadic(x), quotient(1.0F, scale)));
      for (const Rounding rule : {Rounding::half_away, Rounding::half_even, Rounding::floor}) {
        for (const ScaleDivision division : {ScaleDivision::divide, ScaleDivision::multiply_by_inverse}) {
          const Int128 integer = as_integer(division == ScaleDivision::divide ? divided : multiplied, rule);
          const Int128 expected = saturated(saturated(integer, 32) + zero_point, 8);
          const QuantizeArithmetic arithmetic{
              .division = division, .rounding = rule, .zero_point = ZeroPointAt::after_rounding, .out_of_range = OutOfRange::saturate};
          tally.equal(quantize(arithmetic, x, scale, zero_point, i8), expected, std::bit_cast<std::uint32_t>(x),
                      std::bit_cast<std::uint32_t>(scale), rule, division);
          const QuantizeArithmetic wrapping{
              .division = division, .rounding = rule, .zero_point = ZeroPointAt::after_rounding, .out_of_range = OutOfRange::int32_min};
          const Int128 converted = integer == saturated(integer, 32) ? integer : -two_to_the(31);
          tally.equal(quantize(wrapping, x, scale, zero_point, i8), saturated(wrapped(converted + zero_point, 32), 8),
                      std::bit_cast<std::uint32_t>(x), rule);
        }
      }
    }
  }
  tally.check(12 * 3000);
}

TEST_CASE("quantize: NaN gives what -infinity gives") {
  CHECK(quantize(half_away, std::numeric_limits<float>::quiet_NaN(), 1.0F, 5, i8) == -128);
  CHECK(quantize(half_even_before, std::numeric_limits<float>::quiet_NaN(), 1.0F, 5, i8) == -128);
}

TEST_CASE("dequantize: one rounding of the exact product, in float also of the integer") {
  std::mt19937_64 random(42);
  Tally tally;
  for (int i = 0; i < 20000; ++i) {
    const float scale = std::bit_cast<float>(static_cast<std::uint32_t>((100 + random() % 40) << 23 | random() % 0x800000));
    const std::int64_t centred = narrow_wrap(static_cast<std::int64_t>(random()), 1 + static_cast<int>(1 + random() % 20));
    for (const DequantizeProduct arithmetic : {DequantizeProduct::f64, DequantizeProduct::f32}) {
      // At most 20 bits times 24 fit a double: both arithmetics round once, to float.
      const Dyadic expected = as_float32(product({centred, 0}, dyadic(scale)));
      const Dyadic found = dyadic(dequantize({arithmetic}, centred, double{scale}));
      tally.equal(same_number(found, expected), true, centred, std::bit_cast<std::uint32_t>(scale));
    }
  }
  tally.check(40000);
}

}  // namespace
}  // namespace lastbit
