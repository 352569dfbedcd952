// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// N2D2's ways from a sum to a code, from the formulas of its kernels (docs/backends/n2d2.md) in exact integers: every shift, all sums near
// zero with their ties, and the extremes.
#include <numeric>

#include "lastbit/backends/n2d2.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr std::uint64_t seed = 20211;

/// Sums worth trying: all within a few thousand of zero, then extremes, powers of two and random ones of a width.
std::vector<std::int64_t> sums(int bits, std::int64_t dense) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> values(static_cast<std::size_t>(2 * dense + 1));
  std::iota(values.begin(), values.end(), -dense);
  if (bits == 32) {
    for (const std::int32_t value : chosen_values<std::int32_t>(random, 300)) values.push_back(value);
  } else {
    for (const std::int64_t value : chosen_values<std::int64_t>(random, 300)) values.push_back(value);
  }
  return values;
}

struct Bounds {
  const char* name;
  std::int64_t min, max;
};
constexpr Bounds all_bounds[] = {{"int8", -128, 127}, {"uint8", 0, 255}, {"4 bits signed", -8, 7}, {"4 bits unsigned", 0, 15}};

Int128 clamped(Int128 value, const Bounds& bounds) { return std::clamp<Int128>(value, bounds.min, bounds.max); }

RescaleOperands operands_of(const RescaleRule& rule, double scale, const Bounds& bounds, Rectifier rectifier = Rectifier::none) {
  RescaleOperands operands{.scale = encode(rule.scale, scale), .min = bounds.min, .max = bounds.max, .rectifier = rectifier};
  operands.storage_min = bounds.min;
  operands.storage_max = bounds.max;
  return operands;
}

TEST_CASE("single shift: the half joins the sum modulo its width, then the floor; without a bias the floor alone") {
  for (const int bits : {32, 64}) {
    const Backend& backend = n2d2_single_shift;
    const RescaleRule& biased = bits == 32 ? backend.conv.i8.sum.output : backend.conv.i16_bias64.sum.output;
    const RescaleRule& bare = bits == 32 ? backend.add.i8.output : backend.add.i16.output;
    Tally tally;
    for (int shift = 0; shift <= (bits == 32 ? 31 : 62); ++shift) {
      const double scale = std::ldexp(1.0, -shift);
      for (const Bounds& bounds : all_bounds) {
        for (const Rectifier rectifier : {Rectifier::none, Rectifier::at_zero}) {
          for (const std::int64_t x : sums(bits, shift <= 12 ? 9000 : 10)) {
            const Int128 half = shift == 0 ? 0 : two_to_the(shift - 1);
            Int128 sum = wrapped(Int128{x} + half, bits), plain = x;
            if (rectifier == Rectifier::at_zero) sum = std::max<Int128>(sum, 0), plain = std::max<Int128>(plain, 0);
            const auto with = operands_of(biased, scale, bounds, rectifier), without = operands_of(bare, scale, bounds, rectifier);
            tally.equal(finish(biased.chain, x, with), clamped(rounded(sum, two_to_the(shift), Rounding::floor), bounds), x, shift, bits);
            tally.equal(finish(bare.chain, x, without), clamped(rounded(plain, two_to_the(shift), Rounding::floor), bounds), x, shift);
          }
        }
      }
    }
    tally.check(1'000'000);
  }
}

