// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rows of accumulators through the Finisher equal finish() of arith/rescale.hpp one by one, whether its 64-bit plan applies or not.
#include "emulator/finisher.hpp"

#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/backends/n2d2.hpp"
#include "lastbit/backends/onnxruntime.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/backends/vipnano.hpp"
#include "lastbit/backends/xnnpack.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr std::uint64_t seed = 20240818;

std::int64_t of_width(int bits, std::mt19937_64& random) {
  const std::int64_t value = narrow_wrap(static_cast<std::int64_t>(random()), bits);
  const std::int64_t ends[] = {min_of_width(bits), max_of_width(bits), 0, -1, 1};
  return random() % 4 == 0 ? ends[random() % std::size(ends)] : value >> (random() % static_cast<unsigned>(bits));
}

double random_scale(std::mt19937_64& random, int smallest_exponent, int largest_exponent) {
  const auto range = static_cast<std::uint64_t>(largest_exponent - smallest_exponent + 1);
  const int exponent = smallest_exponent + static_cast<int>(random() % range);
  const std::uint32_t stored = random() % 4 == 0 ? 0 : static_cast<std::uint32_t>(random() % 0x800000);
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23 | stored);
}

RescaleOperands random_operands(const ScaleEncoding& encoding, Rectifier rectifier, std::mt19937_64& random) {
  const bool realistic = random() % 2 == 0;
  const int bits = random() % 2 == 0 ? 8 : 16;
  RescaleOperands operands;
  operands.scale = encode(encoding, realistic ? random_scale(random, -14, 1) : random_scale(random, -126, 126));
  operands.zero_point = random() % 3 == 0 ? 0 : of_width(bits, random);
  operands.min = min_of_width(bits);
  operands.max = random() % 4 == 0 ? operands.zero_point : max_of_width(bits);
  if (random() % 8 == 0) operands.min = operands.max = of_width(24, random);
  operands.rectifier = rectifier;
  operands.clip = random() % 2 == 0 ? no_clip : static_cast<std::int64_t>(random() >> (1 + random() % 62));
  operands.storage_min = min_of_width(bits);
  operands.storage_max = max_of_width(bits);
  return operands;
}

void compare(const Chain& chain, const ScaleEncoding& encoding, int accumulator_bits, std::size_t channels, std::mt19937_64& random,
             Tally& tally) {
  const Rectifier rectifier = random() % 2 == 0 ? Rectifier::none : Rectifier::at_zero;
  std::vector<RescaleOperands> operands;
  for (std::size_t c = 0; c < channels; ++c) operands.push_back(random_operands(encoding, rectifier, random));
  std::vector<std::int64_t> accumulators(channels * 12);
  for (std::int64_t& value : accumulators) value = of_width(accumulator_bits, random);
  const Finisher finisher(chain, operands, accumulator_bits);
  auto found = accumulators, observed = accumulators;
  Events events;
  finisher(found);
  finisher(observed, &events);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::int64_t expected = finish(chain, accumulators[i], operands[i % channels]);
    const EncodedScale& scale = operands[i % channels].scale;
    tally.equal(found[i], expected, accumulator_bits, accumulators[i], scale.multiplier, scale.exponent, chain.begin()->kind);
    tally.equal(observed[i], expected, accumulator_bits, accumulators[i], scale.multiplier, scale.exponent);
  }
  tally.equal(events.outputs, found.size());
}

struct NamedRule {
  const char* name;
  RescaleRule rule;
  int widest;
};

