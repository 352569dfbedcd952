// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/arith/binary_float.hpp"

#include <vector>

#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

static_assert(decompose(1.0F).significand == 1 << 23 && decompose(1.0F).exponent == -23);
static_assert(decompose(0.0).significand == 0 && decompose(-0.0F).significand == 0);
static_assert(round_to_integer(2.5F, Rounding::half_even) == 2 && round_to_integer(-2.5F, Rounding::half_up) == -2);
static_assert(round_to_integer(1e300, Rounding::floor) == max_of_width(63));

/// Every exponent and sign with the low, high and random stored bits: all kinds of finite values, subnormals included.
template <class Float>
std::vector<Float> finite_values(int random_per_exponent) {
  using Format = FloatFormat<Float>;
  using Bits = typename Format::Bits;
  std::mt19937_64 random(Format::storage);
  const Bits stored = (Bits{1} << (Format::precision - 1)) - 1;
  std::vector<Float> values;
  for (Bits exponent = 0; exponent < 2U * Format::bias + 1; ++exponent) {
    std::vector<Bits> parts{0, 1, 2, stored, stored - 1, stored / 2, stored / 2 + 1, stored / 2 + 2};
    for (int i = 0; i < random_per_exponent; ++i) parts.push_back(static_cast<Bits>(random()) & stored);
    for (const Bits sign : {Bits{0}, Bits{1} << (Format::storage - 1)}) {
      for (const Bits part : parts)
        values.push_back(std::bit_cast<Float>(static_cast<Bits>(sign | (exponent << (Format::precision - 1)) | part)));
    }
  }
  return values;
}

TEMPLATE_TEST_CASE("decompose: the same number, with exactly `precision` significant bits", "", float, double) {
  Tally tally;
  for (const TestType value : finite_values<TestType>(20)) {
    const Decomposed parts = decompose(value);
    const Dyadic exact = dyadic(value);
    if (exact.significand == 0) {
      tally.equal(parts.significand, 0);
      continue;
    }
    const int normalised_by = exact.exponent - parts.exponent;
    tally.equal(bit_length(parts.significand), FloatFormat<TestType>::precision, exact.significand, exact.exponent);
    tally.equal(parts.significand, exact.significand * two_to_the(normalised_by), exact.significand, exact.exponent);
  }
  tally.check(1000);
}

TEMPLATE_TEST_CASE("round_to_integer: every exponent, every rule", "", float, double) {
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (const TestType value : finite_values<TestType>(20)) {
      const Dyadic exact = dyadic(value);
      tally.equal(round_to_integer(value, rule), as_integer(exact, rule), exact.significand, exact.exponent, rule);
    }
    tally.check(1000);
  }
}

TEMPLATE_TEST_CASE("round_to_integer: every quarter up to 2^12, both signs, every rule", "", float, double) {
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (int quarters = -(1 << 14); quarters <= 1 << 14; ++quarters) {
      const TestType value = static_cast<TestType>(quarters) / 4;  // exact
      tally.equal(round_to_integer(value, rule), rounded(quarters, 4, rule), quarters, rule);
    }
    tally.check(1 << 15);
  }
}

}  // namespace
}  // namespace lastbit
