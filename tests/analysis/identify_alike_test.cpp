// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Chains that are taken for alike without computing a value: they make the same of every accumulator; and those that a width tells apart are not.
#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "analysis/identify/alike_chains.hpp"
#include "analysis/identify/idle_widths.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

/// Two channels whose scales have one exponent, the second a multiplier of nearly twice the first's; the third is far from them.
Model three_channels(std::mt19937_64& random) {
  std::uniform_real_distribution<double> smaller(1.01, 1.2), larger(1.8, 1.99);
  std::uniform_int_distribution<int> code(-127, 127);
  std::vector<std::int8_t> weights(3 * 16);
  for (std::int8_t& weight : weights) weight = static_cast<std::int8_t>(code(random));
  Model model;
  model.name = "three channels";
  model.tensors = {{"x", ElementType::int8, {1, 8, 8, 16}, {{1.0}, {3}, 0}, {}},
                   {"w",
                    ElementType::int8,
                    {3, 1, 1, 16},
                    {{smaller(random) * 0x1p-9, larger(random) * 0x1p-9, smaller(random) * 0x1p-2}, {0, 0, 0}, 0},
                    Tensor::from<std::int8_t>({3, 1, 1, 16}, weights)},
                   {"y", ElementType::int8, {1, 8, 8, 3}, {{1.0}, {-4}, 0}, {}}};
  model.operations = {{OperationKind::conv2d, "conv", {0, 1}, {2}, Conv2dAttributes{}}};
  model.inputs = {0};
  model.outputs = {2};
  validate(model, "test");
  return model;
}

ConvData data_of(const Model& model, std::mt19937_64& random) {
  IdentifyPair pair{"layer", model, {}, Tensor(ElementType::int8, {1, 8, 8, 3})};
  Tensor& input = pair.inputs.emplace_back(ElementType::int8, Shape{1, 8, 8, 16});
  for (std::int8_t& value : input.values<std::int8_t>()) value = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
  return ConvData(pair);
}

/// What a chain makes of accumulators on every channel; empty where the device has no such scale.
std::vector<std::int64_t> outputs(const ConvSpace& space, std::uint32_t rescale, const ConvData& data,
                                  std::span<const std::int64_t> accumulators) {
  const ChannelScales& scales = data.variant(PerChannelLowering::native).scales();
  const auto* const encoded = scales.encoded(space.rescales[rescale].scale, space.encodings[rescale]);
  std::vector<std::int64_t> made;
  for (std::int64_t channel = 0; encoded != nullptr && channel < 3; ++channel)
    for (const std::int64_t sum : accumulators)
      made.push_back(finish(space.rescales[rescale].chain, sum, scales.operands(channel, *encoded)));
  return made;
}

std::vector<std::int64_t> accumulators_in(const IntegerRange& range, std::mt19937_64& random) {
  std::vector<std::int64_t> list{range.min, range.max, 0};
  std::uniform_int_distribution<std::int64_t> any(range.min, range.max);
  for (int i = 0; i < 20; ++i) list.push_back(any(random));
  for (std::int64_t near = -6; near <= 6; ++near)
    if (near >= range.min && near <= range.max) list.push_back(near);
  return list;
}

RescaleOperands operands_of(std::int64_t multiplier, int exponent) {
  RescaleOperands operands;
  operands.scale = {.multiplier = multiplier, .exponent = exponent};
  operands.min = -128;
  operands.max = 127;
  return operands;
}

}  // namespace

TEST_CASE("alike chains make the same of every sum that the layers can have, and are several") {
  std::mt19937_64 random(11);
  const ConvSpace space = conv_space({.per_channel = true, .rectifies = true});
  Indices all;
  for (std::uint32_t rescale = 0; rescale < space.rescales.size(); ++rescale)
    if (rescale % 36 < 12) all.push_back(rescale);  // neighbours are the ones that are alike
  // 1.4 times a power of two: a product with the second multiplier leaves a width, one with the first does not.
  for (const std::int64_t largest : {179, 45875, 91750, 11744051}) {
    INFO("sums up to " << largest);
    std::vector<ConvData> data;
    data.push_back(data_of(three_channels(random), random));
    data.push_back(data_of(three_channels(random), random));
    const IntegerRange range{-largest / 2, largest};
    const std::vector<IntegerRange> sums{range, range};
    const std::vector<Indices> lists = AlikeChains(space, data).lists(all, PerChannelLowering::native, sums);
    const std::vector<std::int64_t> accumulators = accumulators_in(range, random);
    std::size_t members = 0, apart = 0;
    for (const Indices& list : lists) {
      members += list.size();
      for (const ConvData& layer : data) {
        const std::vector<std::int64_t> first = outputs(space, list.front(), layer, accumulators);
        for (const std::uint32_t other : list) apart += outputs(space, other, layer, accumulators) != first ? 1U : 0U;
      }
    }
    CHECK(members == all.size());
    CHECK(lists.size() * 3 < all.size() * 2);
    CHECK(apart == 0);
  }
}

