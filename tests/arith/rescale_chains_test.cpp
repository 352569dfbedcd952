// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The built-in chains from accumulator to output, against each device's formula written out on rationals.
#include <stdexcept>
#include <vector>

#include "lastbit/arith/rescale.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/backends/vipnano.hpp"
#include "lastbit/backends/xnnpack.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr RescaleRule twice = tflite_double.conv.i8.sum.output, once = tflite_single.conv.i8.sum.output;
constexpr RescaleRule v8 = vipnano_v8.conv.i8.sum.output, v7 = vipnano_v7.conv.i8.sum.output;
constexpr RescaleRule by_float = xnnpack_delegate.conv.i8.sum.output;

// A chain is a constant: ties of M = 1.0, shift 1, measured on the vendor's model of the VIPNano (both versions agree).
constexpr std::int64_t halved(const RescaleRule& rule, std::int64_t accumulator) {
  return finish(rule.chain, accumulator, {.scale = encode(rule.scale, 0.5), .min = -128, .max = 127});
}
static_assert(halved(v8, 1) == 0 && halved(v8, 3) == 2);
static_assert(halved(v8, -1) == 0 && halved(v8, -3) == -2);
static_assert(halved(v7, 1) == 0 && halved(v7, 3) == 2);
static_assert(halved(v7, -1) == 0 && halved(v7, -3) == -2);
// The same ties on the CPUs: half up in the first of two roundings or the only one.
static_assert(halved(once, -3) == -1 && halved(once, 3) == 2);
static_assert(halved(twice, -3) == -1 && halved(twice, 1) == 1);
static_assert(halved(by_float, 1) == 0 && halved(by_float, -3) == -2);

// What separates double from single rounding: 13 * 2^-3 - epsilon. 1.4999… becomes 1.5 in 31 bits, and then 2.
constexpr std::int64_t scaled_by(const RescaleRule& rule, double scale, std::int64_t accumulator) {
  return finish(rule.chain, accumulator, {.scale = encode(rule.scale, scale), .min = -128, .max = 127});
}
static_assert(scaled_by(twice, 0x1.fffffffcp-3, 6) == 2);
static_assert(scaled_by(once, 0x1.fffffffcp-3, 6) == 1);
// What separates V8 from V7: a tie decided by the mantissa's low bits.
static_assert(scaled_by(v8, 0x1.0001p-1, 1) == 1 && scaled_by(v7, 0x1.0001p-1, 1) == 0);

struct OutputStage {
  double scale = 0;
  std::int64_t zero_point = 0, min = 0, max = 0;
  Rectifier rectifier = Rectifier::none;
};

/// A scale beyond 2^60 moves every value but 0 out of 32 bits, so oracles shift left by at most 60.
Int128 to_output(Int128 value, const OutputStage& layer) {
  return std::max<Int128>(layer.min, std::min<Int128>(layer.max, value + layer.zero_point));
}

/// M * 2^-n of a double scale in 31 bits, M in [2^30, 2^31].
struct Fixed {
  Int128 multiplier;
  int shift;
};
Fixed fixed_point(double scale) {
  const Dyadic exact = dyadic(scale);
  const int length = bit_length(exact.significand);
  const Int128 q31 = rounded(exact.significand * two_to_the(31), two_to_the(length), Rounding::half_away);
  const int exponent = exact.exponent + length;
  return q31 == two_to_the(31) ? Fixed{q31 / 2, -exponent - 1} : Fixed{q31, -exponent};
}

