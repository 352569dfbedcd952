// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Classes of devices that a walk has left, by proof: against random inputs on the emulator, and probes made of the cases that tell.
#include <algorithm>
#include <map>
#include <random>

#include "analysis/identify/rule_search.hpp"
#include "analysis/identify/walk_proof.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/answered_layer.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

const Tensor& output_of(const Trace& trace, const Model& layer) { return *trace.tensors[static_cast<std::size_t>(layer.outputs[0])]; }

/// The layer as it is, its data random: any codes, few codes beside one another, or codes near the ends.
IdentifyPair random_question(const IdentifyPair& like, std::mt19937_64& random) {
  IdentifyPair pair = like;
  for (Tensor& input : pair.inputs) {
    const auto spread = std::uint64_t{1} << (1 + random() % 8);
    const auto least = static_cast<std::int64_t>(random() % (257 - spread)) - 128;
    for (std::int8_t& code : input.values<std::int8_t>())
      code = static_cast<std::int8_t>(least + static_cast<std::int64_t>(random() % spread));
  }
  return pair;
}

struct Hidden {
  OperationKind kind;
  const char *backend, *rule, *value, *over;
};
constexpr Hidden hidden_devices[] = {
    {OperationKind::add, "vipnano_v8", "add.i8.output.chain.2.rounding", "half_up", "every pair of codes"},
    {mul, "tflite_double", "", "", "every pair of codes"},
    {average_pool2d, "bernoulli2", "average_pool.padding", "excluded", "every sum"},
    {mean, "tflite_single", "", "", "every sum"},
    {concat, "tflite_double", "", "", "every code"},
    {requantize, "xnnpack", "", "", "every code"},
    {leaky_relu, "tflite_double", "", "", "every code"},
    {hard_swish, "tflite_double", "", "", "every code"},
    {logistic, "xnnpack", "", "", "every code"},
};

Backend device_of(const Hidden& hidden) {
  Backend device = find_backend(hidden.backend).backend;
  if (*hidden.rule != 0) set_rule(device, hidden.rule, hidden.value);
  return device;
}

/// Every pair of codes, once.
IdentifyPair every_pair(const IdentifyPair& like) {
  IdentifyPair pair = like;
  const Shape all{1, 256, 256, 1};
  for (ModelTensor& tensor : pair.layer.tensors) tensor.shape = all;
  pair.inputs = {Tensor(ElementType::int8, all), Tensor(ElementType::int8, all)};
  for (std::size_t i = 0; i < 65536; ++i) {
    pair.inputs[0].values<std::int8_t>()[i] = static_cast<std::int8_t>(static_cast<int>(i / 256) - 128);
    pair.inputs[1].values<std::int8_t>()[i] = static_cast<std::int8_t>(static_cast<int>(i % 256) - 128);
  }
  return pair;
}

/// A layer of two inputs, or one, whose data are wider.
IdentifyPair with_type(IdentifyPair pair, ElementType type) {
  for (ModelTensor& tensor : pair.layer.tensors) {
    tensor.type = type;
    for (std::int64_t& zero : tensor.quantization.zero_points) zero = 0;
  }
  return pair;
}

}  // namespace

TEST_CASE("devices of one part are equal on random inputs, and what is shown between two parts differs on both") {
  std::mt19937_64 random(17);
  int with_several = 0, with_alike = 0;
  for (const Hidden& hidden : hidden_devices) {
    INFO(hidden.backend << ", " << name_of(hidden.kind));
    const Backend device = device_of(hidden);
    const IdentifyPair data = answered_by(device, hidden.kind, 1).value();
    const DevicesLeft left = devices_left({&data}, 120);
    const DeviceList devices = list_of(left.some);
    const IdentifyPair* const layers[]{&data};
    const PartedDevices found = parted(devices, layers);
    CAPTURE(found.why_open, found.open, found.parts.size(), devices.count);
    CHECK(found.over == hidden.over);
    REQUIRE(!found.parts.empty());
    std::int64_t decided = 0;
    for (const auto& part : found.parts) decided += std::ssize(part);
    CHECK(decided + found.open == static_cast<std::int64_t>(devices.count));
    with_several += found.parts.size() > 1 ? 1 : 0;
    for (int round = 0; round < 6; ++round) {
      const IdentifyPair asked = random_question(data, random);
      for (const auto& part : found.parts) {
        if (part.size() < 2) continue;
        ++with_alike;
        const Trace expected = run(asked.layer, devices.at(part[0]), asked.inputs);
        for (std::size_t i = 1; i < std::min<std::size_t>(part.size(), 8); ++i)
          CHECK(output_of(run(asked.layer, devices.at(part[i]), asked.inputs), asked.layer) == output_of(expected, asked.layer));
      }
    }
    int shown = 0;
    for (std::size_t i = 1; i < found.parts.size() && shown < 6; ++i, ++shown) {
      const Backend a = devices.at(found.parts[i - 1][0]), b = devices.at(found.parts[i][0]);
      const auto input = shown_between(a, b, data);
      REQUIRE(input.has_value());
      const Trace on_a = run(data.layer, a, input->inputs), on_b = run(data.layer, b, input->inputs);
      CHECK(output_of(on_a, data.layer).integer_at(input->index) == input->a);
      CHECK(output_of(on_b, data.layer).integer_at(input->index) == input->b);
      CHECK(input->a != input->b);
      const Trace data_a = run(data.layer, a, data.inputs), data_b = run(data.layer, b, data.inputs);
      CHECK(output_of(data_a, data.layer) == output_of(data_b, data.layer));  // the data do not tell
    }
  }
  CHECK(with_several > 2);
  CHECK(with_alike > 20);
}

