// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What identify says is told by the data, of devices that it knows nothing of: a sheet with one or two rules changed, drawn at random. A rule
// that is told has the value of the device that answered; where that cannot be said, the file that is saved says that it is an assumption.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>

#include "analysis/identify/conv_data.hpp"
#include "analysis/identify/neighbours.hpp"
#include "analysis/identify/space.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "support/answered_layer.hpp"
#include "support/catch.hpp"
#include "support/two_convolutions.hpp"

namespace lastbit {
namespace {

using namespace test;

/// A convolution of 8x8x3 with 4 channels, with its scales drawn, of which one input tells little.
IdentifyPair small_convolution(std::mt19937& random) {
  const auto between = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  const auto zero = [&] { return static_cast<std::int64_t>(random() % 200) - 100; };
  Model layer;
  layer.name = "blind";
  layer.tensors = {int8_tensor("x", {1, 8, 8, 3}, between(0.01, 0.08), zero()), int8_tensor("w", {4, 3, 3, 3}, between(0.004, 0.02), 0),
                   int8_tensor("y", {1, 8, 8, 4}, between(0.05, 0.3), zero())};
  layer.tensors[1].constant = random_int8({4, 3, 3, 3}, random);
  Conv2dAttributes same;
  same.padding.mode = PaddingMode::same;
  layer.operations = {{OperationKind::conv2d, "blind", {0, 1}, {2}, same}};
  layer.inputs = {0};
  layer.outputs = {2};
  validate(layer, "test");
  return {"blind", layer, {random_int8({1, 8, 8, 3}, random)}, {}};
}

/// What the device makes of it; false where it cannot run the layer.
bool answer(IdentifyPair& pair, const Backend& device) {
  try {
    if (!check(pair.layer, device).empty()) return false;
    pair.output = *run(pair.layer, device, pair.inputs).tensors[static_cast<std::size_t>(pair.layer.outputs[0])];
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// So many rules below the prefix with another value; what a stage is, how many there are and what an exponent may be stay.
void change_rules(Backend& device, const std::string& prefix, int changes, std::mt19937& random) {
  const auto stays = [](const std::string& path) {
    return path.ends_with(".kind") || path.ends_with("chain.size") || path.ends_with("_exponent");
  };
  for (int i = 0; i < changes; ++i) {
    std::vector<std::pair<std::string, std::string>> steps;
    for (const RuleText& rule : list_rules(device)) {
      if (!rule.path.starts_with(prefix + ".") || stays(rule.path)) continue;
      for (const std::string& value : every_alternative(device, rule.path)) steps.emplace_back(rule.path, value);
    }
    if (steps.empty()) return;
    const auto& [path, value] = steps[random() % steps.size()];
    set_rule(device, path, value);
  }
}

struct Tally {
  int devices = 0, exact = 0, told = 0, rules = 0;
  std::vector<std::string> wrong{};
};

/// The values of the device's rules, in the words of what was found.
std::map<std::string, std::string> told_values_of(const Backend& device, const Model& layer, const std::string& rules) {
  std::map<std::string, std::string> values;
  if (const ConvArithmetic* const conv = layer.operations[0].kind == OperationKind::conv2d ? arithmetic_in(layer, device) : nullptr) {
    for (const Coordinate& each : coordinates_of(sum_rules_of(*conv))) values[each.rule] = each.value;
    for (const Coordinate& each : coordinates_of(conv->sum.output)) values[each.rule] = each.value;
    return values;
  }
  for (const RuleText& rule : list_rules(device))
    if (rule.path.starts_with(rules + ".")) values[rule.path] = rule.value;
  return values;
}

void judge(const IdentifyPair& pair, const Backend& device, const std::string& called, Tally& tally) {
  ++tally.devices;
  const Identification found = identify(std::span(&pair, 1));
  REQUIRE(found.operations.size() == 1);
  const OperationIdentification& one = found.operations[0];
  if (!one.exact()) return;
  ++tally.exact;
  const std::string text = to_text(found);
  const SpecSheet saved = identified_backend(found, "mine");
  const bool says_hardware =
      std::ranges::any_of(saved.evidence, [](const Evidence& each) { return each.level == EvidenceLevel::hardware; });
  CHECK(says_hardware == one.complete);
  CHECK((text.find("told by the data, of every device within one rule of a built-in backend") != std::string::npos) == one.complete);
  CHECK((text.find("told among the ") != std::string::npos) == !one.complete);
  if (!one.complete) return;
  ++tally.told;
  const std::map<std::string, std::string> own = told_values_of(device, pair.layer, one.rules);
  for (const RuleValues& rule : one.best().rules) {
    const auto at = own.find(rule.rule);
    if (!rule.settled() || at == own.end()) continue;
    ++tally.rules;
    if (at->second != rule.values[0]) tally.wrong.push_back(called + ": " + rule.rule + " is " + at->second + ", told " + rule.values[0]);
  }
}

void check_blind_devices(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<const SpecSheet*> sheets;
  for (const SpecSheet& sheet : builtin_backends())
    if (sheet.backend.domain == Domain::integer) sheets.push_back(&sheet);
  Tally tally;
  for (int tries = 0; tally.devices < count && tries < 50 * count; ++tries) {
    const SpecSheet& sheet = *sheets[random() % sheets.size()];
    const int changes = 1 + static_cast<int>(random() % 2);
    constexpr OperationKind others[] = {OperationKind::add, OperationKind::mul, OperationKind::average_pool2d, OperationKind::leaky_relu};
    std::optional<IdentifyPair> pair;
    if (random() % 4 != 0) pair = small_convolution(random);
    else pair = answered_by(sheet.backend, others[random() % 4], static_cast<unsigned>(random()));
    if (!pair || !check(pair->layer, sheet.backend).empty()) continue;
    Backend device = sheet.backend;
    change_rules(device, rule_prefix(pair->layer, pair->layer.operations[0], device), changes, random);
    if (!answer(*pair, device)) continue;
    judge(*pair, device, sheet.name + ", " + std::to_string(changes) + " rules, try " + std::to_string(tries), tally);
  }
  std::printf("%d blind devices: %d exact, %d told, %d rules of them, %zu wrong\n", tally.devices, tally.exact, tally.told, tally.rules,
              tally.wrong.size());
  for (const std::string& one : tally.wrong) UNSCOPED_INFO(one);
  CHECK(tally.wrong.empty());
  CHECK(tally.devices == count);
  CHECK(tally.exact * 2 > count);
  CHECK(tally.told > 0);
}

TEST_CASE("identify: of blind devices no rule is told that is another one") { check_blind_devices(12, 1); }
TEST_CASE("identify: of 500 blind devices no rule is told that is another one", "[.every]") { check_blind_devices(500, 2); }

TEST_CASE("identify: devices beside the built-in ones are not tried once time is up") {
  std::mt19937 random(4);
  IdentifyPair pair = small_convolution(random);
  REQUIRE(answer(pair, find_backend("tflite_single").backend));
  std::vector<ConvData> data;
  data.emplace_back(pair);
  const Deadline passed(1e-9);
  while (!passed.passed()) continue;
  const std::vector<ConvNeighbour> all = explaining_neighbours(pair.layer, scope_of(pair), data),
                                   in_time = explaining_neighbours(pair.layer, scope_of(pair), data, passed);
  CHECK_FALSE(std::ranges::all_of(all, &ConvNeighbour::is_built_in));
  CHECK(std::ranges::all_of(in_time, &ConvNeighbour::is_built_in));
  CHECK(std::ranges::count_if(all, &ConvNeighbour::is_built_in) == std::ssize(in_time));
  CHECK_FALSE(in_time.empty());
}

TEST_CASE("identify: a multiplier of 13 bits, of which the space has none, is beside a sheet") {
  std::mt19937 random(7);
  Backend device = find_backend("tflite_single").backend;
  set_rule(device, "conv.i8.output.scale.significant_bits", "13");
  IdentifyPair pair = small_convolution(random);
  REQUIRE(answer(pair, device));
  const Identification found = identify(std::span(&pair, 1));
  REQUIRE(found.operations.size() == 1);
  const OperationIdentification& one = found.operations[0];
  CHECK(one.exact());
  CHECK(one.complete);
  CHECK(std::ranges::find(one.best().beside, "tflite_single with output.scale.significant_bits 31 -> 13") != one.best().beside.end());
  const auto last = std::ranges::find(one.best().rules, "last rounding", &RuleValues::rule);
  REQUIRE(last != one.best().rules.end());
  CHECK(std::ranges::find(last->values, "half_up") != last->values.end());
}

TEST_CASE("identify: an answer rests on what the built-in device assumes that stands for it") {
  std::mt19937 random(9);
  const SpecSheet& device = find_backend("bernoulli2");
  IdentifyPair pair = small_convolution(random);
  for (ModelTensor& tensor : pair.layer.tensors)
    if (!tensor.quantization.scales.empty()) tensor.quantization.zero_points = {0};
  REQUIRE(answer(pair, device.backend));
  const Identification found = identify(std::span(&pair, 1));
  REQUIRE(found.operations.size() == 1);
  REQUIRE(found.operations[0].exact());
  const std::string& stands = found.operations[0].best().represented_by;
  const std::vector<Assumption> all = assumptions_of(pair.layer, pair.layer.operations[0], find_backend(stands));
  REQUIRE_FALSE(all.empty());
  REQUIRE_FALSE(found.assumptions.empty());
  for (const SharedAssumption& one : found.assumptions) {
    CHECK(one.backend == stands);
    CHECK(one.layers == 1);
    for (const std::string& rule : one.rules)
      CHECK(std::ranges::any_of(all, [&](const Assumption& each) { return each.rule == rule && each.source == one.source; }));
  }
  CHECK(to_text(found).find("Rests on assumptions:\n  ") != std::string::npos);
  CHECK(to_json(found).find("\"source\"") != std::string::npos);

  // Of a device whose rules are all recorded there is nothing to name.
  REQUIRE(answer(pair, find_backend("tflite_double").backend));
  CHECK(identify(std::span(&pair, 1)).assumptions.empty());
}

}  // namespace
}  // namespace lastbit
