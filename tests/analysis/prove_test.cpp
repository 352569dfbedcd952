// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The bounds against every extreme input there is: never beyond, and reached. Sums here are added up by hand, not by what is tested.
#include <algorithm>
#include <random>

#include "analysis/prove/bounds.hpp"
#include "analysis/prove/ranges.hpp"
#include "analysis/prove/sums.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/encodings.hpp"

using namespace lastbit;

namespace {

/// A sum of a few products with everything an accumulator rule can ask for.
struct SmallSum {
  AccumulatorRule rule;
  std::vector<SumTerm> terms;
  std::vector<std::size_t> runs;
  std::vector<IntegerRange> inputs;
  std::int64_t bias = 0, multiplier = 1;
  BiasAt bias_at = BiasAt::accumulator_start;
};

std::int64_t between(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

SmallSum random_sum(std::mt19937_64& random, bool with_partial_sums) {
  SmallSum sum;
  const std::size_t count = 1 + random() % 9;
  for (std::size_t i = 0; i < count; ++i) {
    sum.terms.push_back({i, between(random, -128, 127)});
    const std::int64_t a = between(random, -255, 255), b = between(random, -255, 255);
    sum.inputs.push_back({std::min(a, b), std::max(a, b)});
  }
  sum.bias = between(random, -40000, 40000);
  sum.multiplier = between(random, 0, 3);
  sum.bias_at = random() % 2 == 0 ? BiasAt::accumulator_start : BiasAt::accumulator_end;
  sum.rule.bits = static_cast<std::uint8_t>(between(random, 12, 20));
  sum.rule.overflow = static_cast<Overflow>(random() % 3);
  sum.rule.when = static_cast<NarrowingPoint>(random() % 3);
  sum.rule.tile = static_cast<std::uint32_t>(between(random, 1, 5));
  if (with_partial_sums) {
    sum.runs = {0, count / 2};
    sum.rule.partial = {.method = PartialMethod::consecutive_terms,
                        .terms = static_cast<std::uint32_t>(between(random, 1, 4)),
                        .vector = static_cast<std::uint8_t>(random() % 2 * 2),
                        .tail = static_cast<PartialTail>(random() % 3)};
  }
  return sum;
}

Sum as_sum(const SmallSum& small) {
  return {
      .terms = small.terms, .runs = small.runs, .multiplier = small.multiplier, .bias = {small.bias, small.bias}, .bias_at = small.bias_at};
}

BoundAccumulator bound_of(const SmallSum& small) {
  Sums sums;
  sums.rule = small.rule;
  sums.inputs = small.inputs;
  return bound(sums, as_sum(small));
}

/// Calls visit(values) with every choice of an end of every input's range.
template <class Visit>
void each_extreme(const std::vector<IntegerRange>& inputs, Visit&& visit) {
  std::vector<std::int64_t> values(inputs.size());
  for (std::size_t choice = 0; choice < std::size_t{1} << inputs.size(); ++choice) {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = (choice >> i & 1U) != 0 ? inputs[i].max : inputs[i].min;
    visit(values);
  }
}

/// What is narrowed, where, and what is left: the contract of sums without partial sums, read step by step.
struct Narrowings {
  std::vector<std::int64_t> exact, arriving;
  std::int64_t result = 0;
};
Narrowings narrowings(const SmallSum& sum, const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> steps;
  for (const SumTerm& term : sum.terms) steps.push_back(values[term.input] * term.weight * sum.multiplier);
  if (sum.bias_at == BiasAt::accumulator_end) steps.push_back(sum.bias);
  const bool at_start = sum.bias_at == BiasAt::accumulator_start;
  Narrowings found;
  std::int64_t exact = at_start ? sum.bias : 0, device = exact;
  const auto point = [&] {
    found.exact.push_back(exact);
    found.arriving.push_back(device);
    if (sum.rule.overflow != Overflow::exact) device = narrow(device, sum.rule.bits, sum.rule.overflow);
  };
  const std::size_t period = sum.rule.when == NarrowingPoint::every_add ? 1 : sum.rule.tile(1);
  const bool inside = sum.rule.when != NarrowingPoint::at_end;
  if (inside) point();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    exact += steps[i];
    device += steps[i];
    if (inside && (i + 1) % period == 0) point();
  }
  point();
  found.result = device;
  return found;
}

std::int64_t overflows(const SmallSum& small, const std::vector<std::int64_t>& values) {
  const bool at_start = small.bias_at == BiasAt::accumulator_start;
  Accumulator sum(small.rule, at_start ? small.bias : 0, 1, small.multiplier);
  walk(
      as_sum(small), [&](std::int64_t length) { sum.begin_run(length); },
      [&](const SumTerm& term) { sum.add(values[term.input] * term.weight); });
  if (!at_start) sum.add_beside(small.bias);
  static_cast<void>(sum.result());
  return sum.overflow_count();
}

std::int64_t device_result(const SmallSum& small, const std::vector<std::int64_t>& values) {
  const bool at_start = small.bias_at == BiasAt::accumulator_start;
  Accumulator sum(small.rule, at_start ? small.bias : 0, 1, small.multiplier);
  walk(
      as_sum(small), [&](std::int64_t length) { sum.begin_run(length); },
      [&](const SumTerm& term) { sum.add(values[term.input] * term.weight); });
  if (!at_start) sum.add_beside(small.bias);
  return sum.result();
}

}  // namespace

