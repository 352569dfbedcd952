// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whatever route the proof picks, on every path, the sums equal the step-by-step sums of op/conv2d.hpp, and so do the overflow events.
#include "engine/ops/convolution.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "engine/kernels/kernels.hpp"
#include "lastbit/op/transposed_conv2d.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

std::int64_t between(std::int64_t low, std::int64_t high, std::mt19937_64& random) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

ConvShape random_shape(Direction direction, std::mt19937_64& random) {
  ConvShape s;
  s.batch = between(1, 2, random);
  s.in_height = between(1, 6, random);
  s.in_width = between(1, 7, random);
  s.kernel_height = between(1, 4, random);
  s.kernel_width = between(1, 4, random);
  s.stride_height = between(1, 3, random);
  s.stride_width = between(1, 3, random);
  s.pad_top = between(0, 3, random);
  s.pad_left = between(0, 3, random);
  s.out_height = between(1, 6, random);
  s.out_width = between(1, 6, random);
  s.in_channels = between(1, 20, random);
  s.out_channels = between(1, 11, random);
  if (direction == Direction::transposed) return s;
  s.dilation_height = between(1, 2, random);
  s.dilation_width = between(1, 3, random);
  if (random() % 8 == 0) {  // taps so far apart that most of what lies between them is nobody's
    s.dilation_height = between(1, 3000, random);
    s.dilation_width = between(1, 3000, random);
    s.pad_top = between(0, (s.kernel_height - 1) * s.dilation_height, random);
    s.pad_left = between(0, (s.kernel_width - 1) * s.dilation_width, random);
  }
  switch (random() % 3) {
    case 0: break;  // dense
    case 1:         // depthwise with a multiplier
      s.groups = s.in_channels;
      s.out_channels = s.in_channels * between(1, 3, random);
      break;
    default:  // groups of several channels
      s.groups = between(2, 3, random);
      s.in_channels = s.groups * between(1, 9, random);
      s.out_channels = s.groups * between(1, 5, random);
      break;
  }
  return s;
}

std::vector<AccumulatorRule> accumulator_rules() {
  std::vector<AccumulatorRule> rules;
  for (const std::uint8_t bits : std::initializer_list<std::uint8_t>{12, 20, 32, 40, 64}) {
    for (const Overflow overflow : all_overflows) {
      rules.push_back({bits, overflow, NarrowingPoint::every_add});
      rules.push_back({bits, overflow, NarrowingPoint::every_tile, 5});
      rules.push_back({bits, overflow, NarrowingPoint::at_end});
    }
  }
  return rules;
}

struct ConvolutionCase {
  ConvShape shape;
  Direction direction = Direction::forward;
  ConvArithmetic arithmetic;
  std::vector<std::int16_t> input, weights;
  std::vector<std::int64_t> bias;
  std::int64_t largest_input = 0;
};

/// Values of at most `bits` bits, the ends of the range often among them.
std::vector<std::int16_t> values_of_width(std::int64_t count, int bits, std::mt19937_64& random) {
  std::vector<std::int16_t> values(static_cast<std::size_t>(count));
  for (std::int16_t& value : values) {
    const std::int64_t ends[] = {min_of_width(bits), max_of_width(bits), 0};
    value = static_cast<std::int16_t>(random() % 4 == 0 ? ends[random() % 3] : narrow_wrap(static_cast<std::int64_t>(random()), bits));
  }
  return values;
}

/// Small values let the proof hold for all but the narrowest accumulators; wide ones and extreme biases let it fail.
ConvolutionCase random_layer(Direction direction, const AccumulatorRule& rule, BiasAt bias_at, std::mt19937_64& random) {
  ConvolutionCase layer{random_shape(direction, random), direction, {.sum = {.accumulator = rule}, .bias = bias_at}, {}, {}, {}, 0};
  const ConvShape& s = layer.shape;
  const int input_bits = random() % 2 == 0 ? 9 : 16;
  const int weight_bits = random() % 3 == 0 ? 16 : random() % 2 == 0 ? 8 : 3;
  layer.input = values_of_width(s.batch * s.in_height * s.in_width * s.in_channels, input_bits, random);
  layer.weights = values_of_width(s.out_channels * s.taps(), weight_bits, random);
  for (const std::int16_t x : layer.input) layer.largest_input = std::max<std::int64_t>(layer.largest_input, std::abs(x));
  const std::int64_t extremes[] = {max_of_width(rule.bits), min_of_width(rule.bits), max_of_width(64), min_of_width(64), max_of_width(62)};
  for (std::int64_t o = 0; o < s.out_channels && random() % 16 != 0; ++o)
    layer.bias.push_back(narrow_wrap(static_cast<std::int64_t>(random()), rule.bits - 2));
  if (!layer.bias.empty() && random() % 3 == 0) layer.bias[0] = extremes[random() % std::size(extremes)];
  layer.bias.resize(layer.bias.empty() ? 0 : static_cast<std::size_t>(s.out_channels));
  return layer;
}

