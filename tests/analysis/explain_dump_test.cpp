// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A board whose rules nobody tells: the change that was made must be among those named, and every one named must compute the dump.
#include <algorithm>

#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/two_convolutions.hpp"

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
          SpecSheet named = base;
          set_rule(named.backend, change.name, change.what.substr(change.what.find("-> ") + 3));
          CHECK(explain_dump(network.model, dump, named, {}, layer.name).layers.at(0).differing == 0);
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

  SpecSheet odd = twice;  // two rules at once
  set_rule(odd.backend, "conv.i8.accumulator.bits", "14");
  set_rule(odd.backend, "conv.i8.output.chain.2.rounding", "ceil");
  const DumpReport report = explain_dump(network.model, run_named(network.model, odd, network.inputs), twice, {});
  CHECK(report.layers[0].explanations.empty());
  CHECK(report.layers[0].nearest);
  CHECK(report.layers[0].nearest_differing < report.layers[0].differing);
  CHECK(to_text(report).find("try identify") != std::string::npos);
}

TEST_CASE("explain a dump: another layout or scale is no arithmetic") {
  const TwoConvolutions network(13, 0.5);
  const SpecSheet sheet = find_backend("tflite_double");
  NamedTrace dump = board(network, sheet, "", "");
  auto& y = *std::find_if(dump.tensors.begin(), dump.tensors.end(), [](const NamedTensor& tensor) { return tensor.name == "y"; });
  auto values = y.values.values<std::int8_t>();
  std::reverse(values.begin(), values.end());
  const DumpReport turned = explain_dump(network.model, dump, sheet, {}, "y");
  REQUIRE(turned.layers.size() == 1);
  CHECK(turned.layers[0].note.find("another order") != std::string::npos);
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
  CHECK_THROWS_AS(explain_dump(network.model, dump, sheet, network.inputs, "nothing"), Error);
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
