// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Hidden devices of the space are told apart by few probes.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>

#include "analysis/identify/conv_search.hpp"
#include "analysis/identify/probe.hpp"
#include "support/catch.hpp"
#include "support/hidden_device.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

Backend device_of(const ConvSpace& space, std::uint32_t sum, std::uint32_t rescale) {
  return backend_of(arithmetic_of(space.sums[sum], space.rescales[rescale]));
}

bool contains(const std::vector<Block>& blocks, std::uint32_t sum, std::uint32_t rescale) {
  const auto has = [](const Indices& list, std::uint32_t one) { return std::find(list.begin(), list.end(), one) != list.end(); };
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](const Block& block) { return has(block.sums, sum) && has(block.rescales, rescale); });
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
    const auto refused = [&](const IdentifyPair& pair) { return !check(pair.layer, device).empty(); };
    if (std::any_of(opening->layers.begin(), opening->layers.end(), refused)) continue;  // the device has no such scales
    ++trial;
    std::vector<Block> left = all;
    std::optional<DesignedProbe> probe = opening;
    int probes = 0;
    while (probe && probes < 6) {
      std::vector<ConvData> data;
      for (const IdentifyPair& pair : probe->layers) data.emplace_back(answered(pair, device));
      left = ConvSearch(space, data).exact(left);
      ++probes;
      INFO("sum " << sum << ", rescale " << rescale << " after probe " << probes);
      REQUIRE(contains(left, sum, rescale));
      probe =
          design_free_probe(space, left, like, {.weights = ProbeWeights::free, .seed = seed + static_cast<unsigned>(100 * trial + probes)});
    }
    // Independent of the designs above: another search finds no difference either.
    if (!probe) {
      const unsigned other = 7000000U + static_cast<unsigned>(trial);
      probe = design_free_probe(space, left, like, {.weights = ProbeWeights::free, .seed = other, .patience = 1});
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

int missed(const std::map<int, int>& distribution) { return distribution.contains(0) ? distribution.at(0) : 0; }

TEST_CASE("probes: six leave one class of a random hidden device") {
  const auto one_scale = probes_needed(8, false, 5);
  report("probes until one class is left, one scale per layer", one_scale);
  CHECK(missed(one_scale) == 0);
  const auto per_channel = probes_needed(4, true, 5);
  report("probes until one class is left, scales per channel", per_channel);
  CHECK(missed(per_channel) == 0);
}

// Run as a test of its own, which takes minutes: identify_probes_test "[hundred]".
TEST_CASE("probes: in 99 of 100 trials", "[.][hundred]") {
  const auto one_scale = probes_needed(100, false, 5);
  report("probes until one class is left, one scale per layer", one_scale);
  CHECK(missed(one_scale) <= 1);
}
TEST_CASE("probes: in 99 of 100 trials, scales per channel", "[.][hundred]") {
  const auto per_channel = probes_needed(100, true, 5);
  report("probes until one class is left, scales per channel", per_channel);
  CHECK(missed(per_channel) <= 1);
}

}  // namespace
}  // namespace lastbit
