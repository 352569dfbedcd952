// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A board whose rules nobody tells: the change that was made must be among those named, and every one named must compute the dump.
#include <algorithm>
#include <random>
#include <set>

#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/damaged_dump.hpp"
#include "support/rule_changes.hpp"
#include "support/two_convolutions.hpp"
#include "support/two_devices.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

NamedTrace board(const TwoConvolutions& network, const SpecSheet& base, const std::string& rule, const std::string& value) {
  SpecSheet device = base;
  if (!rule.empty()) set_rule(device.backend, rule, value);
  return run_named(network.model, device, network.inputs);
}

bool names(const DumpVerdict& layer, const std::string& rule, const std::string& value) {
  return std::any_of(layer.explanations.begin(), layer.explanations.end(),
                     [&](const RuleChange& change) { return change.name == rule && change.what.ends_with("-> " + value); });
}

}  // namespace

TEST_CASE("explain a dump: the rule that was changed is named, and what is named computes the dump") {
  struct Case {
    std::string base, rule, value;
  };
  const std::vector<Case> cases{
      {"tflite_double", "conv.i8.output.chain.1.rounding", "floor"}, {"tflite_double", "conv.i8.output.chain.2.rounding", "half_even"},
      {"tflite_double", "conv.i8.accumulator.bits", "14"},           {"vipnano_v8", "conv.i8.output.chain.2.rounding", "floor"},
      {"vipnano_v8", "conv.i8.output.scale.significant_bits", "8"},  {"xnnpack", "conv.i8.accumulator.bits", "12"},
  };
  for (const Case& one : cases) {
    INFO(one.base << " " << one.rule << " = " << one.value);
    const SpecSheet base = find_backend(one.base);
    std::int64_t differing = 0;
    for (const double scale : {0.5, 0.47}) {  // with and without ties
      const TwoConvolutions network(11, scale);
      const NamedTrace dump = board(network, base, one.rule, one.value);
      const DumpReport report = explain_dump(network.model, dump, base, {});
      REQUIRE(report.layers.size() == 2);
      for (const DumpVerdict& layer : report.layers) {
        differing += layer.differing;
        if (layer.differing == 0) continue;
        CHECK(names(layer, one.rule, one.value));
        for (const RuleChange& change : layer.explanations) {
          const SpecSheet named = with(base, settings_of(change));
          CHECK(explain_dump(network.model, dump, named, {}, {.layer = layer.name}).layers.at(0).differing == 0);
        }
      }
    }
    CHECK(differing > 0);
  }
}

TEST_CASE("explain a dump: equal, known elsewhere, and not to be explained") {
  const TwoConvolutions network(12, 0.50001);
  const SpecSheet twice = find_backend("tflite_double");
  const DumpReport same = explain_dump(network.model, board(network, twice, "", ""), twice, {});
  for (const DumpVerdict& layer : same.layers) CHECK(layer.differing == 0);
  CHECK(to_text(same).find("2 of 2 layers are equal") != std::string::npos);

  const DumpReport known = explain_dump(network.model, board(network, find_backend("vipnano_v8"), "", ""), twice, {});
  for (const DumpVerdict& layer : known.layers) {
    if (layer.differing > 0) CHECK(std::count(layer.backends.begin(), layer.backends.end(), "vipnano_v8") == 1);
  }

  SpecSheet odd = twice;  // more rules at once than are tried
  set_rule(odd.backend, "conv.i8.accumulator.bits", "14");
  set_rule(odd.backend, "conv.i8.output.chain.1.rounding", "floor");
  set_rule(odd.backend, "conv.i8.output.chain.2.rounding", "ceil");
  const DumpReport report = explain_dump(network.model, run_named(network.model, odd, network.inputs), twice, {});
  CHECK(report.layers[0].explanations.empty());
  CHECK_FALSE(report.one_device);
  CHECK(to_text(report).find("try identify") != std::string::npos);
}

