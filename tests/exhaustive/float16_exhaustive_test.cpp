// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// binary16 over every pattern, and over every float32 that lies on, beside or half-way between two patterns.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "lastbit/arith/float16.hpp"
#include "support/float16_oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

Float16 pattern(int bits) { return {static_cast<std::uint16_t>(bits)}; }
Float16Rules rounded_by(Rounding rounding) {
  Float16Rules rules = ieee_float16;
  rules.rounding = rounding;
  return rules;
}
bool is_finite(int bits) { return bits % 0x8000 < 0x7C00; }

}  // namespace

TEST_CASE("float16: every pattern widens exactly and comes back") {
  Tally tally;
  for (int bits = 0; bits < 65536; ++bits) {
    const float wide = to_float32(pattern(bits));
    if (is_finite(bits)) {
      tally.equal(same_number(dyadic(wide), {float16_units(pattern(bits)), -24}), true, bits);
      tally.equal(std::signbit(wide), bits >= 0x8000, bits);
    }
    const bool is_nan = bits % 0x8000 > 0x7C00;
    for (const Rounding rounding : all_roundings) {
      const int expected = is_nan ? bits | 0x200 : bits;  // a NaN comes back quiet
      tally.equal(to_float16(wide, rounded_by(rounding)).bits, expected, bits);
      tally.equal(to_float16(static_cast<double>(wide), rounded_by(rounding)).bits, expected, bits);
    }
  }
  tally.check(18 * 65536);
}

TEST_CASE("float16: read as ordinary numbers, the patterns of the top exponent go on from 65536") {
  Tally tally;
  for (int bits = 0; bits < 65536; ++bits) {
    const float wide = to_float32(pattern(bits), Float16TopExponent::ordinary);
    if (is_finite(bits)) tally.equal(std::bit_cast<std::uint32_t>(wide), std::bit_cast<std::uint32_t>(to_float32(pattern(bits))), bits);
    else tally.equal(static_cast<Int128>(wide), (bits >= 0x8000 ? -64 : 64) * (1024 + bits % 1024), bits);
  }
  tally.check(65536);
}

TEST_CASE("float16: every value, every half-way point, and the floats beside them, by every rounding rule") {
  for (const Rounding rounding : all_roundings) {
    Tally tally;
    const auto check = [&](float value) {
      for (const float x : {std::nextafter(value, 0.0F), value, std::nextafter(value, 1e30F)}) {
        if (x == 0) continue;
        for (const float y : {x, -x}) {
          tally.equal(to_float16(y, rounded_by(rounding)).bits, float16_nearby(dyadic(y), rounding).bits, std::bit_cast<std::uint32_t>(y));
        }
      }
    };
    const auto& magnitudes = float16_magnitudes();
    for (std::size_t i = 0; i + 1 < magnitudes.size(); ++i) {
      check(std::ldexp(static_cast<float>(magnitudes[i]), -24));
      check(std::ldexp(static_cast<float>(magnitudes[i] + magnitudes[i + 1]), -25));
    }
    for (int exponent = -149; exponent < 128; ++exponent) check(std::ldexp(1.0F, exponent));
    tally.check(380'000);
  }
}

TEST_CASE("float16: doubles a little beside every half-way point are rounded once") {
  // Through float32 they would become the half-way point itself.
  Tally tally;
  const auto& magnitudes = float16_magnitudes();
  for (std::size_t i = 0; i + 1 < magnitudes.size(); ++i) {
    const double middle = std::ldexp(static_cast<double>(magnitudes[i] + magnitudes[i + 1]), -25);
    for (const double x : {std::nextafter(middle, 0.0), std::nextafter(middle, 1e30)}) {
      tally.equal(to_float16(x, ieee_float16).bits, float16_nearby(dyadic(x), Rounding::half_even).bits, i);
    }
  }
  tally.check(63'488);
}

namespace {

template <class Integer>
void check_integers(Rounding rounding) {
  Tally tally;
  for (int bits = 0; bits < 65536; ++bits) {
    if (!is_finite(bits)) continue;
    const Int128 whole = rounded(float16_units(pattern(bits)), two_to_the(24), rounding);
    const Int128 lowest = std::numeric_limits<Integer>::min(), highest = std::numeric_limits<Integer>::max();
    tally.equal(to_integer<Integer>(pattern(bits), rounding), std::max(lowest, std::min(whole, highest)), bits);
  }
  tally.check(63'488);
}

}  // namespace

TEST_CASE("float16: every value to integers of every width, by every rounding rule") {
  for (const Rounding rounding : all_roundings) {
    check_integers<std::int8_t>(rounding);
    check_integers<std::uint8_t>(rounding);
    check_integers<std::int16_t>(rounding);
    check_integers<std::int32_t>(rounding);
  }
}

TEST_CASE("float16: every integer up to the overflow and some beyond, by every rounding rule") {
  for (const Rounding rounding : all_roundings) {
    Tally tally;
    const auto check = [&](std::int32_t value) {
      if (value != 0) tally.equal(to_float16(value, rounded_by(rounding)).bits, float16_nearby({value, 0}, rounding).bits, value, rounding);
    };
    for (std::int32_t value = -66'000; value <= 66'000; ++value) check(value);
    std::mt19937_64 random(16);
    for (const auto value : chosen_values<std::int32_t>(random, 1000)) check(value);
    tally.check(132'000);
  }
}

TEST_CASE("float16: the operations on random pairs of finite values, by every rounding rule") {
  std::mt19937_64 random(1616);
  for (const Rounding rounding : all_roundings) {
    const Float16Rules rules = rounded_by(rounding);
    Tally tally;
    for (int i = 0; i < 50'000; ++i) {
      const auto next = [&] { return static_cast<int>(random() % 0x7C00 + (random() % 2) * 0x8000); };
      const Float16 a = pattern(next()), b = pattern(next());
      const Int128 x = float16_units(a), y = float16_units(b);
      const auto expect = [&](Float16 found, Int128 numerator, Int128 denominator) {
        if (numerator == 0 || denominator == 0) return;
        const bool negative = (numerator < 0) != (denominator < 0);
        tally.equal(found.bits, float16_nearby(negative, magnitude(numerator), magnitude(denominator), rounding).bits, a.bits, b.bits,
                    rounding);
      };
      expect(add(a, b, rules), x + y, 1);
      expect(subtract(a, b, rules), x - y, 1);
      expect(multiply(a, b, rules), x * y, two_to_the(24));
      expect(divide(a, b, rules, Float16ZeroDivision::ieee), x * two_to_the(24), y);
    }
    tally.check(199'000);
  }
}

}  // namespace lastbit
