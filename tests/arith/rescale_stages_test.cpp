// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each stage on its own, against its one-line definition at the top of arith/stages/<kind>.hpp.
#include <vector>

#include "lastbit/arith/rescale.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr EncodedScale scale_of(std::int64_t multiplier, int bits, int fraction_bits, int exponent) {
  return {multiplier, bits, fraction_bits, exponent, 0};
}

/// apply() on a value at rest, or with places below the binary point.
Int128 applied(const Stage& stage, Int128 value, const RescaleOperands& operands, int fraction_bits = 0) {
  return apply(stage, {value, fraction_bits}, operands).value;
}

struct Values {
  std::mt19937_64 random{17};
  std::vector<std::int64_t> i32 = [this] {
    const auto narrow = chosen_values<std::int32_t>(random, 150);
    return std::vector<std::int64_t>(narrow.begin(), narrow.end());
  }();
  std::vector<std::int64_t> i64 = chosen_values<std::int64_t>(random, 150);
};

TEST_CASE("shift_left: by a positive exponent only, wrapped or saturated") {
  Values values;
  Tally tally;
  for (const Stage& stage :
       {stage::shift_left(32, Overflow::wrap), stage::shift_left(32, Overflow::saturate), stage::shift_left(20, Overflow::saturate)}) {
    for (int exponent = -40; exponent <= 62; ++exponent) {
      const RescaleOperands operands{.scale = scale_of(1 << 30, 31, 31, exponent)};
      for (const std::int64_t v : values.i64) {
        const Int128 shifted = v * two_to_the(std::max(exponent, 0));
        tally.equal(applied(stage, v, operands), narrowed(shifted, stage.bits, stage.overflow), v, exponent, stage.bits, stage.overflow);
      }
    }
  }
  tally.check();
}

TEST_CASE("multiply, then shift_right by what is left: one rounding of the exact product, whatever the bits of the multiplier") {
  Values values;
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (const int bits : {8, 15, 16, 24, 31}) {
      for (const Rounding narrowing : {Rounding::floor, Rounding::half_up, Rounding::half_even}) {
        for (int i = 0; i < 300; ++i) {
          const std::int64_t v = values.i32[values.random() % values.i32.size()];
          const std::int64_t q31 = (std::int64_t{1} << 30) + static_cast<std::int64_t>(values.random() % (1U << 30));
          const int exponent = static_cast<int>(values.random() % 70) - 40;
          const RescaleOperands operands{.scale = scale_of(q31, 31, 31, exponent)};
          const Stage stage = bits == 31
                                  ? stage::multiply()
                                  : Stage{.kind = StageKind::multiply, .rounding = narrowing, .bits = static_cast<std::uint8_t>(bits)};
          const InFlight multiplied = apply(stage, {v, 0}, operands);
          const Int128 kept = std::min(rounded(q31, two_to_the(31 - bits), narrowing), two_to_the(bits) - 1);
          tally.equal(multiplied.value, v * kept, v, q31, bits);
          const int places = bits - exponent;
          const Int128 expected = places >= 0 ? rounded(v * kept, two_to_the(places), rule) : v * kept * two_to_the(-places);
          const InFlight result = apply(stage::shift_right(rule), multiplied, operands);
          tally.equal(result.value, expected, v, q31, bits, exponent, rule);
          tally.equal(result.fraction_bits, 0);
        }
      }
    }
    tally.check();
  }
}

TEST_CASE("shift_right: far beyond the width only sign and fraction remain; a negative amount shifts left") {
  Values values;
  Tally tally;
  for (const Rounding rule : all_roundings) {
    for (const std::int64_t v : values.i64) {
      for (const int amount : {63, 64, 100, 126, 127, 200, 1000}) {
        const RescaleOperands operands{.scale = scale_of(1, 1, 0, 0)};
        tally.equal(applied(stage::shift_right(rule), v, operands, amount), rounded(v, two_to_the(std::min(amount, 126)), rule), v, amount,
                    rule);
      }
      for (const int exponent : {1, 30, 62}) {
        const RescaleOperands operands{.scale = scale_of(1, 1, 0, exponent)};
        tally.equal(applied(stage::shift_right(rule), v, operands), v * two_to_the(exponent), v, exponent, rule);
      }
    }
  }
  tally.check();
}

