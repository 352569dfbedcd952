// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Lines on which a chain's sums have places: every output is what its sum's place says, for every built-in chain that has them; and blocks make of them what the definition
// says, on every path. (convolution_test.cpp has layers that are finished so.)
#include "engine/output_lines.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "engine/finisher.hpp"
#include "engine/kernels/kernels.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/registry.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr std::uint64_t seed = 20261128;

std::vector<RescaleRule> convolution_rules() {
  std::vector<RescaleRule> distinct;
  for (const SpecSheet& sheet : builtin_backends()) {
    for (const ConvByType* conv : {&sheet.backend.conv, &sheet.backend.depthwise_conv, &sheet.backend.fully_connected}) {
      for (const ConvArithmetic* arithmetic : {&conv->i8, &conv->u8, &conv->i8_per_channel}) {
        const RescaleRule& rule = arithmetic->sum.output;
        if (!rule.chain.empty() && std::ranges::find(distinct, rule) == distinct.end()) distinct.push_back(rule);
      }
    }
  }
  return distinct;
}

struct Layer {
  Chain chain;
  std::vector<RescaleOperands> operands;
  int bits = 32;

  [[nodiscard]] IntegerRange sums() const { return {min_of_width(bits), max_of_width(bits)}; }
};

/// A layer as networks have them: an output step is 2^3 to 2^17 steps of the sum, and no sum 2^20 outputs away.
Layer random_layer(const RescaleRule& rule, std::size_t channels, std::mt19937_64& random) {
  Layer layer{rule.chain, {}, static_cast<int>(20 + random() % 13)};
  const int exponent = std::min(20 - layer.bits, -3 - static_cast<int>(random() % 15));
  const bool is_unsigned = random() % 4 == 0, exact = random() % 4 == 0;
  const std::int64_t zero_point = random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % 256) - (is_unsigned ? 0 : 128);
  for (std::size_t c = 0; c < channels; ++c) {
    const double significand = exact ? 1 : 1 + static_cast<double>(random() % 0x800000) / 0x800000;
    RescaleOperands operands{.scale = encode(rule.scale, std::ldexp(significand, exponent)), .zero_point = zero_point};
    operands.min = operands.storage_min = is_unsigned ? 0 : -128;
    operands.max = operands.storage_max = is_unsigned ? 255 : 127;
    if (random() % 8 == 0) operands.min = std::clamp<std::int64_t>(zero_point, operands.storage_min, operands.storage_max);
    layer.operands.push_back(operands);
  }
  if (random() % 8 != 0)  // bounds are the layer's
    for (RescaleOperands& each : layer.operands) each.min = layer.operands[0].min;
  return layer;
}

const ChannelLines* lines_of(const LineFinder& finder, const Finisher& finisher) {
  const ScopedEagerLines eager;
  return finder.lines(1, [&](std::span<std::int64_t> values) { finisher(values); });
}

/// The least sum of which at least `output` comes; one more than the largest sum where there is none.
std::int64_t step_to(std::int64_t output, const Layer& layer, std::size_t channel) {
  std::int64_t low = layer.sums().min, high = layer.sums().max + 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (finish(layer.chain, middle, layer.operands[channel]) >= output) high = middle;
    else low = middle + 1;
  }
  return low;
}

/// What the place of a sum says its output is, within the bounds.
struct Said {
  std::int64_t least = 0, most = 0;
  bool is_decided = false;
};
Said said(const ChannelLines& lines, std::size_t channel, std::int64_t sum) {
  const auto of_channel = [&](const std::vector<float>& list) { return list[list.size() == 1 ? 0 : channel]; };
  const float exact = std::fma(static_cast<float>(sum), of_channel(lines.slope), of_channel(sum < 0 ? lines.below : lines.above));
  const auto place = static_cast<std::int64_t>(std::nearbyint(exact)), whole = std::int64_t{1} << lines.fraction_bits;
  const bool is_decided = place % whole != 0;
  const auto bounded = [&](std::int64_t value) { return std::clamp<std::int64_t>(value, lines.smallest, lines.largest); };
  const auto output = static_cast<std::int64_t>(std::floor(static_cast<double>(place) / static_cast<double>(whole)));
  return {bounded(is_decided ? output : output - 1), bounded(output), is_decided};
}

/// Sums around every step, the ends, 0, and any others.
std::vector<std::int64_t> telling_sums(const Layer& layer, std::size_t channel, std::mt19937_64& random) {
  const auto [least, most] = layer.sums();
  std::vector<std::int64_t> sums{least, least + 1, most - 1, most, -2, -1, 0, 1};
  for (std::int64_t output = layer.operands[channel].storage_min; output <= layer.operands[channel].storage_max + 1; ++output) {
    const std::int64_t step = step_to(output, layer, channel);
    for (std::int64_t sum = step - 3; sum <= step + 2; ++sum) sums.push_back(std::clamp(sum, least, most));
  }
  for (int i = 0; i < 200; ++i) sums.push_back(least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1)));
  return sums;
}

