// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Probes for sums, products, pools, means, concatenation and requantisation: of every rule that they read, each other value is told by some
// layer that the search finds, or a sentence says why none can.
#include <algorithm>

#include "analysis/identify/rule_search.hpp"
#include "analysis/identify/walk_probe.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "support/answered_layer.hpp"
#include "support/catch.hpp"
#include "support/rule_changes.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

const std::vector<Exemption> exemptions{
    {{"*.accumulator.when"}, "sums that wrap do not depend on when they are narrowed"},
    {{"*.accumulator.overflow"}, "no sum of a few 8-bit codes leaves 32 bits"},
    {{"*.chain.*.overflow"}, "nor what becomes of it its stage's width"},
    {{"*.scale.arithmetic", "*.scale.rounding", "add.i8.*.chain.0.arithmetic", "requantize.chain.0.arithmetic"},
     "the last of 24 bits and more: 8-bit codes have no sum that shows it, or only one in many"},
    {{"*.max_exponent", "*.limit"}, "beyond it everything, or nothing, is left of sums of 8-bit codes"},
    {{"*.scale.carry"}, "one multiplier in 2^15, and only on a tie"},
    {{"*.normalization"}, "the shift that remains balances the exponent"},
    {{"concat.method*", "average_pool.output_scale"}, "inputs with the output's quantisation; another one is refused"},
    {{"add.i8.centring", "*pool.centring", "mean.centring"}, "symmetric codes have no zero point"},
    {{"add.i8.operand.chain.2.rounding"}, "an operand carries twenty places more than the result shows"},
    {{"add.i8.output.chain.0.rounding"}, "Gemmini's sum is in the output's scale: nothing to round"},
    {{"requantize.chain.0.*", "requantize.chain.1.bits", "*pool.output.chain.0.rounding", "mean.output.chain.0.rounding"},
     "8-bit data need no shift before the multiplier"},
    {{"dequantize.arithmetic"}, "8 bits times float32 are exact in double: either way one rounding"},
};

/// Whether some other value of the rule is one that a probe tells.
bool is_told(const Backend& device, const std::string& rule, const IdentifyPair& like) {
  return std::ranges::any_of(alternatives(device, rule), [&](const std::string& value) {
    Backend other = device;
    set_rule(other, rule, value);
    if (!check(like.layer, other).empty()) return true;  // no probe is needed
    return design_walk_probe({device, other}, like, {.weights = ProbeWeights::free, .patience = 30}).has_value();
  });
}

TEST_CASE("probes: every rule that sums, products, pools and conversions read is told") {
  std::vector<std::size_t> uses(exemptions.size());
  int told = 0;
  for (const char* const name : {"tflite_double", "tflite_single", "vipnano_v8", "bernoulli2", "gemmini"}) {
    const Backend& device = find_backend(name).backend;
    for (const OperationKind kind : {OperationKind::add, mul, average_pool2d, mean, concat, requantize}) {
      const auto like = answered_by(device, kind, 1);
      if (!like) continue;
      for (const RuleText& rule : list_rules(device)) {
        const auto holds = [&](const std::string& path) { return covers(path, rule.path); };
        if (rule.path.ends_with("chain.size") || std::ranges::none_of(read_rules(like->layer, device), holds)) continue;
        const auto exempt = std::ranges::find_if(exemptions, [&](const Exemption& one) { return one.holds_for(rule.path); });
        if (is_told(device, rule.path, *like)) ++told;
        else if (exempt == exemptions.end()) FAIL_CHECK(name << ": no probe tells " << rule.path);
        else ++uses[static_cast<std::size_t>(exempt - exemptions.begin())];
      }
    }
  }
  CHECK(told > 200);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    INFO(exemptions[i].reason);
    CHECK(uses[i] > 0);
  }
}

/// What the device makes of a probe's layers.
void answer(const Probe& probe, const Backend& device, std::vector<IdentifyPair>& pairs) {
  for (const ProbeLayer& layer : probe.layers) {
    const Trace trace = run(layer.layer, device, layer.inputs);
    pairs.push_back({"probe", layer.layer, layer.inputs, *trace.tensors[static_cast<std::size_t>(layer.layer.outputs[0])]});
  }
}

TEST_CASE("probes: a pool and a sum that no sheet has are found, until no probe tells more") {
  struct Hidden {
    OperationKind kind;
    const char *backend, *rule, *value;
  };
  for (const auto& [kind, backend, rule, value] : {Hidden{average_pool2d, "bernoulli2", "average_pool.padding", "excluded"},
                                                   Hidden{OperationKind::add, "vipnano_v8", "add.i8.output.chain.2.rounding", "half_up"}}) {
    INFO(backend << " with " << rule << " = " << value);
    Backend hidden = find_backend(backend).backend;
    set_rule(hidden, rule, value);
    std::vector<IdentifyPair> pairs{answered_by(hidden, kind, 1).value()};
    int probes = 0;
    for (; probes < 8; ++probes) {
      const auto probe = design_probe(pairs, {.weights = ProbeWeights::free, .seed = static_cast<unsigned>(probes)});
      if (!probe) break;
      answer(*probe, hidden, pairs);
    }
    CHECK(probes > 0);
    CHECK(probes < 8);
    const Identification found = identify(pairs);
    CHECK(found.exact());
    const Backend& best = found.operations[0].best().backend;
    for (unsigned seed = 2; seed < 6; ++seed) {
      const auto fresh = answered_by(hidden, kind, seed);
      if (!fresh || !check(fresh->layer, best).empty()) continue;
      CHECK(*run(fresh->layer, best, fresh->inputs).tensors[static_cast<std::size_t>(fresh->layer.outputs[0])] == fresh->output);
    }
  }
}

}  // namespace
}  // namespace lastbit