TEST_CASE("shift_right by the exponent or by a constant") {
  Values values;
  Tally tally;
  for (const Rounding rule : all_roundings) {
    for (const std::int64_t v : values.i64) {
      for (int exponent = -62; exponent <= 5; ++exponent) {
        const RescaleOperands operands{.scale = scale_of(1 << 30, 31, 31, exponent)};
        tally.equal(applied(stage::shift_right_by_exponent(rule), v, operands), rounded(v, two_to_the(std::max(-exponent, 0)), rule), v,
                    exponent, rule);
      }
      tally.equal(applied(stage::shift_right_by(0, rule), v, {}), v, v, rule);
      tally.equal(applied(stage::shift_right_by(7, rule), v, {}), rounded(v, 128, rule), v, rule);
      tally.equal(applied(stage::shift_right_by(62, rule), v, {}), rounded(v, two_to_the(62), rule), v, rule);
    }
  }
  tally.check();
}

TEST_CASE("doubling_high_multiply: the high half of twice the product, rounded, saturated for minimum times minimum alone") {
  Values values;
  Tally tally;
  int saturated_count = 0;
  for (const Rounding rule : all_roundings) {
    for (const std::int64_t a : values.i32) {
      for (const std::int64_t b : {std::int64_t{1} << 30, max_of_width(32), min_of_width(32), std::int64_t{1518500250}, std::int64_t{-1}}) {
        const RescaleOperands operands{.scale = scale_of(b, 31, 31, 0)};
        const Int128 exact = rounded(Int128{a} * b, two_to_the(31), rule);
        const Stage stage{.kind = StageKind::doubling_high_multiply, .rounding = rule, .bits = 32};
        tally.equal(applied(stage, a, operands), saturated(exact, 32), a, b, rule);
        saturated_count += static_cast<int>(exact != saturated(exact, 32));
      }
      const RescaleOperands q15{.scale = scale_of(0x5A82, 15, 15, 0)};
      const Int128 a16 = a % 32768;
      const Stage stage16{.kind = StageKind::doubling_high_multiply, .rounding = rule, .bits = 16};
      tally.equal(applied(stage16, a16, q15), rounded(a16 * 0x5A82, 32768, rule), a16, rule);
    }
  }
  tally.check();
  CHECK(saturated_count == 9);
}

TEST_CASE("two_term_shift: v * (2^k + 1), narrowed") {
  Values values;
  Tally tally;
  for (int k = 1; k <= 30; ++k) {
    const std::int64_t multiplier = (std::int64_t{1} << k) + 1;
    const RescaleOperands operands{.scale = scale_of(multiplier, k + 1, k, 0)};
    for (const Overflow rule : {Overflow::wrap, Overflow::saturate}) {
      const Stage stage = stage::two_term_shift(32, rule);
      for (const std::int64_t v : values.i32) {
        tally.equal(applied(stage, v, operands), narrowed(Int128{v} * multiplier, 32, rule), v, k, rule);
        tally.equal(apply(stage, {v, 0}, operands).fraction_bits, k);
      }
    }
  }
  tally.check();
}

TEST_CASE("absolute: the magnitude where the layer asks for it, and only there") {
  Values values;
  Tally tally;
  for (const std::int64_t v : values.i64) {
    tally.equal(applied(stage::absolute(), v, {.rectifier = Rectifier::magnitude}), v < 0 ? -Int128{v} : Int128{v}, v);
    for (const Rectifier other : {Rectifier::none, Rectifier::at_zero})
      tally.equal(applied(stage::absolute(), v, {.rectifier = other}), v, v);
  }
  tally.check();
}

