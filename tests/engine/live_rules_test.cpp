// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// No rule that a sheet states is dead: of random layers that read it, on some sheet, at least one comes out otherwise when the rule takes another
// of its values, or is refused. Rules of which none does are listed with the reason.
#include <algorithm>
#include <iterator>
#include <set>

#include "differential/filled_layer.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "model/operation_signature.hpp"
#include "support/catch.hpp"
#include "support/rule_changes.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

const std::vector<Exemption> exemptions{
    // Equal for every input.
    {{"*.i16_weights8.output.*", "*.i8_weights16.output.*"}, "GNA's sums go out as they are, before the chain"},
    {{"*.bias", "*.bias_rounding"}, "sums that wrap do not depend on when the bias joins; a bias of 32 bits drops nothing"},
    {{"*.accumulator.when"}, "sums that wrap or are exact do not depend on when they are narrowed"},
    {{"depthwise_conv.*_weights*.accumulator.*"}, "of GNA: a sum of one term"},
    {{"*.i16*.centring", "*.i8_weights16.centring", "recurrent.*.centring", "sum_pool.*.centring", "left.resize.centring"},
     "16-bit data, and GNA's, have zero point 0"},
    {{"global_average_pool.padding"}, "a global pool has no padding"},
    {{"planar_average_pool.output_scale"}, "of PyTorch, which refuses an average whose scale is not its input's"},
    {{"*.i16_power_of_two.operand.scale.*"}, "scales are powers of two: one bit holds them"},
    {{"*.i8_per_channel.centring", "*.i8_per_channel.output.scale.significant_bits"}, "ESP-DL: zero points are 0, scales powers of two"},
    {{"domain", "coding"}, "choose what is computed at all, and which data are refused"},
    {{"fusion", "float32"}, "of operations that a file states on real numbers: vectors/cases_test.cpp"},
    {{"average_pool.in_float.overhang"}, "of padding that counts, as ONNX has it: vectors/cases_test.cpp"},
    {{"*.i16_power_of_two.output.chain.*"}, "of TFLite Micro those of add.i16, whose layers tell"},
    {{"add_n.*.centring", "add.above_one.centring"}, "N2D2's codes have zero point 0"},
    {{"matmul.u8.output.scale.*"}, "FBGEMM's refuse a second factor with a zero point; fully_connected.u8, of the same encoding, tells"},
    // Different where no layer of this size comes.
    {{"*.accumulator.overflow", "*.accumulator.bits", "fused_conv.sum.overflow"}, "64 bits, or few terms: no sum leaves them"},
    {{"*.tile.*", "*.partial.*"},
     "thousands of terms of GNA: devices/gna_test.cpp crosses every tile, arith/partial_sums_test.cpp every group"},
    // Different by less than random layers show.
    {{"*.scale.arithmetic", "*.float_scale*.arithmetic", "*.scale.rounding", "left.mean.count"},
     "the last of 24 bits or more; arith/multiplier_test.cpp"},
    {{"*.scale.carry", "*.scale.max_exponent"}, "multipliers that round up to a power of two, or overflow; arith/multiplier_test.cpp"},
    {{"add.*.operand.chain.*.rounding", "sub.*.operand.chain.*.rounding"}, "an operand carries 15 places more than the result shows"},
    {{"*.overflow"}, "no value leaves the stage's width; arith/rescale_stages_test.cpp"},
    {{"logistic.input.chain.*.rounding", "tanh.input.chain.*.rounding"}, "the 8-bit result does not show the places rounded"},
    {{"left.logistic.input.*", "left.tanh.input.*", "left.resize.method_uint8"},
     "of 8-bit data of two types, which no layer is made with: the delegate takes the others"},
    {{"resize.coordinates", "left.resize.coordinates"}, "images of more than 12 pixels a side; engine/op_resize_test.cpp"},
    {{"resize.other_quantization", "left.resize.other_quantization"}, "layers between two quantisations: engine/op_resize_test.cpp"},
    {{"delegated.*", "left.add.*", "left.sub.*"}, "ratios beyond a delegate's ranges: vectors/cases_test.cpp, sheet/delegated_test.cpp"},
    {{"*.multiply_by_converter.bits"}, "which converters are refused: engine/registers_test.cpp"},
    // Of layers that state registers: engine/registers_test.cpp tells.
    {{"*.i8_per_channel.output.chain.*"}, "of RKNPU2's bias stage"},
    // Recorded values tell.
    {{"requantize_to_32bit.*", "requantize.chain.scale_below_zero.*"},
     "of layers that state registers, with outputs of 32 bits: vectors/discrimination_test.cpp"},
    {{"svdf.*", "lstm.*"}, "vectors/recurrent_discrimination_test.cpp"},
};