TEST_CASE("double shift: x + (x << s1), the half, both modulo the width, then the floor") {
  for (const int bits : {32, 64}) {
    const RescaleRule& rule = bits == 32 ? n2d2_double_shift.conv.i8.sum.output : n2d2_double_shift.conv.i16_bias64.sum.output;
    Tally tally;
    for (int first = 0; first <= 8; ++first) {
      for (int second = 1; second <= 30; ++second) {
        if (second < first) continue;  // a scale above 1 is none of the export's
        const double scale = std::ldexp(1.0, first - second) + std::ldexp(1.0, -second);
        if (scale > 1) continue;
        for (const Bounds& bounds : {all_bounds[0], all_bounds[1]}) {
          const auto operands = operands_of(rule, scale, bounds);
          REQUIRE(holds(rule.scale, operands.scale));
          for (const std::int64_t x : sums(bits, 300)) {
            const Int128 shifted = wrapped(Int128{x} * two_to_the(first), bits);
            const Int128 sum = wrapped(wrapped(Int128{x} + shifted, bits) + two_to_the(second - 1), bits);
            tally.equal(finish(rule.chain, x, operands), clamped(rounded(sum, two_to_the(second), Rounding::floor), bounds), x, first,
                        second, bits);
          }
        }
      }
    }
    tally.check(300'000);
  }
}

TEST_CASE("fixed factors: the sum modulo 2^32 times m, half up, modulo the width, for factors of either size") {
  std::mt19937_64 random(seed);
  for (const int bits : {32, 64}) {
    for (const int multiplier_bits : {15, 31}) {
      const Backend& backend = multiplier_bits == 15 ? n2d2_fixed_mult16 : n2d2_fixed_mult32;
      const RescaleRule& rule = bits == 32 ? backend.conv.i8.sum.output : backend.conv.i16_bias64.sum.output;
      Tally tally;
      for (int i = 0; i < 400; ++i) {
        const int places = static_cast<int>(random() % 51);
        const std::int64_t multiplier =
            1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(max_of_width(multiplier_bits + 1)));
        const auto operands = operands_of(rule, std::ldexp(static_cast<double>(multiplier), -places), all_bounds[i % 2]);
        for (const std::int64_t x : sums(bits, 60)) {
          const Int128 product = wrapped(x, 32) * multiplier;
          const Int128 scaled = wrapped(rounded(product, two_to_the(places), Rounding::half_up), bits);
          tally.equal(finish(rule.chain, x, operands), clamped(scaled, all_bounds[i % 2]), x, multiplier, places, bits);
        }
      }
      tally.check(200'000);
    }
  }
}

/// The nearest binary64 number, ties to even; normal results only.
Dyadic as_float64(Dyadic value) {
  const int dropped = bit_length(value.significand) - 53;
  if (dropped <= 0) return value;
  return {rounded(value.significand, two_to_the(dropped), Rounding::half_even), value.exponent + dropped};
}

TEST_CASE("float factors: the product in double on the device, in float in the simulator, half away from zero") {
  std::mt19937_64 random(seed);
  Tally tally;
  for (int i = 0; i < 500; ++i) {
    const double scale =
        i < 20 ? std::ldexp(1.0, -i) : std::ldexp(static_cast<double>(random() >> 11), -60 - static_cast<int>(random() % 12));
    const RescaleRule &device = n2d2_float_mult.conv.i8.sum.output, &simulator = n2d2_simulator_float_mult.conv.i8.sum.output;
    const auto on_device = operands_of(device, scale, all_bounds[i % 2]), simulated = operands_of(simulator, scale, all_bounds[i % 2]);
    for (const std::int64_t x : sums(32, 300)) {
      const Dyadic exact = as_float64(product({x, 0}, dyadic(scale)));
      tally.equal(finish(device.chain, x, on_device), clamped(as_integer(exact, Rounding::half_away), all_bounds[i % 2]), x, i);
      const Dyadic in_float = as_float32(product(as_float32({x, 0}), dyadic(static_cast<float>(scale))));
      tally.equal(finish(simulator.chain, x, simulated), clamped(as_integer(in_float, Rounding::half_away), all_bounds[i % 2]), x, i);
    }
  }
  tally.check(800'000);
}

TEST_CASE("a clip bounds the sum before it is scaled, and only if the layer has one") {
  const RescaleRule& rule = n2d2_fixed_mult16.conv.i8.sum.output;
  auto operands = operands_of(rule, 3.0 / 8, all_bounds[0]);
  CHECK(finish(rule.chain, -100, operands) == -37);  // -37.5, half up
  operands.clip = 40;
  CHECK(finish(rule.chain, -100, operands) == 0);
  CHECK(finish(rule.chain, 40, operands) == 15);
  CHECK(finish(rule.chain, 41, operands) == 15);
}

TEST_CASE("behind a rectifier a factor can still wrap below zero: the device saturates to the range, not to zero") {
  const RescaleRule& rule = n2d2_fixed_mult16.conv.i8.sum.output;
  const auto operands = operands_of(rule, 1.5, all_bounds[0], Rectifier::at_zero);
  CHECK(finish(rule.chain, std::int64_t{3} << 29, operands) == -128);  // 2.25 * 2^30 wraps to -1.75 * 2^30
}

TEST_CASE("the export rounds sums down, the simulator half up: one apart exactly where the last shifted place is 1") {
  Tally tally;
  const RescaleRule &device = n2d2_single_shift.add.i8.output, &simulator = n2d2_simulator_single_shift.add.i8.output;
  for (int shift = 0; shift <= 12; ++shift) {
    const auto a = operands_of(device, std::ldexp(1.0, -shift), {"wide", -100000, 100000});
    const auto b = operands_of(simulator, std::ldexp(1.0, -shift), {"wide", -100000, 100000});
    for (std::int64_t x = -20000; x <= 20000; ++x) {
      const bool last_place = shift > 0 && is_odd(rounded(x, two_to_the(shift - 1), Rounding::floor));
      tally.equal(finish(simulator.chain, x, b) - finish(device.chain, x, a), static_cast<int>(last_place), x, shift);
    }
  }
  tally.check(500'000);
}

TEST_CASE("encodings: every shift, every pair of shifts, and nothing else") {
  Tally tally;
  for (int shift = 0; shift <= 62; ++shift) {
    const double scale = std::ldexp(1.0, -shift);
    for (const double real : {scale, std::nextafter(scale, 0.0), std::nextafter(scale, 2.0), scale * (1 + 0x1p-30)}) {
      const EncodedScale found = encode(n2d2::power_of_two, real);
      tally.equal(found.exponent, -shift, shift);
      tally.equal(holds(n2d2::power_of_two, found), 1, shift);
    }
    for (const double factor : {0.51, 0.75, 0.999, 1.001, 1.5, 1.999})
      tally.equal(holds(n2d2::power_of_two, encode(n2d2::power_of_two, scale * factor)), 0, shift);
    for (int k = 0; k < 24; ++k) {
      const double pair = scale * (k == 0 ? 0.5 : std::ldexp(1.0, -k - 1)) * (std::ldexp(1.0, k) + 1);
      const EncodedScale found = encode(n2d2::two_powers, pair);
      const bool in_reach = found.exponent >= -62;
      if (!in_reach || shift + k + 1 > 62) continue;
      tally.equal(found.multiplier, (std::int64_t{1} << k) + 1, k, shift);
      tally.equal(std::ldexp(static_cast<double>(found.multiplier), found.exponent) == pair, 1, k, shift);
      tally.equal(holds(n2d2::two_powers, found), 1, k, shift);
    }
    tally.equal(holds(n2d2::two_powers, encode(n2d2::two_powers, scale * 1.4)), 0, shift);
  }
  tally.equal(holds(n2d2::power_of_two, encode(n2d2::power_of_two, 2.0)), 0);
  tally.check(1000);
}

TEST_CASE("encodings: one exponent for a layer, from its largest scale; at most 50 places") {
  std::mt19937_64 random(seed);
  for (const int bits : {15, 31}) {
    const ScaleEncoding rule = n2d2::fixed_point(static_cast<std::uint8_t>(bits));
    Tally tally;
    for (int i = 0; i < 20000; ++i) {
      const double largest = std::ldexp(static_cast<double>(1 + (random() >> 12)), -50 - static_cast<int>(random() % 40));
      const double other = largest * static_cast<double>(random() >> 11) * 0x1p-53;
      if (other == 0) continue;
      int places = 50;
      while (std::ldexp(largest, places) > std::ldexp(1.0, bits) - 1) --places;
      for (const double real : {largest, other}) {
        const EncodedScale found = encode(rule, real, largest);
        tally.equal(found.fraction_bits - found.exponent, places, i);
        const Dyadic exact = dyadic(real);
        tally.equal(found.multiplier, as_integer({exact.significand, exact.exponent + places}, Rounding::half_away), i, places);
      }
    }
    tally.check(70'000);
  }
  CHECK(encode(n2d2::fixed_point(15), 1.0).multiplier == 16384);
  CHECK(encode(n2d2::fixed_point(15), 32767.0).multiplier == 32767);
  CHECK(encode(n2d2::fixed_point(15), 32767.0 / 32768).multiplier == 32767);
}

}  // namespace
}  // namespace lastbit