TEST_CASE("prove: the bits of a range and its margin are those of two's complement") {
  struct Case {
    SumRange range;
    int bits;
  };
  for (const Case& one : {Case{{0, 0}, 2}, Case{{-2, 1}, 2}, Case{{0, 2}, 3}, Case{{-3, 0}, 3}, Case{{-4, 3}, 3}, Case{{-5, 3}, 4},
                          Case{{-128, 127}, 8}, Case{{-128, 128}, 9}, Case{{-129, 127}, 9}, Case{{min_of_width(64), max_of_width(64)}, 64},
                          Case{{0, Int128{max_of_width(64)} + 1}, 65}}) {
    CHECK(bits_for(one.range) == one.bits);
    CHECK((margin_in_bits(one.range, one.bits) >= 0));
    if (one.bits > 2) CHECK((margin_in_bits(one.range, one.bits - 1) < 0));
  }
  CHECK(margin_in_bits({-128, 127}, 8) == 0);
  CHECK(margin_in_bits({-32, 31}, 8) == 2);
}

TEST_CASE("prove: every extreme input stays within the bound of every narrowing point, and one reaches each end") {
  std::mt19937_64 random(2024);
  std::size_t sums = 0, unsafe = 0;
  for (int repeat = 0; repeat < 600; ++repeat) {
    const SmallSum sum = random_sum(random, false);
    const BoundAccumulator found = bound_of(sum);
    std::optional<SumRange> exact, result;
    std::vector<SumRange> arriving;
    bool overflowed = false;
    each_extreme(sum.inputs, [&](const std::vector<std::int64_t>& values) {
      const Narrowings seen = narrowings(sum, values);
      for (const std::int64_t value : seen.exact) exact = exact ? hull(*exact, {value, value}) : SumRange{value, value};
      result = result ? hull(*result, {seen.result, seen.result}) : SumRange{seen.result, seen.result};
      arriving.resize(std::max(arriving.size(), seen.arriving.size()), {Int128{1} << 100, -(Int128{1} << 100)});
      for (std::size_t i = 0; i < seen.arriving.size(); ++i) arriving[i] = hull(arriving[i], {seen.arriving[i], seen.arriving[i]});
      overflowed = overflowed || overflows(sum, values) > 0;
      ++sums;
    });
    INFO("repeat " << repeat);
    REQUIRE(found.sums().sums == *exact);
    REQUIRE(overflowed == (bits_for(*exact) > sum.rule.bits));
    REQUIRE(found.leaving().has_value() == overflowed);
    unsafe += overflowed ? 1 : 0;
    // Wrapped sums may be anything of the width; saturated ones keep their order.
    if (sum.rule.overflow == Overflow::wrap && overflowed) continue;
    REQUIRE(found.result() == *result);
    for (std::size_t i = 0; i < found.tiles().size(); ++i) REQUIRE(found.tiles()[i].sums == arriving[i]);
  }
  REQUIRE(sums > 20000);
  REQUIRE(unsafe > 100);
  REQUIRE(unsafe < 500);
}

