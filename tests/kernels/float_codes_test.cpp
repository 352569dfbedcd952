// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Codes computed in float32 in vectors equal the same steps one by one, rounded without the floating-point environment, on every path.
#include "engine/kernels/float_codes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/finish_plan.hpp"
#include "engine/kernels/kernels.hpp"
#include "lastbit/arith/binary_float.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr std::uint64_t seed = 20251122;
constexpr std::int64_t limit = std::int64_t{1} << 30;

std::vector<Rounding> vector_roundings() {
  std::vector<Rounding> rules;
  for (const Rounding rule : all_roundings) {
    if (rule != Rounding::to_odd) rules.push_back(rule);
  }
  return rules;
}

std::int64_t held(float value, Rounding rule) { return std::clamp(round_to_integer(value, rule), -limit, limit); }

/// Operands of 16 bits and fewer, with the ties of ratios that are small powers of two, ends, and as many as leave a tail.
struct Codes {
  std::vector<std::int32_t> a, b;
};
Codes random_codes(std::size_t count, std::mt19937_64& random) {
  Codes codes{std::vector<std::int32_t>(kernels::finish_block, 0), std::vector<std::int32_t>(kernels::finish_block, 0)};
  for (auto* list : {&codes.a, &codes.b}) {
    for (std::size_t i = 0; i < count; ++i) (*list)[i] = static_cast<std::int32_t>(random() % 65536) - 32768;
    for (std::size_t i = 0; i < count; i += 3) (*list)[i] >>= random() % 16;
  }
  return codes;
}

float random_ratio(std::mt19937_64& random) {
  if (random() % 3 == 0) return std::ldexp(1.0F, static_cast<int>(random() % 40) - 20);  // ties
  return std::ldexp(1.0F + static_cast<float>(random() % 0x800000) * 0x1p-23F, static_cast<int>(random() % 60) - 30);
}

TEST_CASE("sums and products: every rule, ties, ends, results beyond the limit") {
  INFO("seed " << seed);
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    std::mt19937_64 random(seed);
    Tally tally;
    for (const Rounding rule : vector_roundings()) {
      for (int round = 0; round < 300; ++round) {
        const std::size_t count = 1 + random() % 70;
        const Codes codes = random_codes(count, random);
        const kernels::FloatPair pair{random_ratio(random), -random_ratio(random), random_ratio(random) - 1, float_rounding(rule)};
        std::vector<std::int32_t> sums(kernels::finish_block), products(kernels::finish_block);
        path.float_codes->sum(pair, codes.a.data(), codes.b.data(), sums.data(), count);
        path.float_codes->product(pair, codes.a.data(), codes.b.data(), products.data(), count);
        for (std::size_t i = 0; i < count; ++i) {
          const auto a = static_cast<float>(codes.a[i]), b = static_cast<float>(codes.b[i]);
          const float inner = std::fma(b, pair.ratio_b, pair.fixed);
          tally.equal(sums[i], held(std::fma(a, pair.ratio_a, inner), rule), rule, codes.a[i], codes.b[i]);
          const float scaled = static_cast<float>(std::int64_t{codes.a[i]} * codes.b[i]) * pair.ratio_a;
          tally.equal(products[i], held(scaled + pair.fixed, rule), rule, codes.a[i], codes.b[i]);
        }
      }
    }
    INFO(path.name);
    tally.check(8 * 300 * 60);
  }
}

TEST_CASE("floats to codes: every rule; a kernel stops at the first vector with a NaN or a value out of range") {
  INFO("seed " << seed);
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    std::mt19937_64 random(seed);
    Tally tally;
    int stopped = 0;
    for (const Rounding rule : vector_roundings()) {
      for (int round = 0; round < 400; ++round) {
        const std::size_t count = random() % 200;
        kernels::FloatToCode to{random() % 2 == 0, random_ratio(random), random() % 2 == 0 ? 0.0F : 3.0F, float_rounding(rule)};
        std::vector<float> in(count);
        for (float& value : in) value = (static_cast<float>(random() % 2048) - 1024) / 4 * (to.divides ? to.scale : 1 / to.scale);
        if (count > 0 && round % 4 == 0) {
          const float odd[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e38F};
          in[random() % count] = odd[random() % 3];
        }
        std::vector<std::int32_t> out(kernels::finish_block, 0x5A5A);
        const std::size_t done = path.float_codes->codes(to, in.data(), out.data(), count);
        const auto scaled = [&](float value) { return (to.divides ? value / to.scale : value * to.scale) + to.offset; };
        for (std::size_t i = 0; i < done; ++i) tally.equal(out[i], round_to_integer(scaled(in[i]), rule), rule, i, to.divides);
        tally.equal(out[done], 0x5A5A, done);  // and writes no further
        if (done + path.finish_lanes > count) continue;
        ++stopped;
        const bool out_of_range =
            std::any_of(in.begin() + static_cast<std::ptrdiff_t>(done), in.begin() + static_cast<std::ptrdiff_t>(done + path.finish_lanes),
                        [&](float value) { return !(std::abs(scaled(value)) < 0x1p30F); });
        tally.equal(out_of_range, true, done);
      }
    }
    INFO(path.name);
    tally.check(8 * 400 * 50);
    CHECK(stopped > 100);
  }
}

}  // namespace
}  // namespace lastbit