/// How many outputs were made by lines, and how many of them the lines left open.
struct MadeByLines {
  std::int64_t outputs = 0, open = 0;
};

/// Every third channel's sum comes to another output, and below 0 to a half more: whoever makes it, a tile of sums, lines that leave open what lies within
/// an eighth of the next output, or the sum that they leave open.
MadeByLines compare_lines(const Convolution& convolution, const ConvInput& input, const std::vector<std::int64_t>& sums, Tally& tally) {
  const auto channels = static_cast<std::size_t>(convolution.shape().out_channels);
  ChannelLines lines;
  lines.fraction_bits = 2, lines.smallest = -100, lines.largest = 90;
  for (std::size_t c = 0; c < channels; ++c) {
    lines.slope.push_back(std::ldexp(1.0F, -2 - 3 * static_cast<int>(c % 3)));
    lines.above.push_back(4 * static_cast<float>(c % 5) + 2);
    lines.below.push_back(lines.above.back() + 2);
  }
  const auto output_of = [&](std::size_t channel, std::int64_t sum) {
    const double places = static_cast<double>(sum) * double{lines.slope[channel]} + double{(sum < 0 ? lines.below : lines.above)[channel]};
    return static_cast<std::int8_t>(std::clamp(std::floor(places / 4), -100.0, 90.0));
  };
  std::vector<std::int8_t> outputs(sums.size(), 101);
  MadeByLines made{std::ssize(sums), 0};
  std::mutex counting;
  const PackedLines packed = convolution.packed(lines);
  const OutputsByLines by_lines{packed, outputs.data(), [&](std::size_t channel, std::int32_t sum) {
                                  const std::scoped_lock lock(counting);
                                  ++made.open;
                                  return output_of(channel, sum);
                                }};
  const auto receive = [&](const SumTile& tile) {
    const std::scoped_lock lock(counting);
    const std::vector<std::int64_t> all = tile.wide.empty() ? std::vector<std::int64_t>(tile.narrow.begin(), tile.narrow.end())
                                                            : std::vector<std::int64_t>(tile.wide.begin(), tile.wide.end());
    for (std::size_t i = 0; i < all.size(); ++i) outputs[tile.first + i] = output_of((tile.first + i) % channels, all[i]);
    made.outputs -= std::ssize(all);
  };
  convolution.for_each_tile(input, receive, nullptr, nullptr, &by_lines);
  for (std::size_t i = 0; i < sums.size(); ++i) tally.equal(outputs[i], output_of(i % channels, sums[i]), i, sums[i], channels);
  return made;
}

/// Compares one layer, with and without counting events; says how the sums were found.
SumRoutes compare(const ConvolutionCase& layer, Tally& tally, MadeByLines* made = nullptr) {
  const ConvShape& s = layer.shape;
  const auto sum = layer.direction == Direction::forward ? accumulate : accumulate_transposed;
  const Convolution convolution(s, layer.direction, layer.arithmetic, layer.weights, layer.bias, ElementType::int16, layer.largest_input);
  Events events;
  SumRoutes routes, observed_routes;
  std::int64_t overflows = 0;
  std::vector<std::int64_t> found(static_cast<std::size_t>(s.out_count())), observed = found;
  const ConvInput input = conv_input(std::span<const std::int16_t>(layer.input));
  convolution.sums(input, found, nullptr, &routes);
  convolution.sums(input, observed, &events, &observed_routes);
  if (made != nullptr) {
    const MadeByLines here = compare_lines(convolution, input, found, tally);
    made->outputs += here.outputs, made->open += here.open;
  }
  const AccumulatorRule& rule = layer.arithmetic.sum.accumulator;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto pixel = static_cast<std::int64_t>(i) / s.out_channels, row = pixel / s.out_width;
    const ConvIndex at{row / s.out_height, row % s.out_height, pixel % s.out_width, static_cast<std::int64_t>(i) % s.out_channels};
    Accumulator expected = sum(s, at, layer.input, layer.weights, layer.bias, rule, layer.arithmetic.bias, 1);
    const std::int64_t result = expected.result();
    overflows += expected.overflow_count();
    tally.equal(found[i], result, rule.bits, rule.overflow, rule.when, layer.arithmetic.bias, s.groups, at.n, at.y, i);
    tally.equal(observed[i], result, rule.bits, rule.overflow, rule.when, layer.arithmetic.bias, s.groups, at.n, at.y, i);
    tally.equal(fits_width(result, convolution.accumulator_bits()), true, rule.bits, rule.overflow, convolution.accumulator_bits(), result);
  }
  tally.equal(events.accumulator_overflows, overflows, rule.bits, rule.overflow, rule.when, layer.arithmetic.bias);
  for (const SumRoutes& one : {routes, observed_routes}) {
    const std::int64_t all = one.order_free + one.proven_by_type + one.proven_by_input + one.proven_by_output + one.step_by_step;
    tally.equal(all, s.out_count(), rule.bits);
  }
  return observed_routes;
}

