// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The search and the probes: hidden devices of the space are found again from what they compute.
#include "lastbit/identify.hpp"

#include <cstdio>
#include <filesystem>
#include <map>
#include <random>

#include "identify/conv_search.hpp"
#include "identify/probe.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/scratch.hpp"

namespace lastbit {
namespace {

Tensor random_int8(const Shape& shape, std::mt19937_64& random) {
  Tensor tensor(ElementType::int8, shape);
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return tensor;
}

/// An 8-bit layer with zero points.
Model layer(std::mt19937_64& random, bool per_channel = false) {
  Model model;
  model.name = "layer";
  const auto int8_tensor = [](const char* name, const Shape& shape, double scale, std::int64_t zero_point) {
    return ModelTensor{name, ElementType::int8, shape, {{scale}, {zero_point}, 0}, {}};
  };
  model.tensors = {int8_tensor("x", {1, 8, 8, 4}, 0.0625, -1), int8_tensor("w", {8, 3, 3, 4}, 1.0 / 70, 0),
                   int8_tensor("y", {1, 6, 6, 8}, 0.53, 5)};
  model.tensors[1].constant = random_int8({8, 3, 3, 4}, random);
  if (per_channel) {
    model.tensors[1].quantization = {{}, std::vector<std::int64_t>(8, 0), 0};
    for (int c = 0; c < 8; ++c) model.tensors[1].quantization.scales.push_back(1.0 / (60 + c));
  }
  model.operations = {{OperationKind::conv2d, "conv", {0, 1}, {2}, Conv2dAttributes{}}};
  model.inputs = {0};
  model.outputs = {2};
  validate(model, "test");
  return model;
}

/// What a device makes of a layer: by the emulator, which shares nothing with the search but the rules.
IdentifyPair answered(IdentifyPair question, const Backend& device) {
  const Trace trace = run(question.layer, device, question.inputs);
  question.output = *trace.tensors[static_cast<std::size_t>(question.layer.outputs[0])];
  return question;
}

Backend device_of(const ConvSpace& space, std::uint32_t sum, std::uint32_t rescale) {
  return backend_of(arithmetic_of(space.sums[sum], space.rescales[rescale]));
}

bool contains(const std::vector<Block>& blocks, std::uint32_t sum, std::uint32_t rescale) {
  const auto has = [](const Indices& list, std::uint32_t one) { return std::find(list.begin(), list.end(), one) != list.end(); };
  return std::any_of(blocks.begin(), blocks.end(), [&](const Block& block) { return has(block.sums, sum) && has(block.rescales, rescale); });
}

/// Trials with hidden devices: after how many probes one class was left; 0 stands for more than six.
std::map<int, int> probes_needed(int trials, bool per_channel, unsigned seed) {
  std::mt19937_64 random(seed);
  const Model like = layer(random, per_channel);
  const ConvSpace space = conv_space({.per_channel = per_channel});
  const std::vector<Block> all{everything(space)};
  const auto opening = design_free_probe(space, all, like, {.weights = ProbeWeights::free, .seed = seed});
  REQUIRE(opening);
  std::map<int, int> distribution;
  for (int trial = 0; trial < trials;) {
    const auto sum = static_cast<std::uint32_t>(random() % space.sums.size());
    const auto rescale = static_cast<std::uint32_t>(random() % space.rescales.size());
    const Backend device = device_of(space, sum, rescale);
    if (!check(opening->pair.layer, device).empty()) continue;  // a device that has no such scale is not one of this layer
    ++trial;
    std::vector<Block> left = all;
    std::optional<DesignedProbe> probe = opening;
    int probes = 0;
    while (probe && probes < 6) {
      const ConvData data(answered(probe->pair, device));
      left = ConvSearch(space, std::span(&data, 1)).exact(left);
      ++probes;
      INFO("sum " << sum << ", rescale " << rescale << " after probe " << probes);
      REQUIRE(contains(left, sum, rescale));
      probe = design_free_probe(space, left, like, {.weights = ProbeWeights::free, .seed = seed + static_cast<unsigned>(100 * trial + probes)});
    }
    ++distribution[probe ? 0 : probes];
  }
  return distribution;
}

void report(const char* what, const std::map<int, int>& distribution) {
  std::printf("%s:", what);
  for (const auto& [probes, count] : distribution) std::printf("  %s%d: %d", probes == 0 ? "more than 6, " : "", probes, count);
  std::printf("\n");
}

TEST_CASE("probes: six leave one class of a random hidden device in 99 of 100 trials") {
  const auto one_scale = probes_needed(100, false, 5);
  report("one scale for the layer", one_scale);
  CHECK((one_scale.contains(0) ? one_scale.at(0) : 0) <= 1);
}

}  // namespace
}  // namespace lastbit
