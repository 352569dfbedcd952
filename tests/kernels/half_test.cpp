// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// binary16 in vectors equals arith/float16.hpp pattern by pattern, on every path that has them: all 2^16 patterns where one operand varies,
// every pattern against chosen ones where two do, tails, bounds; and a kernel stops exactly where a result leaves the finite values.
#include "engine/kernels/half.hpp"

#include <cmath>
#include <functional>
#include <vector>

#include "engine/kernels/kernels.hpp"
#include "lastbit/arith/float16.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr Float16Rules saturates{
    .rounding = Rounding::half_even, .overflow = Float16Overflow::saturate, .top_exponent = Float16TopExponent::infinity_nan};
constexpr Float16Rules overflows{
    .rounding = Rounding::half_even, .overflow = Float16Overflow::infinity, .top_exponent = Float16TopExponent::infinity_nan};
constexpr Float16Rules probes{
    .rounding = Rounding::half_even, .overflow = Float16Overflow::all_ones, .top_exponent = Float16TopExponent::infinity_nan};

bool is_special(Float16 value) { return (value.bits & 0x7C00) == 0x7C00; }

struct HalfOperation {
  kernels::HalfOp op;
  std::function<Float16(Float16, Float16, const Float16Rules&)> definition;
};

const HalfOperation operations[] = {
    {kernels::HalfOp::add, [](Float16 a, Float16 b, const Float16Rules& rules) { return add(a, b, rules); }},
    {kernels::HalfOp::subtract, [](Float16 a, Float16 b, const Float16Rules& rules) { return subtract(a, b, rules); }},
    {kernels::HalfOp::multiply, [](Float16 a, Float16 b, const Float16Rules& rules) { return multiply(a, b, rules); }},
    {kernels::HalfOp::pass, [](Float16 a, Float16, const Float16Rules& rules) { return to_float16(to_float32(a), rules); }},
    {kernels::HalfOp::prelu,
     [](Float16 a, Float16 b, const Float16Rules& rules) {
       return to_float32(a) < 0 ? multiply(a, b, rules) : to_float16(to_float32(a), rules);
     }},
};

Float16 bounded(Float16 value, const kernels::HalfBounds* bounds) {
  if (bounds == nullptr) return value;
  const float real = to_float32(value);
  if (real < bounds->min) return {bounds->min_bits};
  return real > bounds->max ? Float16{bounds->max_bits} : value;
}

struct Compared {
  Tally tally;
  std::int64_t stops = 0;
};

/// Calls kernel(first, how many) as an operation does, and where it stops goes on behind the vector that stopped it.
template <class Kernel, class Expected>
void compare(std::size_t lanes, std::size_t count, Kernel&& kernel, Expected&& expected, Compared& compared) {
  for (std::size_t i = 0; i < count;) {
    const std::size_t done = kernel(i, count - i);
    compared.tally.equal(done % lanes, 0, i);
    for (std::size_t j = i; j < i + done; ++j) expected(j);
    i += done;
    if (count - i < lanes) return;
    const bool leaves = [&] {
      for (std::size_t j = i; j < i + lanes; ++j) {
        if (is_special(expected.value(j))) return true;
      }
      return false;
    }();
    compared.tally.equal(leaves, true, i);
    ++compared.stops;
    i += lanes;
  }
}

struct Expected {
  const HalfOperation& operation;
  const std::vector<Float16>&a, &b;
  const std::vector<Float16>& out;
  const kernels::HalfBounds* bounds;
  Tally& tally;

  [[nodiscard]] Float16 value(std::size_t i) const { return operation.definition(a[i], b[i], probes); }
  void operator()(std::size_t i) const {
    for (const Float16Rules& rules : {saturates, overflows})
      tally.equal(out[i].bits, bounded(operation.definition(a[i], b[i], rules), bounds).bits, operation.op, a[i].bits, b[i].bits);
  }
};

void compare_pairs(const kernels::HalfKernels& half, const HalfOperation& operation, const std::vector<Float16>& a,
                   const std::vector<Float16>& b, const kernels::HalfBounds* bounds, Compared& compared) {
  std::vector<Float16> out(a.size());
  const auto kernel = [&](std::size_t i, std::size_t count) {
    return half.combine(operation.op, &a[i].bits, &b[i].bits, &out[i].bits, count, bounds);
  };
  compare(half.lanes, a.size(), kernel, Expected{operation, a, b, out, bounds, compared.tally}, compared);
}