TEST_CASE("every output is what its sum's place on the channel's line says") {
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const std::vector<RescaleRule> rules = convolution_rules();
  std::set<std::size_t> with_lines;
  Tally tally;
  std::int64_t decided = 0, open = 0;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    for (int round = 0; round < 24; ++round) {
      const Layer layer = random_layer(rules[r], round % 3 == 0 ? 1 : 5, random);
      const Finisher finisher(layer.chain, layer.operands, layer.bits);
      if (!finisher.is_planned()) continue;
      const LineFinder finder(layer.chain, layer.operands, layer.sums());
      const ChannelLines* const lines = lines_of(finder, finisher);
      if (lines == nullptr) continue;
      with_lines.insert(r);
      for (std::size_t c = 0; c < layer.operands.size(); ++c) {
        for (const std::int64_t sum : telling_sums(layer, c, random)) {
          const std::int64_t output = finish(layer.chain, sum, layer.operands[c]);
          const Said place = said(*lines, c, sum);
          tally.equal(place.least <= output && output <= place.most ? 1 : 0, 1, r, round, c, sum, output, place.least, place.most);
          ++(place.is_decided ? decided : open);
        }
      }
    }
  }
  tally.check(1'000'000);
  INFO(with_lines.size() << " of " << rules.size() << " rules");
  CHECK(with_lines.size() * 10 >= rules.size() * 7);
  CHECK(open > 1000);  // some sums are near a step of so fine a scale
  CHECK(decided > 5 * open);
}

TEST_CASE("lines are refused where outputs do not keep the order of sums, or are no bytes") {
  const auto has_lines = [](const Chain& chain, const RescaleOperands& operands) {
    const Finisher finisher(chain, {operands}, 24);
    return lines_of(LineFinder(chain, std::vector{operands}, {min_of_width(24), max_of_width(24)}), finisher) != nullptr;
  };
  RescaleOperands operands{.scale = encode(tflite::multiplier_q31, 0x1.5p-9), .zero_point = 3, .min = -128, .max = 127};
  const Chain usual = find_backend("tflite_double").backend.conv.i8.sum.output.chain;
  CHECK(has_lines(usual, operands));
  Chain wrapping{stage::narrow_to(16, Overflow::wrap)};
  CHECK_FALSE(has_lines(wrapping + usual, operands));
  operands.min = -30000, operands.max = 30000;
  CHECK_FALSE(has_lines(usual, operands));
  operands.min = -128, operands.max = 127;
  operands.scale = encode(tflite::multiplier_q31, 0x1.5p-30);  // one output for all sums
  CHECK(has_lines(usual, operands));
  operands.scale = encode(tflite::multiplier_q31, 0x1.5p-2);  // places of 2^22 outputs, too coarse for 32 bits
  CHECK_FALSE(has_lines(usual, operands));
}

TEST_CASE("sums of both signs have one line where they are rounded alike, and two where they are not") {
  const auto has_two = [](const char* backend) {
    const RescaleRule& rule = find_backend(backend).backend.conv.i8.sum.output;
    const RescaleOperands operands{.scale = encode(rule.scale, 0x1.5p-7), .zero_point = 3, .min = -128, .max = 127};
    const Finisher finisher(rule.chain, {operands}, 24);
    const LineFinder finder(rule.chain, std::vector{operands}, {min_of_width(24), max_of_width(24)});
    const ChannelLines* const lines = lines_of(finder, finisher);
    REQUIRE(lines != nullptr);
    return lines->by_sign();
  };
  CHECK_FALSE(has_two("xnnpack"));        // nearest, ties to even
  CHECK_FALSE(has_two("tflite_single"));  // nearest, ties up
  CHECK(has_two("tflite_double"));        // doubled and shifted: ties away from zero
}

TEST_CASE("lines are looked for once as many outputs were finished as they cost") {
  const Layer layer{find_backend("xnnpack").backend.conv.i8.sum.output.chain,
                    {{.scale = encode(find_backend("xnnpack").backend.conv.i8.sum.output.scale, 0x1.5p-9), .min = -128, .max = 127}},
                    24};
  const Finisher finisher(layer.chain, layer.operands, layer.bits);
  const LineFinder finder(layer.chain, layer.operands, layer.sums());
  int asked = 0;
  const FinishRows finish_rows = [&](std::span<std::int64_t> values) {
    ++asked;
    finisher(values);
  };
  CHECK(finder.lines(1, finish_rows) == nullptr);
  CHECK(asked == 0);
  const ChannelLines* const found = finder.lines(1'000'000, finish_rows);
  CHECK(found != nullptr);
  const int once = asked;
  CHECK(once > 0);
  CHECK(finder.lines(1, finish_rows) == found);
  CHECK(asked == once);
}