TEST_CASE("of scales with one exponent the largest decides whether a width counts") {
  std::mt19937_64 random(12);
  const ScaleEncoding scale{.arithmetic = ScaleArithmetic::f64,
                            .significant_bits = 16,
                            .rounding = Rounding::half_away,
                            .normalization = Normalization::half_to_one,
                            .min_exponent = -100,
                            .max_exponent = 100};
  ConvSpace space;
  space.rescales = {
      {scale, {stage::multiply(), stage::narrow_to(32, Overflow::wrap), stage::shift_right(Rounding::half_up), stage::clamp()}},
      {scale, {stage::multiply(), stage::shift_right(Rounding::half_up), stage::clamp()}}};
  space.encodings = {0, 0};
  std::vector<ConvData> data;
  data.push_back(data_of(three_channels(random), random));
  const auto lists = [&](std::int64_t largest) {
    return AlikeChains(space, data).lists({0, 1}, PerChannelLowering::native, std::vector<IntegerRange>{{-largest, largest}}).size();
  };
  const std::vector<std::int64_t> sums{45875};  // times 2^15 * 1.1 it fits 32 bits, times 2^15 * 1.9 it does not
  CHECK(outputs(space, 0, data[0], sums) != outputs(space, 1, data[0], sums));
  CHECK(lists(45875) == 2);
  CHECK(lists(30000) == 1);
}

TEST_CASE("a chain without a scale asks for none: layers that deliver their sums have none") {
  std::mt19937_64 random(13);
  const ConvSpace space = conv_space({.sums_only = true});
  std::vector<ConvData> data;
  data.push_back(data_of(three_channels(random), random));
  const std::vector<IntegerRange> sums{{-1000, 1000}};
  CHECK(AlikeChains(space, data).lists({0}, PerChannelLowering::native, sums) == std::vector<Indices>{{0}});
}

TEST_CASE("a width counts where a value of the interval leaves it, and only there") {
  const Chain wraps{stage::narrow_to(16, Overflow::wrap), stage::multiply(), stage::shift_right(Rounding::half_up), stage::clamp()};
  const Chain saturates{stage::narrow_to(16, Overflow::saturate), stage::multiply(), stage::shift_right(Rounding::half_up), stage::clamp()};
  const Chain plain{stage::multiply(), stage::shift_right(Rounding::half_up), stage::clamp()};
  const RescaleOperands operands = operands_of(1 << 30, -6);
  const auto reduced = [&](const Chain& chain, std::int64_t min, std::int64_t max) {
    return without_idle_widths(chain, acting_widths(chain, operands, {min, max}));
  };
  CHECK(reduced(wraps, -32768, 32767) == plain);
  CHECK(reduced(saturates, -32768, 32767) == plain);
  CHECK(reduced(wraps, -32768, 32768) == wraps);
  CHECK(reduced(saturates, -32769, 0) == saturates);
}

TEST_CASE("behind a value that has wrapped every width counts: between two ends that agree lie others") {
  // 16 bits come round to where they began at both ends; the width behind them cuts what lies between.
  const Chain chain{stage::narrow_to(16, Overflow::wrap), stage::multiply(), stage::shift_right(Rounding::half_up),
                    stage::narrow_to(8, Overflow::wrap), stage::clamp()};
  const RescaleOperands operands = operands_of(1 << 30, -6);
  const Chain reduced = without_idle_widths(chain, acting_widths(chain, operands, {-65536, 65536}));
  CHECK(reduced == chain);
  CHECK(finish(chain, 20000, operands) !=
        finish({stage::narrow_to(16, Overflow::wrap), stage::multiply(), stage::shift_right(Rounding::half_up), stage::clamp()}, 20000,
               operands));
}

}  // namespace lastbit
