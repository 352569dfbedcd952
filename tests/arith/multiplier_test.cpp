// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Scales to registers: each device's own definition, from the bits of the float.
#include "lastbit/arith/multiplier.hpp"

#include <vector>

#include "lastbit/arith/ratio.hpp"
#include "lastbit/arith/rescale.hpp"
#include "lastbit/backends/gap8.hpp"
#include "lastbit/backends/rockchip.hpp"
#include "lastbit/backends/sophgo.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/backends/vipnano.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

static_assert(encode(tflite::multiplier_q31, 1.0).multiplier == 1 << 30 && encode(tflite::multiplier_q31, 1.0).exponent == 1);
static_assert(encode(tflite::multiplier_q31, 0x1p-40).multiplier == 0);  // too small for the register
static_assert(encode(tflite::multiplier_q31_single, 0x1p31).multiplier == (std::int64_t{1} << 31) - 1);
static_assert(encode(vipnano::scale_f32, 1.5).multiplier == 3 << 22 && encode(vipnano::scale_f32, 1.5).exponent == 0);

/// Scales as products of floats meet them: powers of two and neighbours, every exponent from 2^-45 to 2^45, random significands.
std::vector<double> scales() {
  std::mt19937_64 random(31);
  std::vector<double> values{0.0, 1.0, 0.5};
  for (int exponent = -45; exponent <= 45; ++exponent) {
    const auto bits_of_power = static_cast<std::uint64_t>(exponent + 1023) << 52;
    std::vector<std::uint64_t> stored{0, 1, (std::uint64_t{1} << 52) - 1};
    // Around the last bit that 31, 24, 16, 15 and 1 significant bits keep: exact ties and their neighbours, and carries to the next power.
    for (const int kept : {31, 24, 16, 15, 1}) {
      const std::uint64_t half = std::uint64_t{1} << (52 - kept);
      for (const std::uint64_t base : {std::uint64_t{0}, 2 * half, 6 * half}) {
        for (const std::uint64_t delta : {half - 1, half, half + 1}) stored.push_back(base + delta);
      }
      for (const std::uint64_t delta : {std::uint64_t{0}, half, half + 1}) stored.push_back((std::uint64_t{1} << 52) - 1 - delta);
    }
    for (int i = 0; i < 40; ++i) stored.push_back(random() >> 12);
    for (const std::uint64_t part : stored)
      values.push_back(std::bit_cast<double>(bits_of_power | (part & ((std::uint64_t{1} << 52) - 1))));
  }
  return values;
}

struct Quantized {
  Int128 multiplier = 0;
  int shift = 0;
};

/// TFLite's QuantizeMultiplier: frexp, round half away to 31 bits, both builds' limits.
Quantized quantize_multiplier(double real, Int128 largest_shift) {
  const Dyadic exact = dyadic(real);
  if (exact.significand == 0) return {};
  const int length = bit_length(exact.significand);
  int shift = exact.exponent + length;  // real = q * 2^shift, q in [0.5, 1)
  Int128 q31 = rounded(exact.significand * two_to_the(31), two_to_the(length), Rounding::half_away);
  if (q31 == two_to_the(31)) {
    q31 /= 2;
    ++shift;
  }
  if (shift < -31) return {};
  if (shift > largest_shift) return {two_to_the(31) - 1, static_cast<int>(largest_shift)};
  return {q31, shift};
}

TEST_CASE("TFLite: QuantizeMultiplier of the double and of the single build") {
  Tally tally;
  int limited = 0;
  for (const double scale : scales()) {
    for (const bool single : {false, true}) {
      const Quantized expected = quantize_multiplier(scale, single ? 30 : 1 << 20);
      const EncodedScale found = encode(single ? tflite::multiplier_q31_single : tflite::multiplier_q31, scale);
      const auto bits = std::bit_cast<std::uint64_t>(scale);
      tally.equal(found.multiplier, expected.multiplier, bits, single);
      tally.equal(found.exponent, expected.shift, bits, single);
      tally.equal(found.fraction_bits, 31);
      limited += static_cast<int>(single && expected.multiplier == two_to_the(31) - 1);
    }
  }
  tally.check(91 * 60 * 6);
  CHECK(limited > 0);
}

TEST_CASE("TFLite, 64-bit accumulators: the multiplier keeps 15 bits, a carry saturates") {
  Tally tally;
  for (const double scale : scales()) {
    const EncodedScale encoded = encode(tflite::multiplier_q31, scale);
    const NarrowedMultiplier found = narrow_multiplier(encoded, 15, Rounding::half_up);
    const Int128 m = encoded.multiplier;
    const Int128 expected = m < 0x7FFF0000 ? (m + 0x8000) / 0x10000 : Int128{0x7FFF};
    tally.equal(found.multiplier, expected, m);
    tally.equal(found.fraction_bits, 15, m);
  }
  tally.check(91 * 60);
}