/// MultiplyByQuantizedMultiplier as gemmlowp's primitives define it.
Int128 twice_oracle(Int128 accumulator, const OutputStage& layer) {
  const auto [multiplier, shift] = fixed_point(layer.scale);
  if (shift > 31) return to_output(0, layer);
  const Int128 left = wrapped(accumulator * two_to_the(std::clamp(-shift, 0, 60)), 32);
  const Int128 high = saturated(rounded(left * multiplier, two_to_the(31), Rounding::half_up), 32);
  return to_output(rounded(high, two_to_the(std::max(shift, 0)), Rounding::half_away), layer);
}
Int128 once_oracle(Int128 accumulator, const OutputStage& layer) {
  auto [multiplier, shift] = fixed_point(layer.scale);
  if (shift > 31) return to_output(0, layer);
  if (shift < -30) {  // the largest multiplier the register takes
    multiplier = two_to_the(31) - 1;
    shift = -30;
  }
  return to_output(wrapped(rounded(accumulator * multiplier, two_to_the(31 + shift), Rounding::half_up), 32), layer);
}
Int128 by_15_bits_oracle(Int128 accumulator, const OutputStage& layer) {
  const auto [multiplier, shift] = fixed_point(layer.scale);
  if (shift > 31) return to_output(0, layer);
  const Int128 m15 = multiplier < 0x7FFF0000 ? (multiplier + 0x8000) / 0x10000 : Int128{0x7FFF};
  const Int128 product = accumulator * m15;
  const Int128 scaled = shift >= -15 ? rounded(product, two_to_the(15 + shift), Rounding::half_up)
                                     : wrapped(product, 32) * two_to_the(std::min(-15 - shift, 60));
  return to_output(wrapped(scaled, 32), layer);
}
/// `stored` mantissa bits of the float32 scale: 23 (V8) or 15 (V7).
Int128 vipnano_oracle(Int128 accumulator, const OutputStage& layer, int stored) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(layer.scale));
  const Int128 multiplier = two_to_the(stored) + (bits % 0x800000) / (1U << (23 - stored));
  const int n = stored + 127 - static_cast<int>(bits / 0x800000);
  const Int128 rectified = layer.rectifier == Rectifier::at_zero && accumulator < 0 ? 0 : accumulator;
  const Int128 scaled = n >= 0 ? rounded(rectified * multiplier, two_to_the(std::min(n, 120)), Rounding::half_even)
                               : rectified * multiplier * two_to_the(std::min(-n, 60));
  return to_output(scaled, layer);
}
Int128 v8_oracle(Int128 accumulator, const OutputStage& layer) { return vipnano_oracle(accumulator, layer, 23); }
Int128 v7_oracle(Int128 accumulator, const OutputStage& layer) { return vipnano_oracle(accumulator, layer, 15); }
Int128 float_oracle(Int128 accumulator, const OutputStage& layer) {
  const Dyadic exact = as_float32(product(as_float32({accumulator, 0}), dyadic(static_cast<float>(layer.scale))));
  return to_output(as_integer(exact, Rounding::half_even), layer);
}

struct NamedChain {
  const char* name;
  RescaleRule rule;
  Int128 (*oracle)(Int128, const OutputStage&);
  int accumulator_bits, output_bits;
};

const NamedChain named_chains[] = {
    {"TFLite, two roundings", twice, twice_oracle, 32, 8},
    {"TFLite, one rounding", once, once_oracle, 32, 8},
    {"TFLite, 16 bits", tflite_double.conv.i16_bias64.sum.output, by_15_bits_oracle, 64, 16},
    {"VIPNano V8", v8, v8_oracle, 32, 8},
    {"VIPNano V7", v7, v7_oracle, 32, 8},
    {"XNNPACK", by_float, float_oracle, 32, 8},
};

/// A float32 scale of the exponent: a power of two (ties), just below one (second roundings), or random.
double scale_of(int exponent, std::mt19937_64& random) {
  const std::uint32_t stored[] = {0, 0x7FFFFF, 0x000080, 0x400000, static_cast<std::uint32_t>(random() % 0x800000)};
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) * 0x800000 + stored[random() % std::size(stored)]);
}

