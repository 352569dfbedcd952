// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What bernoulli2 brought to the vocabulary, against its contracts on exact integers: the split shift, the clipped multiplier, the stored bias,
// the common scale of an addition, the fixed reciprocal, interpolation on a grid; and that asymmetric codes are refused.
#include "lastbit/backends/bernoulli2.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/op/add.hpp"
#include "lastbit/op/conv2d.hpp"
#include "lastbit/op/pool.hpp"
#include "lastbit/op/resize.hpp"
#include "support/network.hpp"
#include "support/oracle.hpp"
#include "support/refusal.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

// A multiplier that rounds up to 2^15 is clipped, or the exponent takes it.
constexpr double just_below_one = 1 - 0x1p-17;
static_assert(encode(bpu::multiplier_q15, just_below_one).multiplier == 32767 && encode(bpu::multiplier_q15, just_below_one).exponent == 0);
constexpr ScaleEncoding renormalizing = [] {
  ScaleEncoding rule = bpu::multiplier_q15;
  rule.carry = MultiplierCarry::renormalize;
  return rule;
}();
static_assert(encode(renormalizing, just_below_one).multiplier == 16384 && encode(renormalizing, just_below_one).exponent == 1);

constexpr std::int64_t rescaled(const RescaleRule& rule, double scale, std::int64_t value, int data_bits = 32, int output_bits = 8) {
  return finish(rule.chain, value,
                {.scale = encode(rule.scale, scale), .min = -32768, .max = 32767, .data_bits = data_bits, .output_bits = output_bits});
}
// The two shifts truncate in a convolution; the second rounds half up elsewhere.
static_assert(rescaled(bpu::truncated, 0.5, 3) == 1 && rescaled(bpu::truncated, 0.5, -3) == -2);
static_assert(rescaled(bpu::rounded, 0.5, 3) == 2 && rescaled(bpu::rounded, 0.5, -3) == -1);
// A scale of one changes nothing that fits.
static_assert(rescaled(bpu::rounded, 1.0, 127) == 127 && rescaled(bpu::rounded, 1.0, -128) == -128);
// 2^-10: 22 places after the multiplier, 2 before it. Data of 16 bits are not shifted before.
static_assert(rescaled(bpu::truncated, 0x1p-10, 1024 * 3 + 7) == 3 && rescaled(bpu::truncated, 0x1p-10, -1) == -1);
static_assert(rescaled(bpu::rounded, 0x1.0008p-10, 511, 32) == 0 && rescaled(bpu::rounded, 0x1.0008p-10, 512, 16) == 1);

/// The vendor's formula on rationals; scale = significand * 2^exponent of a double.
Int128 split_oracle(Int128 value, double scale, bool rounds, int data_bits, int output_bits) {
  const Dyadic exact = dyadic(scale);
  const int length = bit_length(exact.significand);
  const int e = exact.exponent + length;  // scale = m * 2^e, m in [1/2, 1)
  const Int128 q = saturated(rounded(exact.significand * two_to_the(15), two_to_the(length), Rounding::half_up), 16);
  const int before = data_bits <= 16 ? 0 : std::clamp(15 - e - (30 - output_bits), 0, 31);
  const int after = std::clamp(15 - e - before, 0, 31);
  const Int128 factor = saturated(rounded(value, two_to_the(before), Rounding::floor), 16);
  const Int128 result = rounded(factor * q, two_to_the(after), rounds ? Rounding::half_up : Rounding::floor);
  return saturated(result, 16);
}

TEST_CASE("split shift: every exponent, every width, at both ends and next to every power of two") {
  std::mt19937_64 random(61);
  Tally tally;
  for (int exponent = -50; exponent <= 20; ++exponent) {
    for (const double significand : {0.5, 0.75, 1 - 0x1p-16, just_below_one, 0.5 + 0x1p-16, 0.5 + 0x1p-17, 0.61803398875}) {
      const double scale = std::ldexp(significand, exponent);
      for (const int data_bits : {8, 16, 32}) {
        for (const int output_bits : {8, 16}) {
          for (const std::int32_t value : chosen_values<std::int32_t>(random, 20)) {
            if (!fits_width(std::int64_t{value}, data_bits)) continue;
            tally.equal(rescaled(bpu::rounded, scale, value, data_bits, output_bits),
                        split_oracle(value, scale, true, data_bits, output_bits), value, exponent, data_bits, output_bits);
            tally.equal(rescaled(bpu::truncated, scale, value, data_bits, output_bits),
                        split_oracle(value, scale, false, data_bits, output_bits), value, exponent, data_bits, output_bits);
          }
        }
      }
    }
  }
  tally.check(300000);
}