TEST_CASE("explain a dump: every width is tried, and one value must explain all layers") {
  const TwoConvolutions network(21, 0.5);
  const SpecSheet base = find_backend("vipnano_v8");
  for (const char* const rule : {"conv.i8.accumulator.bits", "conv.i8.output.scale.significant_bits"}) {
    for (int width = 2; width <= 24; ++width) {
      const std::string value = std::to_string(width);
      INFO(rule << " = " << value);
      const DumpReport report = explain_dump(network.model, board(network, base, rule, value), base, {});
      for (const DumpVerdict& layer : report.layers) {
        if (layer.differing > 0) CHECK(names(layer, rule, value));
        for (const RuleChange& change : layer.explanations) {
          const SpecSheet named = with(base, settings_of(change));
          for (const DumpVerdict& other : explain_dump(network.model, board(network, base, rule, value), named, {}).layers)
            CHECK(other.differing == 0);
        }
      }
      CHECK(report.one_device);
    }
  }
}

TEST_CASE("explain a dump: rules that only act together are named together") {
  const TwoConvolutions network(22, 0.5);
  const SpecSheet base = find_backend("vipnano_v8");
  struct Case {
    std::string rule, value, with, with_value;
  };
  const std::vector<Case> cases{
      {"conv.i8.accumulator.bits", "13", "conv.i8.accumulator.overflow", "saturate"},
      {"conv.i8.output.scale.significant_bits", "7", "conv.i8.output.scale.rounding", "ceil"},
      {"conv.i8.accumulator.bits", "13", "conv.i8.output.chain.2.rounding", "floor"},
      {"conv.i8.output.chain.2.rounding", "floor", "conv.i8.bias", "accumulator_end"},
  };
  for (const Case& one : cases) {
    INFO(one.rule << " = " << one.value << ", " << one.with << " = " << one.with_value);
    SpecSheet device = base;
    set_rule(device.backend, one.rule, one.value);
    set_rule(device.backend, one.with, one.with_value);
    const DumpReport report = explain_dump(network.model, run_named(network.model, device, network.inputs), base, {});
    CHECK(report.one_device);
    for (const DumpVerdict& layer : report.layers) {
      if (layer.differing == 0) continue;
      const bool alone = names(layer, one.rule, one.value) || names(layer, one.with, one.with_value);
      const bool both = std::any_of(layer.explanations.begin(), layer.explanations.end(), [&](const RuleChange& change) {
        return std::set<std::string>(change.rules.begin(), change.rules.end()) == std::set<std::string>{one.rule, one.with} &&
               change.what.find(one.value) != std::string::npos && change.what.find(one.with_value) != std::string::npos;
      });
      CHECK((alone || both));
    }
  }
}

TEST_CASE("explain a dump: of a network's last tensor alone, the rule is changed in all its layers") {
  const TwoConvolutions network(23, 0.5);
  const SpecSheet base = find_backend("tflite_double");
  for (const char* const value : {"9", "13"}) {
    const NamedTrace dump = ends_of(network.model, board(network, base, "conv.i8.accumulator.bits", value));
    const DumpReport report = explain_dump(network.model, dump, base, {});
    REQUIRE(report.layers.size() == 1);
    CHECK(report.layers[0].differing > 0);
    CHECK(names(report.layers[0], "conv.i8.accumulator.bits", value));
    CHECK(report.layers[0].note.find("as the dump lacks it: y") != std::string::npos);
    CHECK(to_text(report).find("1 are explained") != std::string::npos);
  }
}