bool is_exempt(const std::string& rule) {
  return std::ranges::any_of(exemptions, [&](const Exemption& one) { return one.holds_for(rule); });
}

/// A rule that a sheet states, and what it could be instead.
struct Stated {
  std::string path;
  std::string name;  ///< the path with a stage's kind in place of its number: "conv.i8.output.chain.multiply.bits"
  std::vector<std::string> values;
};

std::vector<Stated> stated_by(const Backend& backend) {
  std::vector<Stated> list;
  std::string kind;  // of the stage whose members follow
  for (const RuleText& rule : list_rules(backend)) {
    const std::size_t chain = rule.path.find("chain."), member = rule.path.rfind('.');
    const bool in_chain = chain != std::string::npos;
    if (rule.path.ends_with("chain.size") || rule.value == "absent") continue;
    if (in_chain && rule.path.ends_with(".kind")) kind = rule.value;
    list.push_back({rule.path, in_chain ? rule.path.substr(0, chain + 6) + kind + rule.path.substr(member) : rule.path,
                    alternatives(backend, rule.path)});
  }
  std::erase_if(list, [](const Stated& rule) { return rule.values.empty(); });
  return list;
}

/// Nothing where the backend cannot compute the layer: by its rules, or because a sum is wider than its output.
std::optional<std::vector<Tensor>> outputs_of(const FilledLayer& layer, const Backend& backend) try {
  const Trace trace = run(layer.model, backend, layer.inputs);
  std::vector<Tensor> outputs;
  for (const auto index : layer.model.outputs) outputs.push_back(*trace.tensors[static_cast<std::size_t>(index)]);
  return outputs;
} catch (const Error&) {
  return std::nullopt;
}

bool tells(const FilledLayer& layer, const Backend& backend, const std::optional<std::vector<Tensor>>& outputs, const Stated& rule) {
  return std::ranges::any_of(rule.values, [&](const std::string& value) {
    Backend changed = backend;
    set_rule(changed, rule.path, value);
    return outputs_of(layer, changed) != outputs;
  });
}

struct Seeds {
  std::uint64_t first, last;
};

/// Random layers of every kind, as long as a rule is left.
void ask_layers(Seeds seeds, const Backend& backend, std::vector<Stated> unseen, std::set<std::string>& seen) {
  for (const OperationSignature& signature : operation_signatures()) {
    for (std::uint64_t seed = seeds.first; seed <= seeds.last && !unseen.empty(); ++seed) {
      Choices choose(seed);
      const auto layer = filled_layer(signature.kind, backend, choose);
      if (!layer) continue;
      const auto prefixes = rule_prefixes(layer->model, layer->model.operations[0], backend);
      const auto outputs = outputs_of(*layer, backend);
      if (!outputs) continue;
      std::erase_if(unseen, [&](const Stated& rule) {
        const bool is_read = std::ranges::any_of(prefixes, [&](const std::string& prefix) { return covers(prefix, rule.path); });
        if (is_read && tells(*layer, backend, outputs, rule)) seen.insert(rule.name);
        return seen.contains(rule.name);
      });
    }
  }
}

TEST_CASE("no rule of the sheets is dead: some layer tells it from another value, or a sentence says why none does") {
  std::set<std::string> stated, seen;
  for (const Seeds seeds : {Seeds{1, 20}, Seeds{21, 100}, Seeds{101, 300}, Seeds{301, 1000}}) {  // the first ask for what is exempt as well
    for (const SpecSheet& sheet : builtin_backends()) {
      if (sheet.backend.domain != Domain::integer) continue;
      std::vector<Stated> unseen = stated_by(sheet.backend);
      for (const Stated& rule : unseen) stated.insert(rule.name);
      std::erase_if(unseen, [&](const Stated& rule) { return seen.contains(rule.name) || (seeds.first > 1 && is_exempt(rule.name)); });
      ask_layers(seeds, sheet.backend, std::move(unseen), seen);
    }
  }
  CHECK(stated.size() > 1000);
  for (const std::string& rule : stated) {
    if (!seen.contains(rule) && !is_exempt(rule)) FAIL_CHECK("no layer tells what " << rule << " says");
  }
  for (const Exemption& one : exemptions) {
    for (const std::string& pattern : one.rules) {
      INFO(pattern << ": " << one.reason);
      CHECK(std::ranges::any_of(stated, [&](const std::string& rule) { return !seen.contains(rule) && matches(pattern, rule); }));
    }
  }
}

}  // namespace
}  // namespace lastbit
