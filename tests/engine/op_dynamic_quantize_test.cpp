// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/op/dynamic_quantize.hpp"

#include <array>
#include <vector>

#include "support/catch.hpp"

using namespace lastbit;

namespace {

constexpr DynamicQuantizeArithmetic half_even{DynamicQuantizeMethod::unsigned_range, Rounding::half_even};

struct Case {
  const char* name;
  std::vector<float> values;
  float scale;
  int zero_point;
};

}  // namespace

TEST_CASE("dynamic_scale: the range of the data, 0 included") {
  const Case cases[] = {
      {"both signs: -2 … 3.1 in 255 steps of 0.02, zero at 100", {-2, 1, 3.1F}, 5.1F / 255, 100},
      {"positive only: starts at 0", {1, 2.55F}, 2.55F / 255, 0},
      {"negative only: ends at 0", {-1, -2.55F}, 2.55F / 255, 255},
      {"zeros: no range", {0, 0}, 1, 0},
      {"below what float32 divides by", {1e-38F}, 1, 0},
      {"NaN is no value", {std::numeric_limits<float>::quiet_NaN(), 2.55F}, 2.55F / 255, 0},
      {"beyond float32", {-3e38F, 3e38F}, std::numeric_limits<float>::max() / 255, 225},  // 3e38 / s = 224.8
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const DynamicScale found = dynamic_scale(half_even, c.values);
    CHECK(found.scale == c.scale);
    CHECK(int{found.zero_point} == c.zero_point);
  }
}

TEST_CASE("dynamic_scale: a zero point half-way rounds by the rule") {
  const std::array<float, 2> values{-2.5F, 252.5F};  // s = 1 exactly, -lo / s = 2.5
  const auto zero_point = [&](Rounding rounding) {
    return int{dynamic_scale({DynamicQuantizeMethod::unsigned_range, rounding}, values).zero_point};
  };
  CHECK(dynamic_scale(half_even, values).scale == 1);
  CHECK(zero_point(Rounding::half_even) == 2);
  CHECK(zero_point(Rounding::half_up) == 3);
  CHECK(zero_point(Rounding::floor) == 2);
  CHECK(zero_point(Rounding::ceil) == 3);
}
