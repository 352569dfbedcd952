// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Classes of rules by proof: against every accumulator, computed by the emulator; and probes made of the accumulators that tell.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "analysis/identify/class_proof.hpp"
#include "analysis/identify/probe.hpp"
#include "support/catch.hpp"
#include "support/hidden_device.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

Backend device_of(const ConvSpace& space, const Combination& one) {
  return backend_of(arithmetic_of(space.sums[one.sum], space.rescales[one.rescale]));
}

std::vector<Combination> combinations_in(const std::vector<Block>& blocks) {
  std::vector<Combination> list;
  for (const Block& block : blocks)
    for (const std::uint32_t sum : block.sums)
      for (const std::uint32_t rescale : block.rescales) list.push_back({sum, rescale});
  return list;
}

/// Two channels, each of which has every accumulator between its ends on the one input below: every pair of codes. The biases take the sums beyond 16 bits.
Model every_accumulator(bool per_channel) {
  Model model;
  model.name = "every accumulator";
  const Shape image{1, 256, 256, 2};
  const std::vector<std::int8_t> weights{1, 64, -1, 100};
  const std::vector<std::int32_t> biases{30000, -24000};
  model.tensors = {{"x", ElementType::int8, image, {{0.5}, {0}, 0}, {}},
                   {"w", ElementType::int8, {2, 1, 1, 2}, {{1.0 / 70}, {0}, 0}, Tensor::from<std::int8_t>({2, 1, 1, 2}, weights)},
                   {"b", ElementType::int32, {2}, {{0.5 / 70}, {0}, 0}, Tensor::from<std::int32_t>({2}, biases)},
                   {"y", ElementType::int8, image, {{2.3}, {5}, 0}, {}}};
  if (per_channel) {
    model.tensors[1].quantization = {{1.0 / 70, 1.0 / 61}, {0, 0}, 0};
    model.tensors[2].quantization = {{0.5 / 70, 0.5 / 61}, {0, 0}, 0};
  }
  model.operations = {{OperationKind::conv2d, "conv", {0, 1, 2}, {3}, Conv2dAttributes{}}};
  model.inputs = {0};
  model.outputs = {3};
  validate(model, "test");
  return model;
}

Tensor every_pair() {
  Tensor input(ElementType::int8, {1, 256, 256, 2});
  for (std::size_t i = 0; i < 65536; ++i) {
    input.values<std::int8_t>()[2 * i] = static_cast<std::int8_t>(static_cast<int>(i / 256) - 128);
    input.values<std::int8_t>()[2 * i + 1] = static_cast<std::int8_t>(static_cast<int>(i % 256) - 128);
  }
  return input;
}

IdentifyPair question(const Model& model, Tensor input) {
  IdentifyPair pair{"layer", model, {}, Tensor(model.tensor(model.outputs[0]).type, model.tensor(model.outputs[0]).shape)};
  pair.inputs.push_back(std::move(input));
  return pair;
}

Indices some(std::size_t of, std::size_t count, std::mt19937_64& random) {
  std::set<std::uint32_t> chosen;
  while (chosen.size() < std::min(of, count)) chosen.insert(static_cast<std::uint32_t>(random() % of));
  return {chosen.begin(), chosen.end()};
}

}  // namespace

TEST_CASE("classes by proof are those that every accumulator, computed by the emulator, makes") {
  std::mt19937_64 random(3);
  for (const bool per_channel : {false, true}) {
    INFO("scales per channel " << per_channel);
    const IdentifyPair layer = question(every_accumulator(per_channel), every_pair());
    const ConvSpace space = conv_space(scope_of(layer));
    Block block{some(space.sums.size(), 24, random), some(space.rescales.size(), 30, random)};
    std::erase_if(block.rescales, [&](std::uint32_t rescale) { return !check(layer.layer, device_of(space, {0, rescale})).empty(); });
    REQUIRE(block.rescales.size() > 10);
    const IdentifyPair* const layers[]{&layer};
    const PartedClass found = parted(space, {block}, layers);
    std::map<std::vector<std::byte>, std::size_t> part_of;  // by all outputs
    std::int64_t decided = 0;
    for (std::size_t p = 0; p < found.parts.size(); ++p) {
      for (const Combination& one : combinations_in(found.parts[p])) {
        INFO("sum " << one.sum << ", rescale " << one.rescale << ", part " << p);
        ++decided;
        const IdentifyPair answer = answered(layer, device_of(space, one));
        const auto bytes = answer.output.bytes();
        const auto [at, fresh] = part_of.try_emplace({bytes.begin(), bytes.end()}, p);
        REQUIRE(at->second == p);
      }
    }
    CHECK(part_of.size() == found.parts.size());
    CHECK(found.parts.size() > 5);
    CHECK(decided > static_cast<std::int64_t>(5 * found.parts.size() / 4));
    CHECK(decided + found.open == block.count());
    CHECK(found.open > 0);  // saturation at every addition, of sums that can leave 16 bits
    for (const TellingSum& one : found.telling) CHECK(one.a != one.b);
    const PartedClass cut = parted(space, {block}, layers, Deadline(1e-9));  // time is up at once: nothing is said to be the same
    CHECK(cut.parts.size() == 1);
    CHECK(count_of(cut.parts[0]) + cut.open == block.count());
    CHECK(cut.open > found.open);
    CHECK_FALSE(cut.is_one());
  }
}