TEST_CASE("explain a dump: what two devices made is not explained") {
  TwoConvolutions network(24, 0.50001);
  network.model.tensors[4].quantization = {{0.3}, {0}, 0};  // so that no layer's scale is a power of two
  SpecSheet narrow = find_backend("vipnano_v8"), narrower = narrow;
  const SpecSheet base = narrow;
  set_rule(narrow.backend, "conv.i8.output.scale.significant_bits", "7");
  set_rule(narrower.backend, "conv.i8.output.scale.significant_bits", "5");
  const std::vector<std::pair<SpecSheet, SpecSheet>> pairs{
      {base, narrow}, {narrow, narrower}, {find_backend("tflite_double"), narrower}, {base, find_backend("tflite_double")}};
  for (const auto& [first, second] : pairs) {
    for (const SpecSheet& expected : {base, find_backend("tflite_double"), find_backend("xnnpack")}) {
      INFO(first.name << " and " << second.name << " against " << expected.name);
      const DumpReport report = explain_dump(network.model, dump_of_two(network.model, first, second, 1, network.inputs), expected, {});
      CHECK_FALSE(report.one_device);
      for (const DumpVerdict& layer : report.layers) {
        CHECK(layer.explanations.empty());
        CHECK(layer.backends.empty());
      }
      const std::string text = to_text(report);
      CHECK(text.find("explained by ") == std::string::npos);
      CHECK(text.find(" 0 are explained") != std::string::npos);
    }
  }
}

TEST_CASE("explain a dump: nothing is near that leaves most values different") {
  const TwoConvolutions network(25, 0.5);
  const SpecSheet base = find_backend("tflite_double");
  NamedTrace dump = board(network, base, "", "");
  std::mt19937 random(1);
  for (NamedTensor& tensor : dump.tensors) {
    if (tensor.name == "z") tensor.values = random_int8({1, 12, 12, 16}, random);
  }
  const DumpReport report = explain_dump(network.model, dump, base, {});
  REQUIRE(report.layers[1].differing * 2 > report.layers[1].values);
  CHECK_FALSE(report.layers[1].nearest);
  CHECK(to_text(report).find("nearest") == std::string::npos);
}

TEST_CASE("explain a dump: a tensor that was misread is named, and no rule is") {
  const TwoConvolutions network(26, 4.0);
  const SpecSheet base = find_backend("tflite_double");
  const auto report_of = [&](auto&& damage) {
    NamedTrace dump = board(network, base, "", "");
    damage(dump.tensors);
    return explain_dump(network.model, dump, base, {});
  };
  const auto check_named = [&](const DumpReport& report, const std::string& cause) {
    INFO(cause);
    REQUIRE_FALSE(report.notes.empty());
    CHECK(report.notes[0].find(cause) != std::string::npos);
    CHECK(to_text(report).find("  misread: tensor '") != std::string::npos);
    for (const DumpVerdict& layer : report.layers) CHECK((layer.differing == 0 || !layer.misread.empty() || !layer.mistakes.empty()));
    CHECK_FALSE(report.one_device);
  };
  check_named(report_of([](auto& tensors) { add_offset(tensors[1].values, 3); }), "every value is off by +3");
  check_named(report_of([](auto& tensors) { invert_sign(tensors[1].values); }), "xor 0x80");
  check_named(report_of([](auto& tensors) { put_channels_first(tensors[1].values, Shape{1, 12, 12, 16}); }), "order NCHW");
  check_named(report_of([](auto& tensors) { std::swap(tensors[1].values, tensors[2].values); }), "two files exchanged?");
}

TEST_CASE("explain a dump: another layout or scale is no arithmetic") {
  const TwoConvolutions network(13, 0.5);
  const SpecSheet sheet = find_backend("tflite_double");
  NamedTrace dump = board(network, sheet, "", "");
  auto& y = *std::find_if(dump.tensors.begin(), dump.tensors.end(), [](const NamedTensor& tensor) { return tensor.name == "y"; });
  auto values = y.values.values<std::int8_t>();
  std::reverse(values.begin(), values.end());
  const DumpReport turned = explain_dump(network.model, dump, sheet, {}, {.layer = "y"});
  REQUIRE(turned.layers.size() == 1);
  INFO(to_text(turned));
  CHECK(turned.layers[0].note.find("another order") != std::string::npos);
}