TEST_CASE("VIPNano: mantissa and exponent of the float32 scale; V7 keeps the upper 15 stored bits") {
  std::mt19937_64 random(24);
  Tally tally;
  for (std::uint32_t exponent = 1; exponent < 255; ++exponent) {
    for (int i = 0; i < 60; ++i) {
      const std::uint32_t special[] = {0, 1, 0x7FFFFF, 0x7FFF00, 0x80, 0xFF, 0x100};
      const std::uint32_t mantissa = i < 7 ? special[i] : static_cast<std::uint32_t>(random() % 0x800000);
      const float scale = std::bit_cast<float>(exponent * 0x800000 + mantissa);
      const EncodedScale encoded = encode(vipnano::scale_f32, double{scale});
      const int biased = static_cast<int>(exponent);
      // V8: M = 2^23 + mantissa, n = 23 + 127 - e.
      tally.equal(encoded.multiplier, 0x800000 + mantissa, exponent, mantissa);
      tally.equal(encoded.fraction_bits - encoded.exponent, 23 + 127 - biased, exponent, mantissa);
      // V7: M = 2^15 + (mantissa >> 8), n = 142 - e.
      const NarrowedMultiplier v7 = narrow_multiplier(encoded, 16, Rounding::floor);
      tally.equal(v7.multiplier, 0x8000 + mantissa / 256, exponent, mantissa);
      tally.equal(v7.fraction_bits - encoded.exponent, 142 - biased, exponent, mantissa);
      tally.equal(std::bit_cast<std::uint32_t>(encoded.real_f32), exponent * 0x800000 + mantissa, exponent, mantissa);
    }
  }
  tally.check(254 * 60 * 5);
}

TEST_CASE("n bits and powers of two: the nearest representable scale by every rule, in both normalisations") {
  Tally tally;
  const auto values = scales();
  for (const int bits : {1, 2, 8, 15, 16, 24, 31}) {
    for (const Rounding rule : all_roundings) {
      for (const Normalization normalization : {Normalization::half_to_one, Normalization::one_to_two}) {
        const ScaleEncoding encoding{.arithmetic = ScaleArithmetic::f64,
                                     .significant_bits = static_cast<std::uint8_t>(bits),
                                     .rounding = rule,
                                     .normalization = normalization,
                                     .min_exponent = -200,
                                     .max_exponent = 200};
        for (std::size_t i = 1; i < values.size(); i += 7) {
          const EncodedScale found = encode(encoding, values[i]);
          const Dyadic exact = dyadic(values[i]);
          // The exact significand has 53 bits; keeping `bits` of them is a division. Equal as numbers, and normalised.
          const Int128 kept = rounded(exact.significand, two_to_the(53 - bits), rule);
          const int lifted = found.exponent - found.fraction_bits - (exact.exponent + 53 - bits);
          tally.equal(found.multiplier * two_to_the(lifted), kept, bits, rule, normalization, i);
          tally.equal(bit_length(found.multiplier), bits, bits, rule, i);
          tally.equal(found.fraction_bits, normalization == Normalization::half_to_one ? bits : bits - 1, bits, i);
        }
      }
    }
  }
  tally.check(7 * 9 * 2 * 500 * 3);
}

TEST_CASE("exponents beyond the register: zero below, the largest multiplier above") {
  const ScaleEncoding encoding{.arithmetic = ScaleArithmetic::f64,
                               .significant_bits = 8,
                               .rounding = Rounding::half_even,
                               .normalization = Normalization::half_to_one,
                               .min_exponent = -4,
                               .max_exponent = 3};
  CHECK(encode(encoding, 0x1.8p-6).multiplier == 0);
  CHECK(encode(encoding, 0x1p-5).multiplier == 128);
  CHECK(encode(encoding, 0x1p-5).exponent == -4);
  CHECK(encode(encoding, 7.0).exponent == 3);
  CHECK(encode(encoding, 8.0) == EncodedScale{255, 8, 8, 3, 8.0F, 8.0});
  CHECK(encode(encoding, 7.999) == EncodedScale{255, 8, 8, 3, 7.999F, 7.999});  // carries to 2^8 * 2^-5 = 8, beyond the register
}