TEST_CASE("split shift: no calibrated value is lost to the 16 bits before the multiplier") {
  // |x| <= 127 / r stays within 32512 behind the first shift, for every scale.
  Tally tally;
  for (int exponent = -30; exponent <= 0; ++exponent) {
    for (int part = 16384; part < 32768; part += 37) {
      const double scale = std::ldexp(static_cast<double>(part), exponent - 15);
      const auto largest = static_cast<std::int64_t>(127 / scale);
      const int before = std::clamp(15 - exponent - 22, 0, 31);
      if (largest > max_of_width(32)) continue;
      tally.equal((largest >> before) <= 32512, true, exponent, part);
    }
  }
  tally.check(8000);
}

static_assert(stored_bias(70001, 16, Rounding::floor) == 70000 && stored_bias(-70001, 16, Rounding::floor) == -70004);
static_assert(stored_bias(32767, 16, Rounding::floor) == 32767 && stored_bias(123456789, 0, Rounding::floor) == 123456789);

TEST_CASE("stored bias: the smallest shift that fits, what it drops rounded") {
  std::mt19937_64 random(62);
  Tally tally;
  for (const int bits : {8, 16, 32}) {
    for (const Rounding rule : {Rounding::floor, Rounding::half_up, Rounding::half_away, Rounding::toward_zero}) {
      for (const std::int32_t bias : chosen_values<std::int32_t>(random, 200)) {
        int shift = 0;
        while (saturated(rounded(bias, two_to_the(shift), rule), bits) != rounded(bias, two_to_the(shift), rule)) ++shift;
        tally.equal(stored_bias(bias, bits, rule), rounded(bias, two_to_the(shift), rule) * two_to_the(shift), bias, bits, rule);
      }
    }
  }
  tally.check(3000);
}

struct CommonScale {
  std::int64_t multiplier_a, multiplier_b;
  double scale;
};
CommonScale common_scale(double a, double b) {
  const EncodedTogether together = encode_together(bernoulli2.add.i8.operand.scale, std::vector{a, b});
  return {together.scales[0].multiplier, together.scales[1].multiplier, together.unit};
}

TEST_CASE("common scale: 127 for the smaller scale, 15 bits of the larger one's factor") {
  CHECK(common_scale(0.5, 0.5).multiplier_a == 127);
  CHECK(common_scale(0.5, 0.5).multiplier_b == 127);
  CHECK(common_scale(0.5, 1.0).multiplier_a == 127);
  CHECK(common_scale(0.5, 1.0).multiplier_b == 254);
  CHECK(common_scale(1.0, 0.5).multiplier_a == 254);
  CHECK(common_scale(1.0, 0.5).multiplier_b == 127);
  CHECK(common_scale(127.0, 65537.0).multiplier_b == 65536);  // 17 bits: the last 2 are cut
  CHECK(common_scale(1.0, 0x1p-25).multiplier_a == 1 << 25);
  CHECK(common_scale(1.0, 0x1p-25).multiplier_b == 1);
  CHECK(common_scale(1.0, 0x1p-27).multiplier_b == 0);  // too small to count
}

TEST_CASE("common scale: integer scales, where every quotient is exact") {
  std::mt19937_64 random(63);
  Tally tally;
  for (int i = 0; i < 20000; ++i) {
    // A unit of 1: the smaller scale is 127, the larger one an integer of at most 2^25.
    const std::int64_t larger = 127 + static_cast<std::int64_t>(random() >> (39 + random() % 18));
    if (larger > (1 << 25)) continue;
    const CommonScale found = common_scale(127.0, static_cast<double>(larger));
    const Int128 dropped = two_to_the(std::max(bit_length(larger) - 15, 0));
    tally.equal(found.multiplier_a, 127, larger);
    tally.equal(found.multiplier_b, larger / dropped * dropped, larger);
    tally.equal(static_cast<std::int64_t>(found.scale), 1, larger);
  }
  tally.check(30000);
}

TEST_CASE("bilinear on a grid: identical sizes copy, doubling takes quarters, the step keeps its rounded bits") {
  const ResizeArithmetic rule = bernoulli2.resize;
  const ResizeAxis same{7, 7, ResizeCoordinates::half_pixel, 0}, doubled{4, 8, ResizeCoordinates::half_pixel, 0};
  Tally tally;
  for (std::int64_t i = 0; i < 7; ++i) {
    tally.equal(linear_tap(rule, same, i).first, i, i);
    tally.equal(linear_tap(rule, same, i).weight, 0, i);
  }
  const std::int64_t firsts[] = {0, 0, 0, 1, 1, 2, 2, 3}, weights[] = {0, 64, 192, 64, 192, 64, 192, 0};
  for (std::int64_t i = 0; i < 8; ++i) {
    tally.equal(linear_tap(rule, doubled, i).first, firsts[i], i);
    tally.equal(linear_tap(rule, doubled, i).weight, weights[i], i);
  }
  // 3 to 7 pixels: the step 3/7 is 109.7 of 256; the accumulated step keeps 109.
  const ResizeAxis thirds{3, 7, ResizeCoordinates::asymmetric, 0};
  ResizeArithmetic each = rule;
  each.grid = ResizeGrid::coordinate;
  for (std::int64_t i = 0; i < 7; ++i) {
    const LinearTap stepped = linear_tap(rule, thirds, i), rounded_each = linear_tap(each, thirds, i);
    tally.equal(stepped.first * 256 + stepped.weight, std::min<std::int64_t>(i * 109, 512), i);
    tally.equal(rounded_each.first * 256 + rounded_each.weight, std::min<std::int64_t>(i * 768 / 7, 512), i);
  }
  tally.check(40);
}

