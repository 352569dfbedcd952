// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rows of accumulators through the Finisher equal finish() of arith/rescale.hpp one by one, on every path, whether its plan is in lanes of
// 32 bits, of 64 bits, or there is none; and so do the counts of clamped values.
#include "engine/finisher.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/backends/vipnano.hpp"
#include "lastbit/registry.hpp"
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

/// Segments of a layer: few or many, near each other or far, some with wide products; or none.
std::span<const ScaleSegment> random_segments(std::mt19937_64& random) {
  static const auto tables = [] {
    std::mt19937_64 fresh(seed);
    std::vector<std::vector<ScaleSegment>> made(60);
    for (std::size_t t = 1; t < made.size(); ++t) {
      const int spread = 4 + static_cast<int>(t) / 2, bits = t % 3 == 0 ? 30 : 16;
      std::int64_t start = -(std::int64_t{1} << spread);
      for (std::size_t s = 0; s < 1 + t % 16; ++s, start += 1 + static_cast<std::int64_t>(fresh() >> (64 - std::max(1, spread - 3))))
        made[t].push_back({start, of_width(bits, fresh), static_cast<int>(fresh() % (t % 5 == 0 ? 70 : 30)), of_width(9, fresh)});
    }
    return made;
  }();
  return tables[random() % tables.size()];
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
  operands.offset = random() % 3 == 0 ? 0 : of_width(20, random);
  operands.converter = {of_width(20, random), of_width(realistic ? 15 : 32, random) & max_of_width(32), static_cast<int>(random() % 32)};
  if (random() % 8 == 0) operands.converter.multiplier = -operands.converter.multiplier;
  return operands;
}

/// How many values have been moved on their way: by the bounds of the output, by stages that saturate before, by stages that wrap.
struct Moved {
  std::int64_t outputs = 0, stages = 0, wraps = 0;
};

/// A stage without what it narrows at its end.
class Unnarrowed : public ExactMachine {
 public:
  using ExactMachine::ExactMachine;
  static bool narrow(int, Overflow) { return true; }
  bool add_and_narrow(auto&& addend, int, Overflow) { return add(addend); }
};

/// Whether the stage narrows so what does not fit its width.
bool leaves(const Stage& stage, Overflow overflow, const InFlight& at, const RescaleOperands& operands) {
  if (stage.kind == StageKind::scale_below_zero && overflow == Overflow::wrap)
    return operands.below_zero && at.value >= Int128{1} << (stage.bits - 1);
  const bool narrows = facts_of(stage).reads(stage).overflow && stage.overflow == overflow;
  if (!narrows && !(stage.kind == StageKind::doubling_high_multiply && overflow == Overflow::saturate)) return false;
  Unnarrowed machine(at, operands);
  run(stage, machine);
  return narrow_saturate(machine.at().value, stage.bits) != machine.at().value;
}

/// What finish() does.
std::int64_t expected_of(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands, Moved& moved) {
  InFlight at{accumulator, 0};
  for (const Stage& stage : chain) {
    const Int128 before = at.value;
    moved.stages += leaves(stage, Overflow::saturate, at, operands) ? 1 : 0;
    moved.wraps += leaves(stage, Overflow::wrap, at, operands) ? 1 : 0;
    at = apply(stage, at, operands);
    if (facts_of(stage).bounds_output && at.value != before) ++moved.outputs;
  }
  return finish(chain, accumulator, operands);
}

constexpr std::array output_types{ElementType::int8,  ElementType::uint8,  ElementType::int16, ElementType::uint16,
                                  ElementType::int32, ElementType::uint32, ElementType::int64};

/// The values as a tensor holds them, in the middle of others that must stay as they are.
template <class Sum>
void compare_tensor(const Finisher& finisher, const std::vector<std::int64_t>& accumulators, const std::vector<std::int64_t>& expected,
                    const Moved& moved, ElementType type, Tally& tally) {
  const std::vector<Sum> sums(accumulators.begin(), accumulators.end());
  constexpr std::size_t offset = 3, behind = 2;
  Tensor output(type, Shape{static_cast<std::int64_t>(offset + sums.size() + behind)});
  std::fill(output.bytes().begin(), output.bytes().end(), std::byte{0x5A});
  Tensor observed = output, wanted = output;
  store(expected, wanted, offset);
  Events events;
  finisher(sums, output, offset, nullptr);
  finisher(sums, observed, offset, &events);
  for (std::int64_t i = 0; i < output.element_count(); ++i) {
    tally.equal(output.integer_at(i), wanted.integer_at(i), i, sizeof(Sum), type);
    tally.equal(observed.integer_at(i), wanted.integer_at(i), i, sizeof(Sum), type);
  }
  tally.equal(events.saturated_outputs, moved.outputs, sizeof(Sum), type);
  tally.equal(events.saturated_stages, moved.stages, sizeof(Sum), type);
  tally.equal(events.wrapped_stages, moved.wraps, sizeof(Sum), type);
  tally.equal(events.outputs, sums.size());
}