/// Accumulators at both ends, random ones, and those whose scaled value lies next to a tie inside the output's range.
std::vector<std::int64_t> accumulators_for(const NamedChain& chain, double scale, std::mt19937_64& random) {
  const std::int64_t lowest = min_of_width(chain.accumulator_bits), highest = max_of_width(chain.accumulator_bits);
  std::vector<std::int64_t> values{0, 1, -1, lowest, lowest + 1, highest, highest - 1};
  for (int i = 0; i < 8; ++i) values.push_back(narrow_wrap(static_cast<std::int64_t>(random()), chain.accumulator_bits) >> (random() % 31));
  const Dyadic exact = dyadic(scale);
  for (int i = 0; i < 12; ++i) {
    const std::int64_t half_units = 2 * (static_cast<std::int64_t>(random() % 300) - 150) + 1;
    const int up = -exact.exponent - 1;  // accumulator = half_units / 2 / scale
    if (up < 0 || up > 110) continue;
    const Int128 near = half_units * two_to_the(up) / exact.significand;
    for (Int128 delta = -1; delta <= 1; ++delta) {
      if (near + delta >= lowest && near + delta <= highest) values.push_back(static_cast<std::int64_t>(near + delta));
    }
  }
  return values;
}

TEST_CASE("finish: the built-in chains on ties, ends and random accumulators, over every exponent") {
  for (const NamedChain& chain : named_chains) {
    std::mt19937_64 random(5);
    Tally tally;
    for (int exponent = -126; exponent <= 127; ++exponent) {
      for (int i = 0; i < 60; ++i) {
        OutputStage layer{.scale = scale_of(exponent, random),
                          .zero_point = narrow_wrap(static_cast<std::int64_t>(random()), chain.output_bits),
                          .min = min_of_width(chain.output_bits),
                          .max = max_of_width(chain.output_bits),
                          .rectifier = random() % 2 == 0 ? Rectifier::none : Rectifier::at_zero};
        const RescaleOperands operands{.scale = encode(chain.rule.scale, layer.scale),
                                       .zero_point = layer.zero_point,
                                       .min = layer.min,
                                       .max = layer.max,
                                       .rectifier = layer.rectifier};
        for (const std::int64_t accumulator : accumulators_for(chain, layer.scale, random)) {
          const auto bits = std::bit_cast<std::uint64_t>(layer.scale);
          tally.equal(finish(chain.rule.chain, accumulator, operands), chain.oracle(accumulator, layer), accumulator, bits,
                      layer.zero_point);
        }
      }
    }
    INFO(chain.name);
    tally.check(254 * 60 * 15);
  }
}

TEST_CASE("a chain is a value: equal stages make equal chains, one rule makes another chain") {
  CHECK(twice.chain == twice.chain);
  CHECK_FALSE(twice.chain == once.chain);
  CHECK(Chain{}.empty());
  CHECK(finish(Chain{}, 42, {}) == 42);
  CHECK(finish(Chain{stage::shift_right_by(1, Rounding::half_up)}, -3, {}) == -1);
  CHECK(finish(Chain{stage::shift_right_by(1, Rounding::half_away)}, -3, {}) == -2);
}

TEST_CASE("a chain is continued stage by stage up to its capacity, and not beyond") {
  static_assert(Chain{stage::multiply()} + stage::shift_right(Rounding::floor) + Chain{stage::add_zero_point(), stage::clamp()} ==
                Chain{stage::multiply(), stage::shift_right(Rounding::floor), stage::add_zero_point(), stage::clamp()});
  Chain chain;
  for (std::size_t i = 0; i < max_stages; ++i) chain.append(stage::relu());
  const Chain full = chain;
  CHECK_THROWS_AS(chain.append(stage::clamp()), std::length_error);
  CHECK_THROWS_AS(full + stage::clamp(), std::length_error);
  CHECK_THROWS_AS(full + full, std::length_error);
  const std::initializer_list<Stage> thirteen{stage::relu(), stage::relu(), stage::relu(), stage::relu(), stage::relu(),
                                              stage::relu(), stage::relu(), stage::relu(), stage::relu(), stage::relu(),
                                              stage::relu(), stage::relu(), stage::clamp()};
  CHECK_THROWS_AS(Chain(thirteen), std::length_error);
  CHECK(chain == full);  // what was refused has changed nothing
  CHECK(full + Chain{} == full);
}

}  // namespace
}  // namespace lastbit