TEST_CASE("what a layer states of its registers: offsets, a second scale, and one of values below 0") {
  Values values;
  Tally tally;
  for (const std::int64_t v : values.i32) {
    for (const std::int64_t stated : {std::int64_t{0}, std::int64_t{-7}, std::int64_t{1} << 39, min_of_width(32)}) {
      tally.equal(applied(stage::add_offset(), v, {.offset = stated}), Int128{v} + stated, v, stated);
      tally.equal(applied(stage::add_converter_offset(), v, {.converter = {.offset = stated}}), Int128{v} + stated, v, stated);
    }
    for (const std::int64_t multiplier : {-32768, -3, 0, 1, 32767}) {
      tally.equal(applied(stage::multiply_by_converter(16), v, {.converter = {.multiplier = multiplier}}), Int128{v} * multiplier, v,
                  multiplier);
      for (const int shift : {0, 1, 5, 31, 63}) {
        for (const Rounding rule : all_roundings) {
          const RescaleOperands converter{.converter = {.shift = shift}}, below{.below_zero = StatedScale{0, multiplier, shift}};
          tally.equal(applied(stage::shift_right_by_converter(rule), v, converter), rounded(v, two_to_the(shift), rule), v, shift, rule);
          const Int128 scaled = saturated(rounded(Int128{v} * multiplier, two_to_the(shift), rule), 32);
          tally.equal(applied(stage::scale_below_zero(32, rule), v, below), v < 0 ? scaled : Int128{v}, v, multiplier, shift, rule);
          tally.equal(applied(stage::scale_below_zero(32, rule), v, converter), v, v);
          const int other = (shift + 11) % 40;
          const RescaleOperands by_sign{.scale = {.fraction_bits = other}, .below_zero = StatedScale{0, multiplier, shift}};
          tally.equal(applied(stage::shift_right_by_sign(rule), v, by_sign), rounded(v, two_to_the(v < 0 ? shift : other), rule), v, shift,
                      rule);
          tally.equal(applied(stage::shift_right_by_sign(rule), v, {.scale = {.fraction_bits = other}}), v, v);
        }
        for (const Overflow rule : {Overflow::wrap, Overflow::saturate, Overflow::exact}) {
          const Int128 half = shift == 0 ? Int128{v} : Int128{v} + two_to_the(shift - 1) - (v < 0 ? 1 : 0);
          tally.equal(applied(stage::add_half_by_sign_by_exponent(32, rule), v, {.scale = {.exponent = -shift}}), narrowed(half, 32, rule),
                      v, shift);
        }
      }
    }
    const Int128 beyond = Int128{v} + two_to_the(32);  // of 33 bits: the low 32 are kept
    tally.equal(
        applied(stage::scale_below_zero(32, Rounding::floor), static_cast<std::int64_t>(beyond), {.below_zero = StatedScale{0, 3, 1}}),
        Int128{v}, v);
  }
  tally.check();
  CHECK(applied(stage::add_converter_offset(), 5, {}) == 5);
  CHECK(applied(stage::multiply_by_converter(16), 5, {}) == 5);
  CHECK(applied(stage::shift_right_by_converter(Rounding::half_up), 5, {}) == 5);
}