TEST_CASE("RKNPU2: 14 bits of a float32's mantissa and one more; a carry goes into the shift, or is lost") {
  std::mt19937_64 random(25);
  Tally tally;
  constexpr std::uint32_t all_ones = 0x3FFF;
  for (std::uint32_t biased = 80; biased < 141; ++biased) {
    for (int i = 0; i < 60; ++i) {
      // All 14 ones carry; one less, or the bits below them alone, do not. A power of two gets its one as well.
      const std::uint32_t special[] = {0, 1, 0x1FF, 0x200, all_ones << 9, all_ones << 9 | 0x1FF, (all_ones << 9) - 1};
      const std::uint32_t mantissa = i < 7 ? special[i] : static_cast<std::uint32_t>(random() % 0x800000);
      const double scale{std::bit_cast<float>(biased << 23 | mantissa)};
      const EncodedScale vendor = encode(rk3588.conv.i8.sum.output.scale, scale),
                         mesa = encode(rk3588_mesa.conv.i8.sum.output.scale, scale);
      const bool carries = mantissa >> 9 == all_ones;
      const int shift = 141 - static_cast<int>(biased);
      tally.equal(vendor.multiplier, carries ? 0x4000 : 0x4001 + (mantissa >> 9), biased, mantissa);
      tally.equal(vendor.fraction_bits - vendor.exponent, shift - (carries ? 1 : 0), biased, mantissa);
      // Mesa: ((bits >> 9) & 0x7FFF) + 1, with 2^14 set where it is less, in a signed register of 16 bits.
      const std::uint32_t field = (biased << 14 | mantissa >> 9) % 0x8000 + 1;
      tally.equal(mesa.multiplier, wrapped(field < 0x4000 ? field | 0x4000U : field, 16), biased, mantissa);
      tally.equal(mesa.fraction_bits - mesa.exponent, shift, biased, mantissa);
    }
  }
  tally.check(61 * 60 * 4);
}

TEST_CASE("Sophgo: the first shift with the least error, and the first multiplier that is half of the bound") {
  std::mt19937_64 random(26);
  Tally tally;
  const auto check = [&](double scale) {
    const Dyadic exact = dyadic(scale);
    for (const int bits : {7, 31}) {
      ScaleEncoding rule = sophgo::positive;
      rule.significant_bits = static_cast<std::uint8_t>(bits);
      Int128 multiplier = 0, least = -1;
      int shift = 0;
      for (int n = 0; n <= 30; ++n) {  // errors in units of 2^-90
        const Int128 real = exact.significand * two_to_the(90 + exact.exponent);
        const Int128 rounded_up = rounded(real, two_to_the(90 - n), Rounding::half_away);
        if (rounded_up >= two_to_the(bits) - 1) continue;
        const Int128 error = magnitude(rounded_up * two_to_the(90 - n) - real);
        if (least < 0 || error < least) least = error, multiplier = rounded_up, shift = n;
      }
      const EncodedScale found = encode(rule, scale);
      tally.equal(found.multiplier, multiplier, scale, bits);
      tally.equal(-found.exponent, shift, scale, bits);
      tally.equal(found.fraction_bits, 0, scale, bits);
    }
    for (const int bits : {7, 8}) {
      const ScaleEncoding rule{.arithmetic = ScaleArithmetic::f64,
                               .significant_bits = static_cast<std::uint8_t>(bits),
                               .rounding = Rounding::floor,
                               .normalization = Normalization::largest_below,
                               .min_exponent = -62,
                               .max_exponent = 0};
      int shift = 0;
      while (rounded(exact.significand * two_to_the(60), two_to_the(60 - exact.exponent - shift - 1), Rounding::floor) <
             two_to_the(bits) - 1)
        ++shift;
      const EncodedScale found = encode(rule, scale);
      tally.equal(found.multiplier, rounded(exact.significand, two_to_the(-exact.exponent - shift), Rounding::floor), scale, bits);
      tally.equal(-found.exponent, shift, scale, bits);
    }
  };
  for (const double scale : {0.5, 0.25, 1.0, 127.0 / 256, 126.0 / 256, 63.5 / 64, 255.0 / 4096, 0x1p-11, 3.0, 7.75}) check(scale);
  for (int i = 0; i < 2000; ++i) check(std::bit_cast<float>(static_cast<std::uint32_t>((116 + random() % 14) << 23 | random() % 0x800000)));
  tally.check(2000 * 10);
}

