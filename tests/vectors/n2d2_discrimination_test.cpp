// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Are N2D2's recorded suites strong enough? Of each rule that their operations read, some other value must make a suite
// fail, or the rule is listed with the reason why no recorded value tells. (Every other value is asked for in discrimination_test.cpp: N2D2's
// ten backends differ by whole chains, which most single values leave alone.)
#include <algorithm>
#include <map>

#include "lastbit/registry.hpp"
#include "lastbit/verify.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/rule_changes.hpp"

namespace {

using namespace lastbit;
using namespace lastbit::test;

struct Suite {
  std::string folder;
  Texts backends;
  Texts rules;  ///< prefixes
};

const Texts exported{"n2d2_single_shift", "n2d2_double_shift", "n2d2_fixed_mult16", "n2d2_fixed_mult32", "n2d2_float_mult"};
const Texts simulated{"n2d2_simulator_single_shift", "n2d2_simulator_double_shift", "n2d2_simulator_fixed_mult16",
                      "n2d2_simulator_float_mult"};

const Suite suites[] = {
    {"n2d2/scaling", exported, {"add_n.i8"}},
    {"n2d2/scaling_nb4", exported, {"add_n.i8"}},
    {"n2d2/scaling_nb16", exported, {"add_n.i16"}},
    {"n2d2/scaling_sim", simulated, {"add_n.i8"}},
    {"n2d2/conv", exported, {"conv.i8", "depthwise_conv.i8"}},
    {"n2d2/conv_nb4", {"n2d2_single_shift"}, {"conv.i8"}},
    {"n2d2/conv_nb16", {"n2d2_single_shift", "n2d2_double_shift"}, {"conv.i16_bias64"}},
    {"n2d2/fc", exported, {"fully_connected.i8"}},
    {"n2d2/pool", {"n2d2_single_shift"}, {"average_pool", "global_average_pool"}},
    {"n2d2/misc", {"n2d2_single_shift"}, {"argmax", "add_n.i8", "concat"}},
};

struct Exception {
  std::string backend, rule;  ///< patterns
  std::string reason;
};

const std::vector<Exception> exceptions{
    {"*", "*.accumulator.*", "the recorded sums stay far inside every accumulator offered"},
    {"*", "*.bias", "without a limit that a sum reaches, the bias's place makes no difference"},
    {"*", "*.row_multiplier", "no recorded layer has row multipliers"},
    {"*", "*.scale.*", "the recorded scales are exact: multiplier × 2^-shift, however it is derived"},
    {"*", "*.per_channel", "stated multipliers: the same for a channel as for a layer"},
    {"*", "*.chain.*.bits", "the recorded values stay inside the register of this stage"},
    {"*", "*.chain.*.overflow", "the recorded values stay inside the register of this stage"},
    {"*float_mult", "*.chain.2.arithmetic", "the recorded products are equal in single and double precision"},
    {"*", "conv.i16_bias64.output.chain.*.amount", "both kinds of amount give the stated shift"},
    {"*", "fully_connected.i8.output.chain.*.amount", "both kinds of amount give the stated shift"},
    {"*fixed_mult*", "fully_connected.i8.output.chain.4.rounding", "no recorded product of a fully connected layer is a tie"},
    {"*", "*.by", "the scales' quantities are 1 but for the one that is stated"},
    {"*", "*.centring", "symmetric data: zero points are 0"},
    {"*", "average_pool.output_scale", "input and output share their scale"},
    {"*", "average_pool.in_float.method", "alone it states no rounding, and is refused"},
    {"*", "argmax.single_channel", "every recorded argmax has several channels"},
    {"*", "concat.method*", "recorded branches share one scale: nothing is rescaled"},
    {"*", "global_average_pool.*", "the recorded pools are windows"},
};

bool belongs(const Texts& prefixes, const std::string& path) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const auto& prefix) { return path == prefix || path.starts_with(prefix + "."); });
}

bool noticed(RecordedCases& cases, const std::string& backend, const std::string& rule, const std::string& value) {
  VerifyOptions options;
  options.stop_after = 1;
  options.adjust = [&](SpecSheet& sheet) {
    if (sheet.name == backend) set_rule(sheet.backend, rule, value);
  };
  return !cases.verify(options).failures.empty();
}

}  // namespace

TEST_CASE("N2D2's recorded suites notice a change of any rule they read, or the reason is known") {
  using Rule = std::pair<std::string, std::string>;  // backend, path below the operation
  std::map<Rule, bool> told;
  for (const Suite& suite : suites) {
    RecordedCases cases(source_directory() / "tests/vectors" / suite.folder);
    for (const std::string& name : suite.backends) {
      const Backend backend = find_backend(name).backend;
      for (const RuleText& rule : list_rules(backend)) {
        if (!belongs(suite.rules, rule.path) || is_absent_chain(rule)) continue;
        bool& known = told[{name, rule.path}];
        for (const std::string& value : candidates(rule.value)) {
          if (known) break;
          known = accepts(backend, rule.path, value) && noticed(cases, name, rule.path, value);
        }
      }
    }
  }
  CHECK(told.size() > 300);
  std::vector<std::size_t> uses(exceptions.size(), 0);
  for (const auto& [rule, known] : told) {
    if (known) continue;
    const auto reason = std::find_if(exceptions.begin(), exceptions.end(), [&rule = rule](const Exception& one) {
      return matches(one.backend, rule.first) && matches(one.rule, rule.second);
    });
    if (reason != exceptions.end()) ++uses[static_cast<std::size_t>(reason - exceptions.begin())];
    else FAIL_CHECK("no suite notices " << rule.second << " of " << rule.first);
  }
  for (std::size_t i = 0; i < exceptions.size(); ++i) {
    INFO("exception " << i << ": " << exceptions[i].reason);
    CHECK(uses[i] > 0);
  }
}