TEST_CASE("explain a dump: a layer that reads what is not right is judged by what it should have read") {
  const TwoConvolutions network(26, 4.0);
  const SpecSheet base = find_backend("tflite_double");
  const auto check_followed = [&](const std::string& cause, auto&& damage) {
    INFO(cause);
    NamedTrace dump = board(network, base, "", "");
    damage(std::ranges::find(dump.tensors, "y", &NamedTensor::name)->values.values<std::int8_t>());
    const DumpReport report = explain_dump(network.model, dump, base, {});
    REQUIRE(report.layers.size() == 2);
    REQUIRE(report.layers[1].differing > 0);
    CHECK(report.layers[0].follows.empty());
    CHECK(report.layers[1].follows == "'y'");
    const std::string text = to_text(report);
    INFO(text);
    CHECK(text.find(cause) != std::string::npos);
    CHECK(text.find("  follows from 'y', which is not right: equal where that is as the backend computes it") != std::string::npos);
  };
  check_followed("another scale", [](auto values) {
    for (std::int8_t& value : values) value = static_cast<std::int8_t>(value / 2);
  });
  check_followed("suspected: tensor 'y': its values stand 1 place further on",
                 [](auto values) { std::rotate(values.begin(), values.end() - 1, values.end()); });
  check_followed("suspected: tensor 'y': every value is 0: it was not written",
                 [](auto values) { std::ranges::fill(values, std::int8_t{0}); });
}

TEST_CASE("explain a dump: real values are the codes that they stand for") {
  const TwoConvolutions network(15, 0.5);
  const SpecSheet sheet = find_backend("tflite_double");
  NamedTrace dump = board(network, sheet, "", "");
  for (NamedTensor& tensor : dump.tensors) {
    tensor.values = dequantized(tensor.values, tensor.quantization);
    tensor.quantization = {};
  }
  const DumpReport report = explain_dump(network.model, dump, sheet, {});
  REQUIRE(report.layers.size() == 2);
  for (const DumpVerdict& layer : report.layers) CHECK(layer.differing == 0);
}

TEST_CASE("explain a dump: what is missing is said") {
  const TwoConvolutions network(14, 0.5);
  const SpecSheet sheet = find_backend("tflite_double");
  NamedTrace dump = board(network, sheet, "", "");
  std::erase_if(dump.tensors, [](const NamedTensor& tensor) { return tensor.name == "y"; });
  const DumpReport report = explain_dump(network.model, dump, sheet, {});
  REQUIRE(report.layers.size() == 1);
  CHECK(report.layers[0].note.find("as the dump lacks it: y") != std::string::npos);
  std::erase_if(dump.tensors, [](const NamedTensor& tensor) { return tensor.name == "x"; });
  CHECK_THROWS_AS(explain_dump(network.model, dump, sheet, {}), Error);
  CHECK_NOTHROW(explain_dump(network.model, dump, sheet, network.inputs));
  CHECK_THROWS_AS(explain_dump(network.model, dump, sheet, network.inputs, {.layer = "nothing"}), Error);
}

TEST_CASE("alternatives of a rule are all others that the backend takes") {
  const Backend backend = find_backend("vipnano_v8").backend;
  const auto roundings = alternatives(backend, "conv.i8.output.chain.2.rounding");
  CHECK(roundings.size() == names_of(Rounding{}).size() - 1);
  CHECK(std::count(roundings.begin(), roundings.end(), "half_even") == 0);
  for (const std::string& value : alternatives(backend, "conv.i8.accumulator.bits")) {
    Backend changed = backend;
    CHECK_NOTHROW(set_rule(changed, "conv.i8.accumulator.bits", value));
    CHECK(changed != backend);
  }
  CHECK_THROWS_AS(alternatives(backend, "conv.i8.nothing"), Error);
}