TEST_CASE("GAP: trailing zeros of a multiplier are shifted out") {
  const ScaleEncoding& rule = gap8_rules::odd_8_bits;
  const auto held = [&](double scale) {
    const EncodedScale encoded = encode(rule, scale);
    return std::pair(encoded.multiplier, encoded.fraction_bits - encoded.exponent);
  };
  CHECK(held(0.5) == std::pair<std::int64_t, int>(1, 1));
  CHECK(held(0.75) == std::pair<std::int64_t, int>(3, 2));
  CHECK(held(255.0 / 256) == std::pair<std::int64_t, int>(255, 8));
  CHECK(held(1) == std::pair<std::int64_t, int>(1, 0));
  CHECK(held(64) == std::pair<std::int64_t, int>(64, 0));      // the shift ends at 0
  CHECK(held(0x1p-30) == std::pair<std::int64_t, int>(0, 8));  // too small for a shift of 24
}

TEST_CASE("registers are what the layer states, whatever the rule makes of its scale") {
  for (const ScaleEncoding& rule : {tflite::multiplier_q31, vipnano::scale_f32, sophgo::positive, gap8_rules::odd_8_bits}) {
    const EncodedScale stated = as_registers(rule, 100, 9, 0.25);
    CHECK(stated.multiplier == 100);
    CHECK(stated.fraction_bits - stated.exponent == 9);
    CHECK(stated.fraction_bits == encode(rule, 0.25).fraction_bits);
    CHECK(stated.real_f64 == 0.25);
  }
}

TEST_CASE("effective scale in float: the product rounded, then the quotient rounded") {
  // Subnormal scales aside, every float product and quotient is one rounding of the exact value.
  std::mt19937_64 random(3);
  Tally tally;
  for (int i = 0; i < 20000; ++i) {
    const auto next = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>((100 + random() % 40) << 23 | random() % 0x800000)); };
    const float in = next(), weight = next(), out = next();
    const Dyadic product_f32 = as_float32(product(dyadic(in), dyadic(weight)));
    // p / o to 24 bits: 2^40 times the integer quotient has at least 39 bits; what it drops is below every tie but kept sticky.
    const Int128 numerator = product_f32.significand * two_to_the(40);
    const Int128 quotient = rounded(numerator, dyadic(out).significand, Rounding::to_odd);
    const Dyadic expected = as_float32({quotient, product_f32.exponent - 40 - dyadic(out).exponent});
    const double found = effective_scale(ScaleArithmetic::f32, double{in}, double{weight}, double{out});
    tally.equal(same_number(dyadic(found), expected), true, static_cast<std::size_t>(i));
  }
  tally.check(20000);
}

/// a / b of float32, rounded once: 2^40 times the integer quotient has more bits than any tie, and what it drops is kept sticky.
Dyadic float_quotient(const Dyadic& a, const Dyadic& b) {
  const Int128 quotient = rounded(a.significand * two_to_the(40), b.significand, Rounding::to_odd);
  return as_float32({quotient, a.exponent - 40 - b.exponent});
}

TEST_CASE("effective scale of inverses and of a quotient: every inverse, product and quotient rounded to float") {
  std::mt19937_64 random(5);
  Tally tally;
  std::size_t differ = 0;
  const Dyadic one = dyadic(1.0F);
  for (int i = 0; i < 20000; ++i) {
    const auto next = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>((110 + random() % 20) << 23 | random() % 0x800000)); };
    const float in = next(), weight = next(), out = next();
    const LayerQuantities layer = one_operand(double{in}, double{weight}, double{out});
    const Ratio ratio{{Quantity::in, Quantity::weight}, {Quantity::out, Quantity::one}};
    const Dyadic by_inverse = as_float32(product(as_float32(product(dyadic(in), dyadic(weight))), float_quotient(one, dyadic(out))));
    const Dyadic inverses = as_float32(product(float_quotient(one, dyadic(in)), float_quotient(one, dyadic(weight))));
    const Dyadic of_inverses = float_quotient(float_quotient(one, dyadic(out)), inverses);
    const Dyadic of_quotient = as_float32(product(float_quotient(dyadic(in), dyadic(out)), dyadic(weight)));
    for (const auto& [arithmetic, expected] :
         {std::pair{ScaleArithmetic::f32_by_inverse_output, by_inverse}, std::pair{ScaleArithmetic::f32_of_inverses, of_inverses},
          std::pair{ScaleArithmetic::f32_of_quotient, of_quotient}}) {
      tally.equal(same_number(dyadic(static_cast<float>(evaluate(ratio, arithmetic, layer))), expected), true, static_cast<std::size_t>(i));
      tally.equal(effective_scale(arithmetic, double{in}, double{weight}, double{out}) == evaluate(ratio, arithmetic, layer), true,
                  static_cast<std::size_t>(i));
    }
    differ += same_number(by_inverse, of_inverses) || same_number(of_quotient, of_inverses) ? 0U : 1U;
  }
  tally.check(120000);
  CHECK(differ > 1000);
}

}  // namespace
}  // namespace lastbit