TEST_CASE("interpolation: a weighted mean of four values, rounded once") {
  std::mt19937_64 random(64);
  Tally tally;
  for (const int bits : {8, 16}) {
    for (const Rounding rounding : all_roundings) {
      const ResizeArithmetic rule{.method = ResizeMethod::fixed_point,
                                  .grid = ResizeGrid::coordinate,
                                  .fraction_bits = static_cast<std::uint8_t>(bits),
                                  .grid_rounding = Rounding::floor,
                                  .rounding = rounding};
      for (int i = 0; i < 500; ++i) {
        const auto weight = [&] { return static_cast<std::int64_t>(random() % (1ULL << bits)); };
        const auto value = [&] { return static_cast<std::int64_t>(random() % 256) - 128; };
        const LinearTap row{0, 1, i < 20 ? 1 << (bits - 1) : weight()}, column{0, 1, i < 20 ? 1 << (bits - 1) : weight()};
        const std::int64_t a = value(), b = value(), c = value(), d = value();
        const Int128 one = two_to_the(bits);
        const Int128 sum = a * (one - row.weight) * (one - column.weight) + b * (one - row.weight) * column.weight +
                           c * row.weight * (one - column.weight) + d * row.weight * column.weight;
        tally.equal(interpolate(rule, row, column, a, b, c, d), rounded(sum, one * one, rounding), row.weight, column.weight, a, b, c, d);
      }
    }
  }
  tally.check(9000);
}

TEST_CASE("nearest: the four rules at the two kinds of ties") {
  const ResizeAxis halved{4, 2, ResizeCoordinates::half_pixel, 0};  // coordinates 0.5 and 2.5
  const struct {
    Rounding rule;
    std::int64_t first, second;
  } expected[] = {{Rounding::floor, 0, 2}, {Rounding::half_down, 0, 2}, {Rounding::half_up, 1, 3}, {Rounding::ceil, 1, 3}};
  for (const auto& at : expected) {
    REQUIRE(nearest_index(halved, 0, at.rule) == at.first);
    REQUIRE(nearest_index(halved, 1, at.rule) == at.second);
  }
}

Model relu_of(ElementType type, std::int64_t zero_point) {
  Network network;
  const auto x = network.tensor("x", type, {4}, {{0.5}, {zero_point}, 0}), y = network.tensor("y", type, {4}, {{0.5}, {zero_point}, 0});
  network.operation(OperationKind::relu, {x}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  return network.model;
}

TEST_CASE("symmetric coding: unsigned codes and other zero points are refused with the tensor's name") {
  REQUIRE(check(relu_of(ElementType::int8, 0), bernoulli2).empty());
  const auto shifted = check(relu_of(ElementType::int8, 3), bernoulli2);
  REQUIRE(shifted.size() == 1);
  REQUIRE(shifted[0].text() == "relu 'y': tensor 'x' has zero point 3; the device has only zero point 0");
  const auto unsigned_codes = check(relu_of(ElementType::uint8, 0), bernoulli2);
  REQUIRE(unsigned_codes.size() == 1);
  REQUIRE(unsigned_codes[0].text() == "relu 'y': tensor 'x' is uint8; the device has signed codes");
}

TEST_CASE("a pool that must keep its input's scale refuses another") {
  Network network;
  const auto x = network.tensor("x", ElementType::int8, {1, 2, 2, 1}, {{0.5}, {0}, 0}),
             y = network.tensor("y", ElementType::int8, {1, 1, 1, 1}, {{0.25}, {0}, 0});
  network.operation(OperationKind::global_average_pool, {x}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  REQUIRE(check(network.model, bernoulli2).empty());
  Backend shared = bernoulli2;
  shared.global_average_pool.output_scale = OutputScale::of_input;
  REQUIRE(check(network.model, shared).size() == 1);
  network.model.tensors[1].quantization.scales = {0.5};
  REQUIRE(check(network.model, shared).empty());
}

}  // namespace
}  // namespace lastbit