struct Compared {
  Tally tally;
  std::int64_t planned = 0, defined = 0, moved = 0, saturated = 0,
               wrapped = 0;  ///< finishers by plan and by definition; clamps, and narrowings, that acted
};

void compare(const Chain& chain, const ScaleEncoding& encoding, int accumulator_bits, std::size_t channels, std::mt19937_64& random,
             Compared& compared) {
  const Rectifier rectifier = random() % 2 == 0 ? Rectifier::none : Rectifier::at_zero;
  std::vector<RescaleOperands> operands;
  const std::span<const ScaleSegment> segments = random_segments(random);
  for (std::size_t c = 0; c < channels; ++c) {
    operands.push_back(random_operands(encoding, rectifier, random));
    operands.back().segments = segments;
  }
  std::vector<std::int64_t> accumulators(channels * (1 + random() % 12));
  for (std::int64_t& value : accumulators) value = of_width(accumulator_bits, random);
  std::vector<std::int64_t> expected(accumulators.size());
  Moved moved;
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = expected_of(chain, accumulators[i], operands[i % channels], moved);
  compared.moved += moved.outputs;
  compared.saturated += moved.stages;
  compared.wrapped += moved.wraps;
  const ElementType type = output_types[random() % output_types.size()];
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    const Finisher finisher(chain, operands, accumulator_bits, path);
    ++(finisher.is_planned() ? compared.planned : compared.defined);
    auto found = accumulators, observed = accumulators;
    Events events;
    finisher(found);
    finisher(observed, &events);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const EncodedScale& scale = operands[i % channels].scale;
      compared.tally.equal(found[i], expected[i], accumulator_bits, accumulators[i], scale.multiplier, scale.exponent, chain.begin()->kind,
                           channels, i, path.finish_lanes);
      compared.tally.equal(observed[i], expected[i], accumulator_bits, accumulators[i], scale.multiplier, scale.exponent);
    }
    compared.tally.equal(events.outputs, found.size());
    compared.tally.equal(events.saturated_outputs, moved.outputs, accumulator_bits, path.finish_lanes);
    compared.tally.equal(events.saturated_stages, moved.stages, accumulator_bits, path.finish_lanes);
    compared.tally.equal(events.wrapped_stages, moved.wraps, accumulator_bits, path.finish_lanes);
    compare_tensor<std::int64_t>(finisher, accumulators, expected, moved, type, compared.tally);
    if (accumulator_bits <= 32) compare_tensor<std::int32_t>(finisher, accumulators, expected, moved, type, compared.tally);
  }
}

void append_rules(const ConvByType& conv, std::vector<RescaleRule>& rules) {
  for (const ConvArithmetic* arithmetic : {&conv.i8, &conv.u8, &conv.i16_bias32, &conv.i16_bias64, &conv.i8_weights16, &conv.i16_weights8,
                                           &conv.i8_per_channel, &conv.i8_without_bias, &conv.i16_without_bias})
    rules.push_back(arithmetic->sum.output);
}

/// Every chain of every built-in backend, once.
std::vector<RescaleRule> built_in_rules() {
  std::vector<RescaleRule> rules, distinct;
  for (const SpecSheet& sheet : builtin_backends()) {
    const Backend& b = sheet.backend;
    for (const ConvByType* conv : {&b.conv, &b.depthwise_conv, &b.transposed_conv, &b.fully_connected, &b.recurrent})
      append_rules(*conv, rules);
    std::vector<const SumArithmetic*> sums{
        &b.mean.sum, &b.average_pool.sum, &b.global_average_pool.sum, &b.sum_pool.i8,   &b.sum_pool.wide, &b.left.mean.sum,
        &b.left.add, &b.left.sub,         &b.matmul.i8.sum,           &b.matmul.u8.sum, &b.matmul.i16.sum};
    for (const AddArithmetic* add : {&b.add, &b.sub, &b.add_n})
      for (const SumArithmetic* sum : {&add->i8, &add->i16, &add->i16_power_of_two, &add->above_one}) sums.push_back(sum);
    for (const SumArithmetic* sum : sums)
      for (const RescaleRule* rule : {&sum->operand, &sum->output}) rules.push_back(*rule);
    for (const FunctionArithmetic* function : {&b.leaky_relu, &b.prelu, &b.hard_swish, &b.logistic, &b.tanh, &b.softmax, &b.exp,
                                               &b.left.leaky_relu, &b.left.logistic, &b.left.tanh})
      rules.insert(rules.end(), {function->rescale, {function->input.scale, function->input.chain}});
    for (const RescaleRule* rule :
         {&b.requantize, &b.requantize_16bit, &b.requantize_to_32bit, &b.left.requantize, &b.mul, &b.svdf.state_i8, &b.svdf.state_i16,
          &b.svdf.output, &b.lstm.gate_i8.sum.output, &b.lstm.gate_i16.sum.output, &b.lstm.cell, &b.lstm.output})
      rules.push_back(*rule);
  }
  for (const RescaleRule& rule : rules) {
    if (rule.chain.empty() || rule.chain.stages[0].kind == StageKind::divide) continue;  // pools divide before they finish
    if (std::find(distinct.begin(), distinct.end(), rule) == distinct.end()) distinct.push_back(rule);
  }
  return distinct;
}