TEST_CASE("prove: sums with partial sums stay within their bounds, and safe means that nothing overflows") {
  std::mt19937_64 random(7);
  std::size_t unsafe = 0, safe = 0;
  for (int repeat = 0; repeat < 600; ++repeat) {
    const SmallSum sum = random_sum(random, true);
    const BoundAccumulator found = bound_of(sum);
    bool overflowed = false;
    each_extreme(sum.inputs, [&](const std::vector<std::int64_t>& values) {
      overflowed = overflowed || overflows(sum, values) > 0;
      const Int128 result = device_result(sum, values);
      REQUIRE(result >= found.result().lower);
      REQUIRE(result <= found.result().upper);
    });
    REQUIRE(overflowed == (bits_for(found.sums().sums) > sum.rule.bits));
    REQUIRE_FALSE(found.partial_leaving());  // products of 8 bits cannot wrap 32
    (overflowed ? unsafe : safe) += 1;
  }
  REQUIRE(unsafe > 100);
  REQUIRE(safe > 100);
}

TEST_CASE("prove: a pair of products of 16 bits wraps for one input alone, and the bound knows it") {
  SmallSum sum;
  sum.rule = {.bits = 64,
              .overflow = Overflow::saturate,
              .when = NarrowingPoint::at_end,
              .partial = {.method = PartialMethod::consecutive_terms, .terms = 2}};
  sum.terms = {{0, -32768}, {1, -32768}};
  sum.runs = {0};
  sum.inputs = {{-32768, 32767}, {-32768, 32767}};
  const BoundAccumulator wraps = bound_of(sum);
  REQUIRE(wraps.partial_leaving());
  REQUIRE(wraps.partial_leaving()->steps == 2);
  REQUIRE(wraps.partial()->upper == Int128{1} << 31);
  REQUIRE(device_result(sum, {-32768, -32768}) == min_of_width(32));
  sum.inputs = {{-32768, -32768}, {-32768, -32768}};
  REQUIRE(bound_of(sum).result() == SumRange{min_of_width(32), min_of_width(32)});
  sum.inputs = {{-32768, 32767}, {-32767, 32767}};
  REQUIRE_FALSE(bound_of(sum).partial_leaving());
}

TEST_CASE("prove: pairs of codes in the padding saturate by the zero point alone") {
  const auto report_of = [](std::int64_t zero, std::int8_t weight) {
    ModelBuilder builder;
    const auto x = builder.input({"x", ElementType::uint8, {1, 1, 1, 2}, {{1.0}, {zero}, 0}});
    const auto w = builder.constant("w", {2, 1, 2, 2}, std::vector<std::int8_t>{weight, weight, 1, 1, 1, 1, 1, 1}, {{1.0}, {0}, 0});
    return prove(
        builder.finished({builder.operation(OperationKind::conv2d, {x, w}, {"y", ElementType::uint8, {1, 1, 1, 2}, {{64.0}, {0}, 0}},
                                            Conv2dAttributes{.padding = {PaddingMode::explicit_sizes, 0, 0, 1, 0}})}),
        find_backend("onnxruntime_avx2"), {});
  };
  CHECK(report_of(200, 81).safe());  // 2 * 200 * 81 = 32,400
  CHECK_FALSE(report_of(200, 82).safe());
  CHECK(report_of(200, 82).layers[0].partial->upper == 200 * 82 * 2);
  CHECK(report_of(100, 127).safe());
}