std::vector<Float16> all_patterns() {
  std::vector<Float16> values;
  for (int bits = 0; bits < 0x10000; ++bits) values.push_back({static_cast<std::uint16_t>(bits)});
  return values;
}

/// Zeros, the ends of subnormal and normal values, ones, ties, infinity and NaN; of both signs.
std::vector<Float16> chosen() {
  std::vector<Float16> values;
  for (const int bits : {0,      1,      2,      3,      0x3FF,  0x400,  0x401,  0x1400, 0x3555, 0x3BFF, 0x3C00,
                         0x3C01, 0x3E00, 0x4248, 0x6BFF, 0x7801, 0x7BFE, 0x7BFF, 0x7C00, 0x7C01, 0x7E00, 0x7FFF}) {
    values.push_back({static_cast<std::uint16_t>(bits)});
    values.push_back({static_cast<std::uint16_t>(bits + 0x8000)});
  }
  return values;
}

TEST_CASE("sums, differences, products: every pattern against chosen ones, with and without bounds") {
  const auto patterns = all_patterns();
  const kernels::HalfBounds relu6{0, 6, 0, 0x4600}, half_open{-1, std::numeric_limits<float>::infinity(), 0xBC00, 0x7C00};
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available() || path.half == nullptr) continue;
    Compared compared;
    for (const HalfOperation& operation : operations) {
      int which = 0;
      for (const Float16 other : chosen()) {
        const std::vector<Float16> constant(patterns.size(), other);
        const kernels::HalfBounds* const bounds[] = {nullptr, &relu6, &half_open};
        compare_pairs(*path.half, operation, patterns, constant, bounds[which++ % 3], compared);
      }
    }
    INFO(path.name);
    compared.tally.check(5 * 44 * 30000);
    CHECK(compared.stops > 1000);
  }
}

TEST_CASE("random pairs and every length of tail") {
  constexpr std::uint64_t seed = 20251121;
  INFO("seed " << seed);
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available() || path.half == nullptr) continue;
    std::mt19937_64 random(seed);
    Compared compared;
    for (int round = 0; round < 4000; ++round) {
      std::vector<Float16> a(random() % 70), b(a.size());
      for (auto* list : {&a, &b}) {
        for (Float16& value : *list) value.bits = static_cast<std::uint16_t>(random() & (round % 2 == 0 ? 0xFFFF : 0xBFFF));
      }
      if (!a.empty()) compare_pairs(*path.half, operations[random() % 5], a, b, nullptr, compared);
    }
    INFO(path.name);
    compared.tally.check(100000);
  }
}

TEST_CASE("conversions: every binary16 to float32; every neighbourhood of a binary16, and random float32, back") {
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available() || path.half == nullptr) continue;
    const auto patterns = all_patterns();
    Compared compared;
    std::vector<float> reals(patterns.size());
    compared.tally.equal(path.half->to_float(&patterns[0].bits, reals.data(), reals.size()), reals.size());
    for (std::size_t i = 0; i < reals.size(); ++i)
      compared.tally.equal(std::bit_cast<std::uint32_t>(reals[i]), std::bit_cast<std::uint32_t>(to_float32(patterns[i])), i);
    std::mt19937_64 random(5);
    std::vector<float> inputs;
    for (std::size_t i = 0; i + 1 < reals.size(); ++i) {
      if (!std::isfinite(reals[i]) || !std::isfinite(reals[i + 1])) continue;
      const float tie = reals[i] / 2 + reals[i + 1] / 2;
      for (const float value : {reals[i], tie, std::nextafter(tie, 1e9F), std::nextafter(tie, -1e9F)}) inputs.push_back(value);
      inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    }
    std::vector<Float16> out(inputs.size());
    struct FromFloat {
      const std::vector<float>& in;
      const std::vector<Float16>& out;
      Tally& tally;
      [[nodiscard]] Float16 value(std::size_t i) const { return to_float16(in[i], probes); }
      void operator()(std::size_t i) const {
        for (const Float16Rules& rules : {saturates, overflows})
          tally.equal(out[i].bits, to_float16(in[i], rules).bits, std::bit_cast<std::uint32_t>(in[i]));
      }
    };
    compare(
        path.half->lanes, inputs.size(),
        [&](std::size_t i, std::size_t count) { return path.half->from_float(inputs.data() + i, &out[i].bits, count); },
        FromFloat{inputs, out, compared.tally}, compared);
    INFO(path.name);
    compared.tally.check(150000);
  }
}

}  // namespace
}  // namespace lastbit
