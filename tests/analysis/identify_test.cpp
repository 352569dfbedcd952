// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The search: devices are found again from what they compute, and what cannot be told is said.
#include "lastbit/identify.hpp"

#include <algorithm>
#include <random>

#include "analysis/identify/conv_data.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/hidden_device.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

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
  CHECK(to_text(found).find("  told ") == std::string::npos);
  CHECK(to_json(found).find("\"settled\": true") == std::string::npos);
  CHECK(std::is_sorted(conv.classes.begin(), conv.classes.end(), [](const auto& a, const auto& b) { return a.agreeing > b.agreeing; }));
}

TEST_CASE("identify: where most values differ no rule is told") {
  std::mt19937_64 random(5);
  IdentifyPair pair = random_pair(random, find_backend("vipnano_v8").backend);
  pair.output = random_int8(pair.output.shape(), random);
  const Identification found = identify(std::span(&pair, 1), {.most_seconds = 3});
  CHECK_FALSE(found.exact());
  const std::string text = to_text(found);
  CHECK(text.find("comes near; a tensor that was misread, or a device of another kind") != std::string::npos);
  CHECK(text.find("accumulator width") == std::string::npos);
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

TEST_CASE("identify: a sum is taken as it is only where no order of its terms leaves the accumulator") {
  const Quantization plain{{1}, {0}, 0};
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::int8, {1, 3}, plain});
  const auto w = builder.constant<std::int8_t>("w", {1, 3}, {1, 1, 1}, plain);
  const Model model = builder.finished({builder.operation(OperationKind::fully_connected, {x, w}, {"y", ElementType::int32, {1, 1}})});
  ConvVariant layer(model, model.operations[0], PerChannelLowering::native);
  const auto sum = [&](Overflow overflow, std::vector<std::int32_t> input) {
    layer.set_input(std::move(input));
    return layer.sum({.accumulator = {.bits = 8, .overflow = overflow, .when = NarrowingPoint::every_add}}, 0);
  };
  CHECK(sum(Overflow::wrap, {64, 63, 0}) == 127);
  CHECK(sum(Overflow::wrap, {64, 64, 0}) == -128);      // one bit too many
  CHECK(sum(Overflow::saturate, {64, 64, -28}) == 99);  // 127 after two
  CHECK(sum(Overflow::saturate, {64, 63, -28}) == 99);  // as it is, though its terms in another order might leave the width
}

}  // namespace
}  // namespace lastbit