TEST_CASE("blocks on every path: outputs as the lines say, undecided sums listed, nothing else written") {
  std::mt19937_64 random(seed);
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available() || path.line_outputs == nullptr) continue;
    INFO(path.name);
    Tally tally;
    std::size_t listed = 0;
    for (int round = 0; round < 2000; ++round) {
      const std::size_t pixels = 1 + random() % 6, channels = 1 + random() % 40, row = kernels::whole_vectors(channels, path.lanes);
      const std::size_t stride = channels + random() % 5;
      std::vector<float> slope(row, 0), above(row, 0), below(row, 0);
      const bool by_sign = random() % 2 == 0;
      const int fraction_bits = 5 + static_cast<int>(random() % 3), largest = random() % 2 == 0 ? 100 : 127;
      for (std::size_t c = 0; c < channels; ++c) {
        slope[c] = std::ldexp(1 + static_cast<float>(random() % 0x800000) / 0x800000, fraction_bits - 9);
        above[c] = std::ldexp(static_cast<float>(random() % 1000) / 1000 - 3, fraction_bits);
        below[c] = by_sign ? above[c] - 16 : above[c];
      }
      const kernels::OutputLines lines{slope.data(), above.data(), below.data(), fraction_bits, by_sign, -128, largest};
      std::vector<std::int32_t> sums(pixels * row);
      for (std::int32_t& sum : sums) sum = static_cast<std::int32_t>(random()) >> (random() % 24);
      std::vector<std::int8_t> outputs(pixels * stride, 77);
      std::vector<kernels::UndecidedSum> list(pixels * stride);
      kernels::UndecidedSums undecided{list.data()};
      const std::size_t first = random() % 100;
      path.line_outputs({&lines, 0, sums.data(), row, pixels, channels, outputs.data(), stride, first, &undecided});
      std::size_t expected_listed = 0;
      for (std::size_t p = 0; p < pixels; ++p) {
        for (std::size_t c = 0; c < stride; ++c) {
          const std::size_t at = p * stride + c;
          if (c >= channels) {
            tally.equal(outputs[at], 77, round, p, c);
            continue;
          }
          const std::int32_t sum = sums[p * row + c];
          const float exact = std::fma(static_cast<float>(sum), slope[c], sum < 0 ? below[c] : above[c]);
          if (std::abs(exact) >= 0x1p30F) continue;
          const auto place = static_cast<std::int64_t>(std::nearbyint(exact)), whole = std::int64_t{1} << fraction_bits;
          const auto output = static_cast<std::int64_t>(std::floor(static_cast<double>(place) / static_cast<double>(whole)));
          const auto end = list.begin() + static_cast<std::ptrdiff_t>(undecided.count);
          const auto found = std::find_if(list.begin(), end, [&](const auto& each) { return each.output == first + at; });
          tally.equal(found != end ? 1 : 0, place % whole == 0 ? 1 : 0, round, p, c, sum);
          if (found != end) tally.equal(found->sum, sum);
          else tally.equal(outputs[at], std::clamp<std::int64_t>(output, -128, largest), round, p, c, sum);
          expected_listed += place % whole == 0 ? 1U : 0U;
        }
      }
      listed += expected_listed;
      tally.equal(undecided.count, expected_listed, round);
    }
    tally.check(100'000);
    CHECK(listed > 1000);
  }
}

TEST_CASE("blocks of two codes on every path: outputs as the lines say, undecided ones listed, nothing else written") {
  const kernels::PairLines lines{.slope_a = 0.61F, .slope_b = -0.37F, .offset = 3.2F, .gap = 0.01F, .smallest = -100, .largest = 90};
  std::vector<std::int8_t> a, b;
  for (int i = 0; i < 65536; ++i)
    a.push_back(static_cast<std::int8_t>(i % 256 - 128)), b.push_back(static_cast<std::int8_t>(i / 256 - 128));
  const auto nearest = [](float value) { return static_cast<std::int32_t>(std::nearbyint(value)); };
  for (const kernels::Path& path : kernels::paths()) {
    if (path.pair_outputs == nullptr || !path.available()) continue;
    INFO("path " << path.name);
    for (const std::size_t count : {std::size_t{1}, std::size_t{511}, std::size_t{1037}, std::size_t{65536}}) {
      std::vector<std::int8_t> outputs(count + 1, 77);
      std::vector<std::uint32_t> undecided(count);
      undecided.resize(path.pair_outputs({&lines, a.data(), b.data(), true, count, outputs.data(), undecided.data()}));
      Tally tally;
      std::vector<std::uint32_t> expected;
      for (std::size_t i = 0; i < count; ++i) {
        const float lower =
            std::fma(static_cast<float>(a[i]), lines.slope_a, std::fma(static_cast<float>(b[i]), lines.slope_b, lines.offset));
        const std::int32_t low = nearest(lower);
        if (low != nearest(lower + lines.gap)) expected.push_back(static_cast<std::uint32_t>(i));
        tally.equal(std::int64_t{outputs[i]}, std::int64_t{std::clamp(low, lines.smallest, lines.largest)}, i);
      }
      tally.check(static_cast<std::int64_t>(count));
      CHECK(undecided == expected);
      CHECK(outputs[count] == 77);
    }
  }
}

}  // namespace
}  // namespace lastbit