TEST_CASE("the built-in chains on every path: extreme and random accumulators, every width, one operand or one per channel") {
  INFO("seed " << seed);
  const std::vector<RescaleRule> rules = built_in_rules();
  REQUIRE(rules.size() > 30);
  std::int64_t planned = 0, defined = 0, moved = 0;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    INFO("rule " << r);
    std::mt19937_64 random(seed);
    Compared compared;
    for (int bits = 2; bits <= 64; ++bits) {
      for (const std::size_t channels : {1U, 1U, 3U, 8U, 17U, 32U})
        compare(rules[r].chain, rules[r].scale, bits, channels, random, compared);
      if (bits % 16 == 0) compare(rules[r].chain, rules[r].scale, bits, 700, random, compared);
    }
    compared.tally.check(63 * 60);
    planned += compared.planned, defined += compared.defined, moved += compared.moved;
  }
  CHECK(moved > 10000);
  CHECK(planned > defined);  // the other operands are far from what a model has
}

TEST_CASE("the layers of a network never run by definition: every built-in chain has a plan for them") {
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const std::vector<RescaleRule> rules = built_in_rules();
  for (std::size_t r = 0; r < rules.size(); ++r) {
    INFO("rule " << r);
    // GAP8's global average shifts its sum to the left before it divides: one output for each channel, computed by definition.
    const auto divides = [](const Stage& stage) { return stage.kind == StageKind::divide; };
    if (rules[r].chain.begin()->kind == StageKind::shift_left_by && std::ranges::any_of(rules[r].chain, divides)) continue;
    for (const int bits : {16, 24, 32, 40}) {
      // A lost carry makes a negative multiplier of a power of two: that is computed by definition.
      const double significand = rules[r].scale.carry == MultiplierCarry::lost ? 1.25 : 1;
      const double scale = std::ldexp(significand, bits == 40 ? -20 : 8 - bits / 2);
      RescaleOperands operands{.scale = encode(rules[r].scale, scale), .zero_point = 3, .min = -128, .max = 127};
      operands.storage_min = -128, operands.storage_max = 127;
      const std::vector<ScaleSegment> segments{{-(std::int64_t{1} << 35), 0, 0, 0}, {-90, 12345, 14, 0}, {70, -321, 9, 250}};
      operands.segments = segments;
      CHECK(Finisher(rules[r].chain, {operands}, bits).is_planned());
    }
  }
}

TEST_CASE("real numbers next to a half, on every path: in double as in float, each rule rounds them as it is defined") {
  for (const ProductArithmetic arithmetic : {ProductArithmetic::f32, ProductArithmetic::f64}) {
    const bool in_double = arithmetic == ProductArithmetic::f64;
    Tally tally;
    for (const Rounding rule : all_roundings) {
      const Chain chain{stage::float_scale(rule, arithmetic), stage::clamp()};
      for (const double half : {0.5, 1.5, 2.5}) {
        for (int steps = -2; steps <= 2; ++steps) {
          const double scale = half + steps * std::ldexp(1, in_double ? -51 : -22);
          RescaleOperands operands{.scale = {.real_f32 = static_cast<float>(scale), .real_f64 = scale}, .min = -1000, .max = 1000};
          for (const kernels::Path& path : kernels::paths()) {
            if (!path.available()) continue;
            for (const int bits : {24, 40}) {
              const Finisher finisher(chain, {operands}, bits, path);
              std::vector<std::int64_t> found;
              for (std::int64_t v = -9; v <= 9; ++v) found.push_back(v);
              finisher(found);
              for (std::int64_t v = -9; v <= 9; ++v)
                tally.equal(found[static_cast<std::size_t>(v + 9)], finish(chain, v, operands), rule, v, half, steps, bits,
                            path.finish_lanes);
            }
          }
        }
      }
    }
    tally.check(9 * 15 * 19 * 2);
  }
}

