// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "lastbit/arith/accumulator.hpp"
#include "lastbit/arith/rescale.hpp"
#include "lastbit/error.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

/// What is said of it; empty where nothing is refused.
template <class Compute>
std::string refusal_of(Compute compute) {
  try {
    static_cast<void>(compute());
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool names(const std::string& refusal, const std::string& rule) { return refusal.find(rule + " is not stated") != std::string::npos; }

std::string of_sum(const AccumulatorRule& rule) {
  return refusal_of([&] { return Accumulator(rule, 300).result(); });
}
std::string of_scale(const ScaleEncoding& rule) {
  return refusal_of([&] { return encode(rule, 0.3).multiplier; });
}
std::string of_stage(const Stage& stage) {
  return refusal_of([&] { return finish(Chain{stage}, 4, {}); });  // 4 / 2 is exact: the rule is asked for whatever the value
}

TEST_CASE("a sum by a rule that leaves something out is refused and names it") {
  const AccumulatorRule whole{.bits = 8, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};
  CHECK(of_sum(whole).empty());
  CHECK(names(of_sum({.overflow = Overflow::wrap, .when = NarrowingPoint::at_end}), "bits"));
  CHECK(names(of_sum({.bits = 8, .when = NarrowingPoint::at_end}), "overflow"));
  CHECK(names(of_sum({.bits = 8, .overflow = Overflow::wrap}), "when"));
}

TEST_CASE("an encoding that leaves something of its multiplier out is refused and names it") {
  const ScaleEncoding whole{
      .significant_bits = 8, .rounding = Rounding::floor, .normalization = Normalization::half_to_one, .min_exponent = -31};
  ScaleEncoding less = whole;
  CHECK(of_scale(whole).empty());
  less.rounding = unstated<Rounding>;
  CHECK(names(of_scale(less), "rounding"));
  less = whole;
  less.normalization = unstated<Normalization>;
  CHECK(names(of_scale(less), "normalization"));
  less = whole;
  less.significant_bits = 0;
  CHECK(names(of_scale(less), "significant_bits"));
}

TEST_CASE("a scale in float alone has no multiplier, and a stage that reads one says so") {
  const EncodedScale scale = encode({.arithmetic = ScaleArithmetic::f32}, 0.5);
  CHECK(finish({stage::float_scale(Rounding::half_even)}, 6, {.scale = scale}) == 3);
  CHECK(names(refusal_of([&] { return finish({stage::multiply()}, 6, {.scale = scale}); }), "significant_bits"));
  CHECK(names(refusal_of([&] { return finish({stage::shift_right(Rounding::floor)}, 6, {.scale = scale}); }), "significant_bits"));
}

TEST_CASE("a stage without the rule that it reads is refused and names it") {
  CHECK(names(of_stage({.kind = StageKind::shift_right, .amount = ShiftAmount::constant, .constant = 1}), "rounding"));
  CHECK(names(of_stage({.kind = StageKind::divide}), "rounding"));
  CHECK(names(of_stage({.kind = StageKind::float_scale, .arithmetic = ProductArithmetic::f32}), "rounding"));
  CHECK(names(of_stage({.kind = StageKind::float_scale, .rounding = Rounding::floor}), "arithmetic"));
  CHECK(names(of_stage({.kind = StageKind::narrow, .bits = 8}), "overflow"));
  CHECK(!of_stage({.kind = StageKind::narrow, .overflow = Overflow::wrap}).empty());  // no width
}

TEST_CASE("a width beyond what a value has is refused") {
  CHECK(narrow_wrap(std::int64_t{5}, 64) == 5);
  for (const int bits : {0, 65}) {
    CHECK(!refusal_of([&] { return narrow_wrap(std::int64_t{5}, bits); }).empty());
    CHECK(!refusal_of([&] { return narrow_saturate(std::int64_t{5}, bits); }).empty());
  }
}

}  // namespace
}  // namespace lastbit