TEST_CASE("segments: the last one that starts below the value, its product rounded up or away from zero, its addend") {
  const std::vector<ScaleSegment> segments{
      {-(std::int64_t{1} << 20), 3, 1, 7}, {-100, -5, 4, 0}, {0, 1, 0, -3}, {1, 29000, 13, 2}, {std::int64_t{1} << 30, -7, 2, 1}};
  Values values;
  Tally tally;
  const auto product = [](const ScaleSegment& by, Int128 v) { return (v - by.start) * by.multiplier; };
  for (const std::int64_t v : values.i64) {
    const ScaleSegment* last = &segments.front();
    for (const ScaleSegment& each : segments) last = v > each.start ? &each : last;
    const Int128 p = product(*last, v), divisor = two_to_the(last->shift);
    for (const Rounding rule : all_roundings) {
      const Int128 lower = rounded(p, divisor, Rounding::floor), steps = rounded(p, divisor, rule) - lower;
      const RescaleOperands operands{.segments = segments};
      tally.equal(applied(lastbit::stage::segments(16, 16, rule, RoundingStep::up), v, operands), lower + steps + last->add, v, rule);
      tally.equal(applied(lastbit::stage::segments(16, 16, rule, RoundingStep::away_from_zero), v, operands),
                  (p < 0 ? lower - steps : lower + steps) + last->add, v, rule);
    }
    tally.equal(applied(lastbit::stage::segments(16, 16, Rounding::floor, RoundingStep::up), v, {}), v, v);
  }
  tally.check(static_cast<std::int64_t>(values.i64.size()) * 18);
  const std::vector<ScaleSegment> falls{{-10, -1, 2, 0}};  // quarters below 0
  const auto quarter = [&](int quarters, RoundingStep step) {
    return applied(lastbit::stage::segments(16, 16, Rounding::half_even, step), quarters - 10, {.segments = falls});
  };
  CHECK(quarter(1, RoundingStep::away_from_zero) == -2);
  CHECK(quarter(2, RoundingStep::away_from_zero) == -2);
  CHECK(quarter(3, RoundingStep::away_from_zero) == -1);
  CHECK(quarter(1, RoundingStep::up) == 0);
}

TEST_CASE("float_scale: the value as float, one float product, one rounding to an integer") {
  Values values;
  std::vector<float> scales{1.0F, 0.5F, 0x1p-149F, 0x1p100F, 0x1.fffffep-1F};
  for (int i = 0; i < 60; ++i)
    scales.push_back(std::bit_cast<float>(static_cast<std::uint32_t>((80 + values.random() % 60) << 23 | values.random() % 0x800000)));
  for (int n = 1; n <= 12; ++n) scales.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(127 - n) << 23));  // ties
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (const float scale : scales) {
      RescaleOperands operands;
      operands.scale.real_f32 = scale;
      for (const std::int64_t v : values.i64) {
        const Dyadic exact = as_float32(product(as_float32({v, 0}), dyadic(scale)));
        tally.equal(applied(stage::float_scale(rule), v, operands), as_integer(exact, rule), v, std::bit_cast<std::uint32_t>(scale), rule);
      }
    }
    tally.check();
  }
}

TEST_CASE("shift_right_with_zero_point: one rounding of v / 2^n + zero point; ties see the sum's sign and parity") {
  Values values;
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (const std::int64_t zero_point : {-128, -3, -1, 0, 1, 2, 7, 255}) {
      RescaleOperands operands{.scale = scale_of(1, 1, 0, 0)};
      operands.zero_point = zero_point;
      for (const std::int64_t v : values.i64) {
        for (const int amount : {1, 2, 9, 31, 40, 62, 90, 100, 101, 126, 400}) {
          const int places = std::min(amount, 100);
          const Int128 expected = rounded(v + zero_point * two_to_the(places), two_to_the(places), rule);
          tally.equal(applied(stage::shift_right_with_zero_point(rule), v, operands, amount), expected, v, zero_point, amount, rule);
        }
        tally.equal(applied(stage::shift_right_with_zero_point(rule), v, operands, 0), Int128{v} + zero_point, v, zero_point, rule);
        tally.equal(applied(stage::shift_right_with_zero_point(rule), v, operands, -5), Int128{v} * 32 + zero_point, v, zero_point, rule);
      }
    }
    tally.check();
  }
  // -0.5 onto zero point 3 is 2.5: away from zero it is 3, while -0.5 alone is -1, and then 2.
  RescaleOperands operands{.scale = scale_of(1, 1, 0, 0)};
  operands.zero_point = 3;
  CHECK(applied(stage::shift_right_with_zero_point(Rounding::half_away), -1, operands, 1) == 3);
  CHECK(applied(stage::shift_right(Rounding::half_away), -1, operands, 1) == -1);
}