template <class T, std::size_t count>
const T& any_of(const std::array<T, count>& values, std::mt19937_64& random) {
  return values[random() % count];
}

Stage random_stage(std::mt19937_64& random) {
  constexpr std::array amounts{ShiftAmount::remaining, ShiftAmount::negative_exponent, ShiftAmount::constant, ShiftAmount::fraction,
                               ShiftAmount::converter};
  Stage stage{.kind = static_cast<StageKind>(random() % stage_kinds),
              .rounding = any_of(all_roundings, random),
              .overflow = any_of(all_overflows, random)};
  stage.bits = static_cast<std::uint8_t>(2 + random() % 63);
  if (stage.kind == StageKind::multiply && random() % 2 == 0) stage.bits = 0;
  if (stage.kind == StageKind::doubling_high_multiply) stage.bits = random() % 2 == 0 ? 16 : 32;
  stage.amount = any_of(amounts, random);
  stage.arithmetic = random() % 2 == 0 ? ProductArithmetic::f32 : ProductArithmetic::f64;
  stage.constant = static_cast<std::uint8_t>(random() % 63);
  stage.step = random() % 2 == 0 ? RoundingStep::up : RoundingStep::away_from_zero;
  return stage;
}

TEST_CASE("random chains of up to four stages, in any order") {
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  Compared compared;
  for (int round = 0; round < 20000; ++round) {
    Chain chain;
    const std::size_t length = 1 + random() % 4;
    bool multiplied = false;
    while (chain.size < length) {
      const Stage stage = random_stage(random);
      const bool grows = stage.kind == StageKind::multiply || stage.kind == StageKind::two_term_shift ||
                         stage.kind == StageKind::multiply_by_converter || stage.kind == StageKind::scale_below_zero ||
                         stage.kind == StageKind::segments;
      if (grows && multiplied) continue;  // 64 bits times two multipliers may leave even 128
      multiplied = multiplied || grows;
      chain.append(stage);
    }
    const ScaleEncoding& encoding = random() % 2 == 0 ? tflite::multiplier_q31 : vipnano::scale_f32;
    compare(chain, encoding, 2 + static_cast<int>(random() % 63), 1 + random() % 3, random, compared);
  }
  compared.tally.check(20000 * 24);
  CHECK(compared.planned > 4000);
  CHECK(compared.defined > 4000);
  CHECK(compared.saturated > 10000);
  CHECK(compared.wrapped > 10000);
}

// A left shift in a lane of its own width leaves the low bits there: what left is counted in lanes of 64 bits, or by definition.
TEST_CASE("what a stage wraps is counted where the lane itself would hide it, on every path") {
  constexpr std::int64_t unit = std::int64_t{1} << 22, half = std::int64_t{1} << 31, wide_unit = std::int64_t{1} << 62;
  struct Case {
    const char* name;
    Chain chain;
    std::vector<std::int64_t> sums, outputs;
    std::int64_t wrapped;
  };
  const std::vector<Case> cases{
      {"by the exponent, 32 bits",
       {stage::shift_left(32, Overflow::wrap)},
       {511, 512, -512, -513},
       {511 * unit, -half, -half, 511 * unit},
       2},
      {"by a constant, 32 bits", {stage::shift_left_by(22, 32, Overflow::wrap)}, {511, 512, -512, 1024}, {511 * unit, -half, -half, 0}, 2},
      {"by a constant, 64 bits",
       {stage::shift_left_by(62, 64, Overflow::wrap)},
       {1, 2, -2, -3},
       {wide_unit, 2 * -wide_unit, 2 * -wide_unit, wide_unit},
       2},
      {"16 bits of a sum of 32", {stage::narrow_to(16, Overflow::wrap)}, {32767, 32768, 49036, -32768}, {32767, -32768, -16500, -32768}, 2},
      {"twice in one chain",
       {stage::narrow_to(16, Overflow::wrap), stage::narrow_to(8, Overflow::wrap)},
       {127, 128, 65535, 40000},
       {127, -128, -1, 64},
       4},
  };
  for (const Case& one : cases) {
    INFO(one.name);
    const RescaleOperands operands{.scale = {.exponent = 22}};
    for (const kernels::Path& path : kernels::paths()) {
      if (!path.available()) continue;
      const Finisher finisher(one.chain, {operands}, 32, path);
      auto found = one.sums, observed = one.sums;
      Events events;
      finisher(found);
      finisher(observed, &events);
      CHECK(found == one.outputs);
      CHECK(observed == one.outputs);
      CHECK(events.wrapped_stages == one.wrapped);
    }
  }
}

}  // namespace
}  // namespace lastbit