TEST_CASE("parts of a sum are those that every pair of codes, computed by the emulator, makes") {
  const Backend device = device_of(hidden_devices[0]);
  const IdentifyPair data = answered_by(device, OperationKind::add, 1).value(), all = every_pair(data);
  const DevicesLeft left = devices_left({&data}, 200);
  const IdentifyPair* const layers[]{&data};
  const PartedDevices found = parted(list_of(left.some), layers);
  REQUIRE(found.open == 0);
  std::map<std::vector<std::byte>, std::size_t> part_of;  // by all outputs
  for (std::size_t part = 0; part < found.parts.size(); ++part) {
    for (const std::size_t number : found.parts[part]) {
      const Trace trace = run(all.layer, left.some[number], all.inputs);
      const auto bytes = output_of(trace, all.layer).bytes();
      INFO("device " << number << ", part " << part);
      REQUIRE(part_of.try_emplace({bytes.begin(), bytes.end()}, part).first->second == part);
    }
  }
  CHECK(part_of.size() == found.parts.size());
  CHECK(found.parts.size() > 2);
}

TEST_CASE("what is not gone through stays open, with the reason") {
  const auto open_of = [](const IdentifyPair& pair) { return cases_of(pair.layer).open; };
  const Backend tflite = find_backend("tflite_double").backend;
  const IdentifyPair sum = answered_by(tflite, OperationKind::add, 1).value(), average = answered_by(tflite, mean, 1).value(),
                     converted = answered_by(tflite, requantize, 1).value();
  CHECK(open_of(sum).empty());
  CHECK(open_of(with_type(sum, ElementType::int16)) == "pairs of 16-bit codes");
  CHECK(open_of(with_type(converted, ElementType::int16)).empty());
  CHECK(open_of(with_type(converted, ElementType::int32)) == "codes of more than 16 bits");
  IdentifyPair other = converted;
  other.layer.operations[0].kind = softmax;
  CHECK(open_of(other) == "softmax has no such cases");
  IdentifyPair pool = answered_by(tflite, average_pool2d, 1).value();
  auto& attributes = std::get<Pool2dAttributes>(pool.layer.operations[0].attributes);
  attributes.counted_padding = true;
  attributes.partial_windows = PartialWindows::last_truncated;
  CHECK(open_of(pool) == "padding of which a part counts");

  const DevicesLeft left = devices_left({&sum}, 20);
  const DeviceList devices = list_of(left.some);
  const IdentifyPair* const layers[]{&sum};
  for (const bool in_time : {false, true}) {
    const PartedDevices cut = in_time ? parted(devices, layers, {}, 1) : parted(devices, layers, Deadline(1e-9));
    CHECK_FALSE(cut.is_one());
    CHECK(cut.open > 0);
    CHECK(cut.why_open == (in_time ? "more outputs than are computed" : "time was up"));
    std::int64_t decided = cut.open;
    for (const auto& part : cut.parts) decided += std::ssize(part);
    CHECK(decided == static_cast<std::int64_t>(devices.count));
  }

  Backend narrow = tflite;
  set_rule(narrow, "mean.accumulator.overflow", "saturate");
  set_rule(narrow, "mean.accumulator.when", "every_add");
  set_rule(narrow, "mean.accumulator.bits", "12");
  const IdentifyPair* const of_mean[]{&average};
  const PartedDevices two = parted(list_of({narrow, tflite}), of_mean);
  CHECK(two.parts.size() == 1);
  CHECK(two.open == 1);
  CHECK(two.why_open == "sums that can leave their accumulator, where the order of the additions counts");
}

TEST_CASE("probes of a sum as it is go on until its class is proven one device") {
  const Backend device = device_of(hidden_devices[0]);
  std::vector<IdentifyPair> pairs{answered_by(device, OperationKind::add, 1).value()};
  const Identification before = identify(pairs);
  REQUIRE(before.operations[0].best().proof.has_value());
  std::int64_t devices = before.operations[0].best().proof->devices;
  CHECK(devices > 1);
  CHECK(before.operations[0].best().proof->over == "every pair of codes");
  CHECK_FALSE(before.operations[0].best().proof->example.empty());
  CHECK(to_text(before).find("proven: on every pair of codes that these layers can have they are") != std::string::npos);
  CHECK(to_json(before).find("\"over\": \"every pair of codes\"") != std::string::npos);
  int probes = 0;
  for (; probes < 12; ++probes) {
    const auto probe = design_probe(pairs, {.seed = static_cast<unsigned>(probes + 1)});
    if (!probe) break;
    CHECK(devices > 1);
    for (const ProbeLayer& one : probe->layers)
      pairs.push_back({"probe", one.layer, one.inputs, output_of(run(one.layer, device, one.inputs), one.layer)});
    const Identification after = identify(pairs);
    REQUIRE(after.exact());
    REQUIRE(after.operations[0].best().proof.has_value());
    CHECK(after.operations[0].best().proof->devices <= devices);
    devices = after.operations[0].best().proof->devices;
    if (devices == 1) CHECK(after.operations[0].best().proof->is_one());
  }
  CHECK(probes > 0);
  CHECK(probes < 12);
  CHECK(devices == 1);
}

}  // namespace lastbit