void compare_many(Direction direction, int rounds) {
  constexpr std::uint64_t seed = 20240817;
  INFO("seed " << seed);
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    INFO("path " << path.name);
    const kernels::ScopedPath scope(path);
    std::mt19937_64 random(seed);
    Tally tally;
    SumRoutes routes;
    MadeByLines made;
    int layers = 0;
    for (const AccumulatorRule& rule : accumulator_rules()) {
      for (const BiasAt bias_at : {BiasAt::accumulator_start, BiasAt::accumulator_end}) {
        for (int round = 0; round < rounds; ++round, ++layers)
          routes += compare(random_layer(direction, rule, bias_at, random), tally, &made);
      }
    }
    tally.check(layers * 3);
    for (const std::int64_t met :
         {routes.order_free, routes.proven_by_type, routes.proven_by_input, routes.proven_by_output, routes.step_by_step})
      CHECK(met > 0);
    CHECK((made.outputs > 0) == (path.line_outputs != nullptr));
    CHECK((made.open > 0) == (path.line_outputs != nullptr));
  }
}

TEST_CASE("a band holds what windows cover, and of wide windows their taps alone") {
  ConvShape s{.in_height = 20001, .in_width = 20001, .in_channels = 5, .kernel_height = 3, .kernel_width = 3};
  CHECK(Band::bytes_for({.shape = s}, 4, 10, BandForm::words) == 6 * 12 * 5 * 2);
  s.dilation_height = s.dilation_width = 10000;
  CHECK(Band::bytes_for({.shape = s}, 1, 1, BandForm::words) == 9 * 5 * 2);
  CHECK(Band::bytes_for({.shape = s}, 4, 10, BandForm::unsigned_bytes) == 12 * 30 * 5);
  s.dilation_width = 1;
  CHECK(Band::bytes_for({.shape = s}, 1, 10, BandForm::unsigned_bytes) == 3 * 12 * 5);
  s.stride_width = 10000;
  CHECK(Band::bytes_for({.shape = s}, 1, 2, BandForm::unsigned_bytes) == 3 * 6 * 5);
}

TEST_CASE("sums of conv2d, grouped and depthwise: every accumulator rule, bias first and last") { compare_many(Direction::forward, 20); }
TEST_CASE("sums of transposed conv2d: every accumulator rule, bias first and last") { compare_many(Direction::transposed, 6); }

/// A layer of positive weights: an output leaves 24 bits exactly where its input is all large, which `large` of 8 columns are.
ConvolutionCase layer_with_failures(Overflow overflow, NarrowingPoint when, std::int64_t large) {
  ConvolutionCase layer{{.in_height = 1, .in_width = 8, .in_channels = 64, .out_height = 1, .out_width = 8, .out_channels = 24},
                        Direction::forward,
                        {.sum = {.accumulator = {24, overflow, when, 16}}, .bias = BiasAt::accumulator_start},
                        std::vector<std::int16_t>(8 * 64, 1),
                        std::vector<std::int16_t>(24 * 64, 100),
                        std::vector<std::int64_t>(24, 1000),
                        32767};
  // Signs that change keep the sum small and every proof but that of the positive part out of it.
  for (std::size_t i = 0; i < static_cast<std::size_t>(large) * 64; ++i)
    layer.input[i] = i % 64 < 40 ? std::int16_t{30000} : std::int16_t{-30000};
  return layer;
}

TEST_CASE("none, some and all of the outputs fail the proof: equal to the reference for each overflow rule, and counted as such") {
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    INFO("path " << path.name);
    const kernels::ScopedPath scope(path);
    Tally tally;
    for (const Overflow overflow : all_overflows) {
      for (const NarrowingPoint when : {NarrowingPoint::every_add, NarrowingPoint::every_tile}) {
        for (const std::int64_t large : {0, 3, 8}) {
          const SumRoutes routes = compare(layer_with_failures(overflow, when, large), tally);
          CHECK(routes.step_by_step == large * 24);
          CHECK(routes.proven_by_input == (large == 0 ? 8 * 24 : 0));
          CHECK(routes.proven_by_output == (large == 0 ? 0 : (8 - large) * 24));
        }
      }
    }
    tally.check(3 * 2 * 3 * 8 * 24);
  }
}

}  // namespace
}  // namespace lastbit
