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
    // Independent of the designs above: other seeds find no difference either.
    for (const unsigned other : {7000000U, 8000000U}) {
      if (!probe)
        probe = design_free_probe(space, left, like, {.weights = ProbeWeights::free, .seed = other + static_cast<unsigned>(trial)});
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

TEST_CASE("probes: six leave one class of a random hidden device in 99 of 100 trials") {
  const auto one_scale = probes_needed(100, false, 5);
  report("probes until one class is left, one scale per layer", one_scale);
  CHECK(missed(one_scale) <= 1);
  const auto per_channel = probes_needed(30, true, 5);
  report("probes until one class is left, scales per channel", per_channel);
  CHECK(missed(per_channel) == 0);
}

IdentifyPair random_pair(std::mt19937_64& random, const Backend& device) {
  IdentifyPair pair{"pair", layer(random), {}, {}};
  pair.inputs = {random_int8({1, 8, 8, 4}, random)};
  return answered(std::move(pair), device);
}

TEST_CASE("identify: a built-in device is found among at least 20,000 combinations, and can be used from a file") {
  std::mt19937_64 random(1);
  for (const char* const name : {"vipnano_v8", "vipnano_v7", "tflite_double", "tflite_single", "onnxruntime"}) {
    INFO(name);
    const SpecSheet device = find_backend(name);
    std::vector<IdentifyPair> pairs;
    for (int i = 0; i < 3; ++i) pairs.push_back(random_pair(random, device.backend));
    const Identification found = identify(pairs);
    REQUIRE(found.operations.size() == 1);
    const OperationIdentification& conv = found.operations[0];
    CHECK(conv.rules == "conv.i8");
    CHECK(conv.combinations >= 20000);
    CHECK(conv.values == 3 * 288);
    REQUIRE(conv.exact());
    CHECK(std::find(conv.best().backends.begin(), conv.best().backends.end(), name) != conv.best().backends.end());
    // What is saved computes the same, read back from its text.
    const SpecSheet saved = backend_from_json(backend_to_json(identified_backend(found, "mine")), "test");
    const IdentifyPair fresh = random_pair(random, saved.backend), known = pairs[0];
    CHECK(answered(known, saved.backend).output == known.output);
    CHECK(saved.evidence.front().level == EvidenceLevel::hardware);
  }
}

TEST_CASE("identify: a device outside the space is said to be one") {
  std::mt19937_64 random(2);
  IdentifyPair pair = random_pair(random, find_backend("vipnano_v8").backend);
  for (std::size_t i = 0; i < 288; i += 5) {
    auto& value = pair.output.values<std::int8_t>()[i];
    value = static_cast<std::int8_t>(value ^ 1);
  }
  const Identification found = identify(std::span(&pair, 1));
  CHECK_FALSE(found.exact());
  const OperationIdentification& conv = found.operations[0];
  CHECK(conv.best().agreeing >= 288 - 58);
  CHECK(conv.best().agreeing < 288);
  CHECK(to_text(found).find("no combination of the space explains every value") != std::string::npos);
  CHECK(std::is_sorted(conv.classes.begin(), conv.classes.end(), [](const auto& a, const auto& b) { return a.agreeing > b.agreeing; }));
}

TEST_CASE("identify: what the data cannot tell is said; a probe tells it") {
  std::mt19937_64 random(3);
  const Backend device = find_backend("vipnano_v8").backend;
  std::vector<IdentifyPair> pairs{random_pair(random, device)};
  const auto left = [&] { return identify(pairs).operations[0].best(); };
  const RuleClass before = left();
  const auto width =
      std::find_if(before.rules.begin(), before.rules.end(), [](const auto& rule) { return rule.rule == "accumulator width"; });
  REQUIRE(width != before.rules.end());
  CHECK_FALSE(width->settled());
  for (const ProbeWeights weights : {ProbeWeights::of_the_layer, ProbeWeights::free}) {
    const std::int64_t combinations = left().combinations;
    const auto probe = design_probe(pairs, {.weights = weights});
    REQUIRE(probe);
    CHECK(probe->outcomes >= 2);
    for (const ProbeLayer& one : probe->layers) {
      const ModelTensor& output = one.layer.tensor(one.layer.outputs[0]);
      pairs.push_back(answered({"probe", one.layer, one.inputs, Tensor(output.type, output.shape)}, device));
    }
    CHECK(left().combinations < combinations);
  }
  CHECK(std::find(left().backends.begin(), left().backends.end(), "vipnano_v8") != left().backends.end());
}

TEST_CASE("identify: pools, and why a pair is not used") {
  std::mt19937_64 random(4);
  Model model;
  model.name = "pool";
  const Quantization quantization{{0.5}, {3}, 0};
  model.tensors = {{"x", ElementType::int8, {1, 9, 9, 3}, quantization, {}}, {"y", ElementType::int8, {1, 5, 5, 3}, quantization, {}}};
  Pool2dAttributes attributes;
  attributes.filter = {3, 3};
  attributes.stride = {2, 2};
  attributes.padding.mode = PaddingMode::same;
  model.operations = {{OperationKind::average_pool2d, "pool", {0}, {1}, attributes}};
  model.inputs = {0};
  model.outputs = {1};
  validate(model, "test");
  IdentifyPair pair{"pool", model, {random_int8({1, 9, 9, 3}, random)}, {}};
  pair = answered(std::move(pair), find_backend("tflite_double").backend);
  const Identification found = identify(std::span(&pair, 1));
  REQUIRE(found.exact());
  const RuleClass& best = found.operations[0].best();
  CHECK(found.operations[0].rules == "average_pool");
  CHECK(best.backend.average_pool.padding == PaddingCount::excluded);
  CHECK(std::find(best.backends.begin(), best.backends.end(), "tflite_double") != best.backends.end());

  IdentifyPair wrong = pair;
  wrong.output = Tensor(ElementType::int8, {4});
  const std::vector<IdentifyPair> both{pair, wrong};
  const Identification skipping = identify(both);
  REQUIRE(skipping.skipped.size() == 1);
  CHECK(skipping.skipped[0].reason.find("4 values") != std::string::npos);
  CHECK_THROWS_AS(identify(std::span(&wrong, 1)), Error);
  CHECK_THROWS_AS(identify({}), Error);
}

TEST_CASE("identify: a network with the dump of its own tensors, every layer by itself") {
  std::mt19937_64 random(6);
  Model model = layer(random);
  model.tensors.push_back({"z", ElementType::int8, {1, 4, 4, 8}, {{0.7}, {-4}, 0}, {}});
  model.tensors.push_back({"w2", ElementType::int8, {1, 3, 3, 8}, {{1.0 / 90}, {0}, 3}, random_int8({1, 3, 3, 8}, random)});
  model.operations.push_back({OperationKind::depthwise_conv2d, "second", {2, 4}, {3}, Conv2dAttributes{}});
  model.outputs = {3};
  validate(model, "test");
  const std::vector<Tensor> inputs{random_int8({1, 8, 8, 4}, random)};
  const SpecSheet device = find_backend("tflite_single");
  const std::vector<IdentifyPair> pairs = pairs_of(model, run_named(model, device, inputs));
  REQUIRE(pairs.size() == 2);
  const Identification found = identify(pairs);
  REQUIRE(found.operations.size() == 2);
  CHECK(found.operations[0].rules == "conv.i8");
  CHECK(found.operations[1].rules == "depthwise_conv.i8");
  CHECK(found.exact());
  const SpecSheet base = find_backend("vipnano_v8");
  const SpecSheet saved = identified_backend(found, "mine", &base);
  CHECK(saved.backend.add == base.backend.add);
  CHECK(run(model, saved.backend, inputs).tensors[3] == run(model, device.backend, inputs).tensors[3]);
}

}  // namespace
}  // namespace lastbit