TEST_CASE("prove: partial sums of codes saturate for some input exactly where the bound says so") {
  std::mt19937_64 random(13);
  std::size_t safe = 0, unsafe = 0;
  for (int repeat = 0; repeat < 400; ++repeat) {
    const std::size_t count = 1 + random() % 8;
    Sums sums;
    sums.rule = {.bits = 32,
                 .overflow = Overflow::wrap,
                 .when = NarrowingPoint::at_end,
                 .partial = {.method = PartialMethod::consecutive_codes, .terms = 2, .bits = 16, .overflow = Overflow::saturate}};
    sums.rule.partial.emptied = static_cast<std::uint16_t>(random() % 2 * 4);
    const std::int64_t zero = between(random, 0, 255);
    sums.code_zeros = {zero};
    sums.inputs = {{-zero, 255 - zero}};
    std::vector<SumTerm> terms;
    for (std::size_t i = 0; i < count; ++i) terms.push_back({i, between(random, -96, 96)});
    const std::vector<std::size_t> runs{0};
    const Sum sum{.terms = terms, .runs = runs, .bias = {}};
    const BoundAccumulator found = bound(sums, sum);
    bool saturated = false;
    each_extreme(std::vector<IntegerRange>(count, sums.inputs[0]), [&](const std::vector<std::int64_t>& values) {
      Accumulator device(sums.rule, 0);
      std::int64_t exact = 0;
      walk(
          sum, [&](std::int64_t length) { device.begin_run(length); },
          [&](const SumTerm& term) {
            device.add(values[term.input] * term.weight, zero * term.weight);
            exact += values[term.input] * term.weight;
          });
      const std::int64_t result = device.result();
      saturated = saturated || result != exact;
      REQUIRE(result >= found.result().lower);
      REQUIRE(result <= found.result().upper);
    });
    REQUIRE(saturated == found.partial_leaving().has_value());
    (saturated ? unsafe : safe) += 1;
  }
  REQUIRE(unsafe > 50);
  REQUIRE(safe > 50);
}

TEST_CASE("prove: what a chain makes of a range holds for every accumulator in it") {
  std::mt19937_64 random(11);
  const std::vector<Chain> chains{
      {stage::multiply(), stage::shift_right(Rounding::half_even), stage::add_zero_point(), stage::clamp()},
      {stage::shift_left(32, Overflow::wrap), stage::multiply(), stage::shift_right(Rounding::half_up), stage::add_zero_point(),
       stage::clamp()},
      {stage::relu(), stage::multiply(), stage::narrow_to(20, Overflow::wrap), stage::shift_right(Rounding::floor), stage::clamp_to_type()},
      {stage::float_scale(Rounding::half_even), stage::narrow_to(8, Overflow::saturate), stage::add_zero_point(), stage::clamp()}};
  ScaleEncoding encoding = test::q31;
  encoding.significant_bits = 15;
  for (int repeat = 0; repeat < 400; ++repeat) {
    const Chain& chain = chains[static_cast<std::size_t>(repeat) % chains.size()];
    const RescaleOperands operands{.scale = encode(encoding, std::exp2(-static_cast<double>(between(random, 1, 12))) * 0.83),
                                   .zero_point = between(random, -10, 10),
                                   .min = -100,
                                   .max = 90,
                                   .rectifier = Rectifier::at_zero,
                                   .storage_min = -128,
                                   .storage_max = 127};
    const std::int64_t a = between(random, -200000, 200000), b = a + between(random, 0, 3000);
    const IntegerRange found = range_through(chain, {a, b}, operands);
    std::int64_t least = 1000, most = -1000;
    for (std::int64_t value = a; value <= b; ++value) {
      const std::int64_t out = finish(chain, value, operands);
      least = std::min(least, out);
      most = std::max(most, out);
    }
    REQUIRE(found.min <= least);
    REQUIRE(found.max >= most);
    const bool cannot_wrap = chain.stages[0].kind == StageKind::multiply || chain.stages[0].kind == StageKind::float_scale;
    if (cannot_wrap) REQUIRE(found == IntegerRange{least, most});
  }
}
