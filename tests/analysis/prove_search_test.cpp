// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A search for partial sums that contradict "safe": 10^8 of them, with inputs that lean towards the ends of their range and the signs of the weights.
#include <iostream>
#include <random>

#include "analysis/prove/sums.hpp"
#include "lastbit/arith/accumulator.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

struct RandomSum {
  std::vector<SumTerm> terms;
  std::vector<std::int64_t> values;
  std::int64_t bias = 0;
};

RandomSum random_layer(std::mt19937_64& random) {
  RandomSum layer;
  const std::size_t count = 1 + random() % 300;
  for (std::size_t i = 0; i < count; ++i) layer.terms.push_back({i, static_cast<std::int64_t>(random() % 256) - 128});
  layer.values.resize(count);
  layer.bias = static_cast<std::int64_t>(random() % 20001) - 10000;
  return layer;
}

constexpr IntegerRange codes{-130, 125};

/// The share of terms that follow the sign of their weight, upwards or downwards, decides how near the sum comes to its bound.
void choose(RandomSum& layer, std::mt19937_64& random) {
  const std::uint64_t follow = random() % 257;
  const bool up = random() % 2 == 0;
  for (std::size_t i = 0; i < layer.values.size(); ++i) {
    const std::uint64_t draw = random();
    const bool at_top = (layer.terms[i].weight >= 0) == up;
    if (draw % 256 < follow) layer.values[i] = at_top ? codes.max : codes.min;
    else layer.values[i] = codes.min + static_cast<std::int64_t>((draw >> 8) % 256);
  }
}

/// Partial sums looked at; the test fails where one leaves the width that is said to hold them all.
std::int64_t search(std::int64_t wanted, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::int64_t sums = 0;
  double nearest = 100;
  while (sums < wanted) {
    RandomSum layer = random_layer(random);
    Sums all;
    all.inputs = {codes};
    all.rule = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};
    const SumRange range = bound(all, {.terms = layer.terms, .runs = {}, .bias = {layer.bias, layer.bias}}).sums().sums;
    const AccumulatorRule rule{
        .bits = static_cast<std::uint8_t>(bits_for(range)), .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};
    SumRange seen{layer.bias, layer.bias};
    for (int repeat = 0; repeat < 200; ++repeat) {
      choose(layer, random);
      Accumulator accumulator(rule, layer.bias);
      Int128 sum = layer.bias;
      for (const SumTerm& term : layer.terms) {
        accumulator.add(term.weight * layer.values[term.input]);
        sum += term.weight * layer.values[term.input];
        seen = hull(seen, {sum, sum});
      }
      sums += static_cast<std::int64_t>(layer.terms.size());
      if (accumulator.overflow_count() != 0) FAIL("a partial sum left " << int{rule.bits} << " bits");
    }
    if (seen.lower < range.lower || seen.upper > range.upper) FAIL("a partial sum passed its bound");
    nearest = std::min(nearest, margin_in_bits(seen, bits_for(range)) - margin_in_bits(range, bits_for(range)));
  }
  std::cout << sums << " partial sums, none beyond its bound; the nearest came within " << nearest << " bits of it\n";
  CHECK(nearest < 0.01);
  return sums;
}

}  // namespace

TEST_CASE("prove: a random search of partial sums never contradicts safe") { REQUIRE(search(2'000'000, 1) >= 2'000'000); }

TEST_CASE("prove: neither do 10^8 of them", "[.slow]") { REQUIRE(search(100'000'000, 2) >= 100'000'000); }