TEST_CASE("float_scale_with_zero_point: product and sum rounded to float, then to an integer") {
  Values values;
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (const float scale : {1.0F, 0.5F, 0x1.8p-3F, 0x1.99999ap-7F, 0x1.fffffep-20F, 0x1p-40F}) {
      for (const std::int64_t zero_point : {-128, -3, 0, 5, 255}) {
        RescaleOperands operands;
        operands.zero_point = zero_point;
        operands.scale.real_f32 = scale;
        operands.scale.real_f64 = static_cast<double>(scale);
        for (const std::int64_t v : values.i32) {
          const Dyadic exact = as_float32(product(as_float32({v, 0}), dyadic(scale)));
          // On one exponent, as far as 128 bits reach: a product below 2^-70 is no more than a sign to the sum.
          const int down = std::max(-exact.exponent, 0);
          if (down > 70) continue;
          const Int128 whole = exact.significand * two_to_the(std::max(exact.exponent, 0));
          const Dyadic sum = as_float32({whole + zero_point * two_to_the(down), -down});
          tally.equal(applied(stage::float_scale_with_zero_point(rule), v, operands), as_integer(sum, rule), v, zero_point, rule);
          if (scale != 0.5F) continue;  // exact in double, ties among them
          tally.equal(applied(stage::float_scale_with_zero_point(rule, ProductArithmetic::f64), v, operands),
                      rounded(Int128{v} + 2 * zero_point, 2, rule), v, zero_point, rule);
        }
      }
    }
    tally.check();
  }
}

TEST_CASE("narrow, relu, zero point, clamp") {
  Values values;
  Tally tally;
  for (const std::int64_t v : values.i64) {
    for (const int bits : {2, 8, 16, 32, 48, 64}) {
      for (const Overflow rule : {Overflow::wrap, Overflow::saturate}) {
        const Stage stage{.kind = StageKind::narrow, .overflow = rule, .bits = static_cast<std::uint8_t>(bits)};
        tally.equal(applied(stage, v, {}), narrowed(v, bits, rule), v, bits, rule);
        tally.equal(applied(stage, Int128{v} * v, {}), narrowed(Int128{v} * v, bits, rule), v, bits, rule);
      }
    }
    tally.equal(applied(stage::relu(), v, {}), v, v);
    tally.equal(applied(stage::relu(), v, {.rectifier = Rectifier::at_zero}), v < 0 ? 0 : v, v);
    tally.equal(applied(stage::add_zero_point(), v, {.zero_point = -128}), Int128{v} - 128, v);
    tally.equal(applied(stage::clamp(), v, {.min = -128, .max = 127}), v < -128 ? -128 : v > 127 ? 127 : v, v);
    tally.equal(applied(stage::clamp(), v, {}), v, v);
  }
  tally.check();
}

TEST_CASE("table and pwl belong to the layer; without one the value passes") {
  constexpr std::int32_t entries[] = {10, 20, 30};
  constexpr PwlSegment segments[] = {{.x_base = 0, .y_base = 5, .slope = 256, .shift = 8}};
  const RescaleOperands operands{.table = {.first = -1, .values = entries}, .pwl = segments};
  CHECK(static_cast<int>(applied(stage::table(), -1, operands)) == 10);
  CHECK(static_cast<int>(applied(stage::table(), 1, operands)) == 30);
  CHECK(static_cast<int>(applied(stage::table(), two_to_the(80), operands)) == 30);  // beyond the table and beyond 64 bits
  CHECK(static_cast<int>(applied(stage::table(), 7, {})) == 7);
  CHECK(static_cast<int>(applied(stage::pwl(), 3, operands)) == 8);
  CHECK(static_cast<int>(applied(stage::pwl(), 7, {})) == 7);
  CHECK(static_cast<std::int64_t>(applied(stage::pwl(), two_to_the(40), operands)) == max_of_width(32) + 5);  // its input has 32 bits
}

}  // namespace
}  // namespace lastbit
