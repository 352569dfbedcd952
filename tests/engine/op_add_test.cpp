// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sums of tensors as devices resolve them: weights of one exponent, 8-bit weights of one unit, shifts alone.
#include "lastbit/op/add.hpp"

#include "lastbit/backends/tflite.hpp"
#include "lastbit/backends/vipnano.hpp"
#include "lastbit/backends/xnnpack.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

float random_scale(std::mt19937_64& random, int spread) {
  const auto exponent = 120 + random() % static_cast<unsigned>(spread);
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent << 23 | (random() % 4 == 0 ? 0 : random() % 0x800000)));
}

/// a / b to float, from an integer quotient with more than enough bits and a sticky last one.
Dyadic quotient(float a, float b) {
  const Dyadic x = dyadic(a), y = dyadic(b);
  return as_float32({rounded(x.significand * two_to_the(40), y.significand, Rounding::to_odd), x.exponent - 40 - y.exponent});
}

/// value * 2^shift rounded half to even; the value has 24 significant bits or more.
Int128 scaled(Dyadic value, int shift) {
  const int up = value.exponent + shift;
  return up >= 0 ? value.significand * two_to_the(up) : rounded(value.significand, two_to_the(std::min(-up, 120)), Rounding::half_even);
}

/// Two operands with zero point 0 and an output.
SumLayer layer_of(double a, double b, double out, std::int64_t a_zero = 0, std::int64_t b_zero = 0, std::int64_t sign = 1) {
  SumLayer layer;
  layer.operands = {{a, a_zero, 1}, {b, b_zero, sign}};
  layer.out_scale = out;
  return layer;
}

std::int64_t output_of(const SumArithmetic& rule, const ResolvedSum& sum, std::int64_t a, std::int64_t b) {
  const RescaleOperands operands{.scale = encode(rule.output.scale, sum.output_scale), .min = -100'000, .max = 100'000};
  return finish(rule.output.chain, sum_of(rule, sum, std::vector{a, b}), operands);
}

TEST_CASE("XNNPACK: both weights on one exponent, the larger of 21 bits before it is rounded; one rounding of the sum") {
  const SumArithmetic& rule = xnnpack_delegate.add.i8;
  std::mt19937_64 random(51);
  Tally tally;
  for (int i = 0; i < 20000; ++i) {
    const float a = random_scale(random, 10), b = random_scale(random, 10), out = random_scale(random, 10);
    const Dyadic ratio_a = quotient(a, out), ratio_b = quotient(b, out);
    const ResolvedSum found = resolve(rule, layer_of(double{a}, double{b}, double{out}));
    // 2^20 <= larger ratio * 2^shift < 2^21, before it is rounded.
    const int length = std::max(bit_length(ratio_a.significand) + ratio_a.exponent, bit_length(ratio_b.significand) + ratio_b.exponent);
    const int shift = 21 - length;
    const Int128 weight_a = scaled(ratio_a, shift), weight_b = scaled(ratio_b, shift);
    tally.equal(static_cast<int>(found.output_scale == std::ldexp(1.0, -shift)), 1, i);
    tally.equal(found.terms[0].rescale.scale.multiplier, weight_a, i);
    tally.equal(found.terms[1].rescale.scale.multiplier, weight_b, i);
    const std::int64_t qa = static_cast<std::int64_t>(random() % 511) - 255, qb = static_cast<std::int64_t>(random() % 511) - 255;
    const Int128 exact = shift >= 0 ? rounded(qa * weight_a + qb * weight_b, two_to_the(shift), Rounding::half_up)
                                    : (qa * weight_a + qb * weight_b) * two_to_the(-shift);
    tally.equal(output_of(rule, found, qa, qb), std::clamp<Int128>(exact, -100'000, 100'000), qa, qb, shift);
  }
  tally.check(80000);
}

TEST_CASE("XNNPACK: a larger weight that rounds up to 2^21 keeps its 22 bits") {
  const float ratio = std::nextafter(2.0F, 0.0F);  // 24 bits, all of them 1
  const ResolvedSum sum = resolve(xnnpack_delegate.add.i8, layer_of(double{ratio}, 1.0, 1.0));
  CHECK(sum.terms[0].rescale.scale.multiplier == 1 << 21);
  CHECK(sum.terms[1].rescale.scale.multiplier == 1 << 20);
  CHECK(sum.output_scale == std::ldexp(1.0, -20));
}

TEST_CASE("VIPNano: two 8-bit weights, the zero point of the first operand, and what is left of the second") {
  const SumArithmetic &v7 = vipnano_v7.add.i8, &v8 = vipnano_v8.add.i8;
  const auto weights = [](const ResolvedSum& sum) {
    return std::pair(sum.terms[0].rescale.scale.multiplier, sum.terms[1].rescale.scale.multiplier);
  };
  // Equal scales: both weights are 255, a full register. Half the scale: 127, as float(1 / 255) lies just above 1 / 255.
  const ResolvedSum equal = resolve(v7, layer_of(0.5, 0.5, 1.0, 3, 0));
  CHECK(weights(equal) == std::pair<std::int64_t, std::int64_t>(255, 255));
  CHECK(equal.offset == 765);
  CHECK(equal.terms[1].zero_point == 3);
  CHECK(weights(resolve(v7, layer_of(1.0, 0.5, 1.0))).second == 127);
  CHECK(weights(resolve(v7, layer_of(0.5, 1.0, 1.0))).first == 127);
  // The two ways of rounding the bias: 3 * 127.49… as a whole, and 3 * 127.
  CHECK(resolve(v7, layer_of(1.0, 0.5, 1.0, 3, 0)).offset == 382);
  CHECK(resolve(v8, layer_of(1.0, 0.5, 1.0, 3, 0)).offset == 381);
  CHECK(resolve(v8, layer_of(1.0, 0.5, 1.0, 3, 0, -1)).offset == -381);
}

TEST_CASE("TFLite: 16-bit data of power-of-two scales are shifted half away, and their sum saturates before the zero point") {
  const SumArithmetic& rule = tflite_builtin_double.add.i16_power_of_two;
  const ResolvedSum sum = resolve(rule, layer_of(0.25, 1.0, 1.0));
  CHECK(sum_of(rule, sum, std::vector<std::int64_t>{2, 0}) == 1);    // 0.5, a tie
  CHECK(sum_of(rule, sum, std::vector<std::int64_t>{-2, 0}) == -1);  // half_up would give 0
  CHECK(sum_of(rule, sum, std::vector<std::int64_t>{32767, 32767}) == 32767);
  CHECK(sum_of(rule, sum, std::vector<std::int64_t>{-32768, -32768}) == -32768);
}

}  // namespace
}  // namespace lastbit