TEST_CASE("combinations that are equal on the data and differ at an accumulator are told so, and the probe made of it tells them apart") {
  std::mt19937_64 random(11);
  const Model model = layer(random);
  const IdentifyPair asked = question(model, random_int8({1, 8, 8, 4}, random));
  const ConvSpace space = conv_space({});
  const Combination hidden{0, 0};
  const IdentifyPair data = answered(asked, device_of(space, hidden));
  const ConvData on_data(data);
  const std::vector<Block> left = ConvSearch(space, {&on_data, 1}).exact({everything(space)});
  const IdentifyPair* const layers[]{&data};
  const PartedClass found = parted(space, left, layers);
  REQUIRE(found.parts.size() > 2);
  REQUIRE(!found.telling.empty());
  int tried = 0;
  for (const TellingSum& one : found.telling) {
    if (++tried > 12) break;
    INFO("accumulator " << one.sum << " of channel " << one.channel << ": " << rules_apart(space, one.first, one.second));
    const Backend a = device_of(space, one.first), b = device_of(space, one.second);
    REQUIRE(answered(asked, a).output == answered(asked, b).output);  // the data do not tell
    CHECK_FALSE(rules_apart(space, one.first, one.second).empty());
    const std::vector<Block> both{{{one.first.sum}, {one.first.rescale}}, {{one.second.sum}, {one.second.rescale}}};
    const PartedClass two = parted(space, both, layers);
    REQUIRE(two.parts.size() == 2);
    REQUIRE(two.open == 0);
    const auto probe = design_input_probe(space, both, data, {});
    REQUIRE(probe.has_value());
    REQUIRE(probe->layers.size() == 1);
    CHECK_FALSE(answered(probe->layers[0], a).output == answered(probe->layers[0], b).output);
  }
  // The same chain behind accumulators that no sum of the layer leaves is one device, and there is nothing to probe.
  const auto wide = [&](int bits) {
    const auto at = std::ranges::find_if(space.sums, [&](const SumRules& rules) {
      return rules.accumulator.bits == bits && rules.accumulator.overflow == Overflow::wrap && rules.bias_bits == 0 &&
             !has_partial_sums(rules.accumulator);
    });
    return static_cast<std::uint32_t>(at - space.sums.begin());
  };
  const std::vector<Block> same{{{wide(32), wide(64)}, {0}}};
  CHECK(parted(space, same, layers).is_one());
  CHECK_FALSE(design_input_probe(space, same, data, {}).has_value());
}

TEST_CASE("identify says what is proven, and probes of the layer as it is end with one class by proof") {
  std::mt19937_64 random(12);
  const Model model = layer(random);
  const ConvSpace space = conv_space({});
  const Backend device = device_of(space, {0, 0});
  std::vector<IdentifyPair> pairs{answered(question(model, random_int8({1, 8, 8, 4}, random)), device)};
  const Identification before = identify(pairs);
  REQUIRE(before.operations[0].best().proof.has_value());
  CHECK(before.operations[0].best().proof->devices > 1);
  CHECK(to_text(before).find("different devices") != std::string::npos);
  CHECK_FALSE(before.operations[0].best().proof->example.empty());
  std::int64_t devices = before.operations[0].best().proof->devices;
  for (unsigned round = 1; round <= 12; ++round) {
    const auto probe = design_probe(pairs, {.seed = round});
    if (!probe) break;
    for (const ProbeLayer& one : probe->layers) pairs.push_back(answered(question(one.layer, one.inputs[0]), device));
    const Identification after = identify(pairs);
    REQUIRE(after.exact());
    REQUIRE(after.operations[0].best().proof.has_value());
    CHECK(after.operations[0].best().proof->devices <= devices);
    devices = after.operations[0].best().proof->devices;
  }
  CHECK(devices == 1);
}

}  // namespace lastbit