const NamedRule named_rules[] = {
    {"tflite_double conv", tflite_double.conv.i8.rescale, 32},
    {"tflite_double conv, 16 bits", tflite_double.conv.i16_bias64.rescale, 64},
    {"tflite_double requantize", tflite_double.requantize, 32},
    {"tflite_double add operand", tflite_double.add.operand, 32},
    {"tflite_single conv", tflite_single.conv.i8.rescale, 32},
    {"tflite_single mean", tflite_single.mean.rescale, 32},
    {"xnnpack conv", xnnpack_delegate.conv.i8.rescale, 32},
    {"onnxruntime conv", onnxruntime_cpu.conv.i8.rescale, 32},
    {"vipnano_v8 conv", vipnano_v8.conv.i8.rescale, 32},
    {"vipnano_v8 mul", vipnano_v8.mul.rescale, 32},
    {"vipnano_v7 conv", vipnano_v7.conv.i8.rescale, 32},
    {"n2d2_single_shift conv", n2d2_single_shift.conv.i8.rescale, 32},
    {"n2d2_single_shift conv, 16 bits", n2d2_single_shift.conv.i16_bias64.rescale, 64},
    {"n2d2_double_shift conv", n2d2_double_shift.conv.i8.rescale, 32},
    {"n2d2_fixed_mult16 conv", n2d2_fixed_mult16.conv.i8.rescale, 32},
    {"n2d2_fixed_mult32 conv, 16 bits", n2d2_fixed_mult32.conv.i16_bias64.rescale, 64},
    {"n2d2_float_mult conv", n2d2_float_mult.conv.i8.rescale, 32},
};

TEST_CASE("the built-in chains: extreme and random accumulators, every width, one operand or one per channel") {
  INFO("seed " << seed);
  for (const NamedRule& named : named_rules) {
    INFO(named.name);
    REQUIRE_FALSE(named.rule.chain.empty());
    std::mt19937_64 random(seed);
    Tally tally;
    for (int bits = 2; bits <= named.widest; ++bits) {
      for (const std::size_t channels : {1U, 1U, 3U, 8U, 17U}) compare(named.rule.chain, named.rule.scale, bits, channels, random, tally);
    }
    tally.check(31 * 12 * 30);
  }
}

template <class T, std::size_t count>
const T& any_of(const std::array<T, count>& values, std::mt19937_64& random) {
  return values[random() % count];
}

Stage random_stage(std::mt19937_64& random) {
  constexpr std::array kinds{StageKind::shift_left,
                             StageKind::multiply,
                             StageKind::doubling_high_multiply,
                             StageKind::two_term_shift,
                             StageKind::shift_right,
                             StageKind::float_scale,
                             StageKind::narrow,
                             StageKind::relu,
                             StageKind::add_zero_point,
                             StageKind::clamp,
                             StageKind::table,
                             StageKind::pwl,
                             StageKind::add_half,
                             StageKind::clip,
                             StageKind::saturate,
                             StageKind::shift_right_with_zero_point,
                             StageKind::float_scale_with_zero_point};
  constexpr std::array amounts{ShiftAmount::remaining, ShiftAmount::negative_exponent, ShiftAmount::constant, ShiftAmount::fraction};
  Stage stage{.kind = any_of(kinds, random), .rounding = any_of(all_roundings, random), .overflow = any_of(all_overflows, random)};
  stage.bits = static_cast<std::uint8_t>(2 + random() % 63);
  if (stage.kind == StageKind::multiply && random() % 2 == 0) stage.bits = 0;
  if (stage.kind == StageKind::doubling_high_multiply) stage.bits = random() % 2 == 0 ? 16 : 32;
  stage.amount = any_of(amounts, random);
  stage.arithmetic = random() % 2 == 0 ? ScaleArithmetic::f32 : ScaleArithmetic::f64;
  stage.constant = static_cast<std::uint8_t>(random() % 63);
  return stage;
}

TEST_CASE("random chains of up to four stages, in any order") {
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  Tally tally;
  for (int round = 0; round < 20000; ++round) {
    Chain chain;
    const std::size_t length = 1 + random() % 4;
    bool multiplied = false;
    while (chain.size < length) {
      const Stage stage = random_stage(random);
      const bool grows = stage.kind == StageKind::multiply || stage.kind == StageKind::two_term_shift;
      if (grows && multiplied) continue;  // 64 bits times two multipliers may leave even 128
      multiplied = multiplied || grows;
      chain.stages[chain.size++] = stage;
    }
    const ScaleEncoding& encoding = random() % 2 == 0 ? tflite::multiplier_q31 : vipnano::scale_f32;
    compare(chain, encoding, 2 + static_cast<int>(random() % 63), 1 + random() % 3, random, tally);
  }
  tally.check(20000 * 24);
}

}  // namespace
}  // namespace lastbit
