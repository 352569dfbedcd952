// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Nothing is left to a silent default: a sheet states every rule that it reads, and holds no value that nothing reads.
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

std::string refusal_of(const Backend& backend) {
  try {
    require_stated(backend);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("every built-in sheet states what it reads and holds nothing else") {
  for (const SpecSheet& sheet : builtin_backends()) {
    INFO(sheet.name);
    CHECK(refusal_of(sheet.backend).empty());
    CHECK(unread_rules(sheet.backend).empty());
  }
}

TEST_CASE("every rule by which a device sums 8-bit products has evidence") {
  for (const SpecSheet& sheet : builtin_backends()) {
    const std::vector<RuleText> rules = list_rules(sheet.backend);
    for (const std::string prefix : {"conv.i8.", "depthwise_conv.i8.", "fully_connected.i8."}) {
      const bool is_present = std::ranges::any_of(rules, [&](const RuleText& rule) { return rule.path == prefix + "output.chain.0.kind"; });
      for (const RuleText& rule : rules) {
        if (!is_present || !rule.path.starts_with(prefix)) continue;
        INFO(sheet.name << " " << rule.path);
        CHECK(evidence_for(sheet, rule.path) != nullptr);
      }
    }
  }
}

TEST_CASE("what a sheet leaves open states what it reads whichever way it is set") {
  for (const SpecSheet& sheet : builtin_backends()) {
    for (const Setting& setting : sheet.settings) {
      for (const std::string& value : setting.alternatives) {
        INFO(sheet.name << " " << setting.rule << "=" << value);
        Backend changed = sheet.backend;
        set_rule(changed, setting.rule, value);
        CHECK(refusal_of(changed).empty());
        CHECK(unread_rules(changed).empty());
      }
    }
  }
}

TEST_CASE("a C++ sheet that leaves rules out is refused, each of them by name") {
  Backend backend{.conv = {.i8 = {.sum = {.accumulator = {.bits = 24, .overflow = Overflow::saturate},
                                          .output = {{.arithmetic = ScaleArithmetic::f64}, {stage::multiply(), stage::clamp()}}}}},
                  .quantize = {.division = ScaleDivision::divide, .rounding = Rounding::half_even}};
  const std::string expected =
      "backend: reads rules that it does not state: conv.i8.accumulator.when, conv.i8.output.scale.significant_bits, "
      "conv.i8.output.scale.rounding, conv.i8.output.scale.normalization, conv.i8.bias, conv.i8.per_channel, quantize.zero_point, "
      "quantize.out_of_range";
  CHECK(refusal_of(backend) == expected);
  CHECK_THROWS_AS(Emulator(Model{}, backend), Error);
}

TEST_CASE("a value that nothing reads is found, and forgotten where a change of rules leaves it behind") {
  Backend backend = find_backend("gna3_0").backend;
  backend.average_pool.padding = PaddingCount::included;
  backend.conv.i8.bias_rounding = Rounding::half_up;
  CHECK(unread_rules(backend) == std::vector<std::string>{"conv.i8.bias_rounding", "average_pool.padding"});
  backend = find_backend("gna3_0").backend;
  set_rule(backend, "pwl.method", "absent");
  set_rule(backend, "quantize.division", "absent");
  CHECK(unread_rules(backend).empty());
  CHECK(backend.quantize == QuantizeArithmetic{});
}

}  // namespace
}  // namespace lastbit
