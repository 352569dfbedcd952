// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The parts of op/add.hpp that are not chains: shared weights in fixed point, and the 8-bit weights of an addition done as convolution.
#include "lastbit/op/add.hpp"

#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

static_assert(sum_weights(21, 1.0, 0.5, 1.0).a == 1 << 20 && sum_weights(21, 1.0, 0.5, 1.0).b == 1 << 19);
static_assert(add_weighted(sum_weights(21, 0.5, 0.5, 1.0), 1, 2, Rounding::half_up) == 2);
static_assert(add_weighted(sum_weights(21, 0.5, 0.5, 1.0), -1, -2, Rounding::half_up) == -1);

float random_scale(std::mt19937_64& random, int spread) {
  const auto exponent = 120 + random() % static_cast<unsigned>(spread);
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent << 23 | (random() % 4 == 0 ? 0 : random() % 0x800000)));
}

/// a / b to float, from an integer quotient with more than enough bits and a sticky last one.
Dyadic quotient(float a, float b) {
  const Dyadic x = dyadic(a), y = dyadic(b);
  return as_float32({rounded(x.significand * power_of_two(40), y.significand, Rounding::to_odd), x.exponent - 40 - y.exponent});
}

/// value * 2^shift rounded half to even; the value has 24 significant bits or more.
Int128 scaled(Dyadic value, int shift) {
  const int up = value.exponent + shift;
  return up >= 0 ? value.significand * power_of_two(up) : rounded(value.significand, power_of_two(std::min(-up, 120)), Rounding::half_even);
}

TEST_CASE("weighted_sum: both weights on one exponent, the larger of weight_bits bits; one rounding") {
  std::mt19937_64 random(51);
  Tally tally;
  for (int i = 0; i < 20000; ++i) {
    const float a = random_scale(random, 10), b = random_scale(random, 10), out = random_scale(random, 10);
    const Dyadic ratio_a = quotient(a, out), ratio_b = quotient(b, out);
    const SumWeights found = sum_weights(21, double{a}, double{b}, double{out});
    // 2^20 <= larger ratio * 2^shift < 2^21, before it is rounded.
    const int length = std::max(bit_length(ratio_a.significand) + ratio_a.exponent, bit_length(ratio_b.significand) + ratio_b.exponent);
    const int shift = 21 - length;
    tally.equal(found.shift, shift, i);
    tally.equal(found.a, scaled(ratio_a, shift), i);
    tally.equal(found.b, scaled(ratio_b, shift), i);
    const std::int64_t qa = static_cast<std::int64_t>(random() % 511) - 255, qb = static_cast<std::int64_t>(random() % 511) - 255;
    for (const Rounding rule : {Rounding::half_up, Rounding::half_even}) {
      tally.equal(add_weighted(found, qa, qb, rule), rounded(qa * found.a + qb * found.b, power_of_two(shift), rule), qa, qb, shift, rule);
    }
  }
  tally.check(100000);
}

TEST_CASE("weighted_sum of 0 weight bits: the exact sum of both float ratios, rounded once") {
  std::mt19937_64 random(52);
  Tally tally;
  for (int i = 0; i < 20000; ++i) {
    const float a = random_scale(random, 12), b = random_scale(random, 12), out = random_scale(random, 12);
    const Dyadic ratio_a = quotient(a, out), ratio_b = quotient(b, out);
    const SumWeights weights = sum_weights(0, double{a}, double{b}, double{out});
    const std::int64_t qa = static_cast<std::int64_t>(random() % 511) - 255, qb = static_cast<std::int64_t>(random() % 511) - 255;
    const int places = -std::min(ratio_a.exponent, ratio_b.exponent);
    const Int128 exact = qa * ratio_a.significand * power_of_two(ratio_a.exponent + places) +
                         qb * ratio_b.significand * power_of_two(ratio_b.exponent + places);
    for (const Rounding rule : all_roundings) {
      tally.equal(add_weighted(weights, qa, qb, rule), rounded(exact, power_of_two(places), rule), qa, qb, i, rule);
    }
  }
  tally.check(20000 * 9);
}

// Equal scales: both weights are 255, a full register. Half the scale: 127, as float(1 / 255) lies just above 1 / 255.
constexpr ConvolutionAdd equal = convolution_add(ConvolutionBias::product_rounded, 0.5, 0.5, 3);
static_assert(equal.weight_a == 255 && equal.weight_b == 255 && equal.bias == 765);
static_assert(convolution_add(ConvolutionBias::product_rounded, 1.0, 0.5, 0).weight_b == 127);
static_assert(convolution_add(ConvolutionBias::product_rounded, 0.5, 1.0, 0).weight_a == 127);
// The two ways of rounding the bias: 3 * 127.49… as a whole, and 3 * 127.
static_assert(convolution_add(ConvolutionBias::product_rounded, 1.0, 0.5, 3).bias == 382);
static_assert(convolution_add(ConvolutionBias::factor_rounded, 1.0, 0.5, 3).bias == 381);

}  // namespace
}  // namespace lastbit
