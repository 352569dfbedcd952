// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/identify.hpp"

#include <algorithm>

#include "analysis/identify/conv_search.hpp"
#include "analysis/identify/rule_search.hpp"
#include "analysis/identify/rule_tally.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

/// Pairs whose operations read the same rules.
struct Group {
  std::string rules;
  std::vector<const IdentifyPair*> pairs;
};

bool is_conv_group(const Group& group) { return is_conv_layer(group.pairs.front()->layer.operations[0].kind); }

/// uint8 and int8 data are taken together, and so are sums and outputs of one type apart.
std::string rules_text(const IdentifyPair& pair) {
  const Operation& operation = pair.layer.operations[0];
  ConvArithmetic present;
  present.sum.output.chain = {clamp()};
  Backend backend = backend_of(present);
  const bool sums = !is_conv_layer(operation.kind) || scope_of(pair).sums_only;
  if (!sums) {  // devices that rescale go by the bias, those that deliver sums by the weights
    for (ConvByType* types : {&backend.conv, &backend.depthwise_conv, &backend.transposed_conv, &backend.fully_connected})
      types->i8_weights16 = types->i16_weights8 = {};
  }
  return rule_prefix(pair.layer, operation, backend);
}

std::vector<Group> grouped(std::span<const IdentifyPair> pairs, std::vector<SkippedPair>& skipped) {
  std::vector<Group> groups;
  for (const IdentifyPair& pair : pairs) {
    if (const std::string why = reason_to_skip(pair); !why.empty()) {
      skipped.push_back({pair.name, why});
      continue;
    }
    const std::string rules = rules_text(pair);
    const bool conv = is_conv_layer(pair.layer.operations[0].kind);
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      if (group.rules != rules || is_conv_group(group) != conv) return false;
      return !conv || scope_of(*group.pairs.front()).sums_only == scope_of(pair).sums_only;
    });
    if (found != groups.end()) found->pairs.push_back(&pair);
    else groups.push_back({rules, {&pair}});
  }
  return groups;
}

/// How many outputs of the device a backend computes, and a hash of all it computes; nothing where it cannot run a layer, or once more than
/// `most_differing` differ.
struct BackendRun {
  std::int64_t agreeing = 0;
  std::uint64_t outputs = 1;
};
std::optional<BackendRun> run_on(const Group& group, const Backend& backend, std::int64_t most_differing) {
  BackendRun result;
  std::int64_t differing = 0;
  for (const IdentifyPair* pair : group.pairs) {
    if (!check(pair->layer, backend).empty()) return std::nullopt;
    const Trace trace = run(pair->layer, backend, pair->inputs);
    const Tensor& output = *trace.tensors[static_cast<std::size_t>(pair->layer.outputs[0])];
    for (std::int64_t i = 0; i < output.element_count(); ++i) {
      const std::int64_t value = output.integer_at(i);
      result.outputs = mixed(result.outputs, value);
      (value == pair->output.integer_at(i) ? result.agreeing : differing) += 1;
    }
    if (differing > most_differing) return std::nullopt;
  }
  return result;
}

/// What a backend computes the group's layers by, where rules of their types are kept.
Backend rules_in(const Group& group, const Backend& backend) {
  const Model& layer = group.pairs.front()->layer;
  Backend rules;
  if (is_conv_group(group)) {
    copy_rules(rules, backend_of(*arithmetic_in(layer, backend)), group.rules);
  } else {
    for (const std::string& path : read_rules(layer, backend)) copy_rules(rules, backend, path);
  }
  return rules;
}

/// Names the built-in backends of every class, and lets the first one stand for it.
void add_builtins(const Group& group, std::vector<RuleClass>& classes, const std::vector<std::uint64_t>& outputs, std::int64_t values) {
  const std::int64_t most_differing = values - classes.back().agreeing;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain != Domain::integer) continue;
    const auto computed = run_on(group, sheet.backend, most_differing);
    if (!computed) continue;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      RuleClass& one = classes[i];
      if (one.agreeing != computed->agreeing || outputs[i] != computed->outputs) continue;
      one.backends.push_back(sheet.name);
      if (!one.represented_by.empty()) continue;
      one.represented_by = sheet.name;
      one.backend = rules_in(group, sheet.backend);
    }
  }
}

std::vector<RuleValues> values_of_class(const ConvSpace& space, const std::vector<Block>& blocks) {
  RuleTally tally;
  Indices sums, rescales;
  for (const Block& block : blocks) {
    sums.insert(sums.end(), block.sums.begin(), block.sums.end());
    rescales.insert(rescales.end(), block.rescales.begin(), block.rescales.end());
  }
  for (Indices* list : {&sums, &rescales}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  for (const auto i : sums) tally.add(coordinates_of(space.sums[i]));
  for (const auto i : rescales) tally.add(coordinates_of(space.rescales[i]));
  return tally.take();
}

/// Fills in how many values each rule has in the whole space, and leaves out those with a single one.
void add_possible(std::vector<RuleValues>& rules, const std::vector<RuleValues>& whole) {
  for (RuleValues& each : rules) {
    const auto found = std::find_if(whole.begin(), whole.end(), [&](const RuleValues& one) { return one.rule == each.rule; });
    each.possible = found->values.size();
  }
  std::erase_if(rules, [](const RuleValues& each) { return each.possible < 2; });
}

/// The most usual combination: the one with the first way to sum, and of those the first chain.
ConvArithmetic most_usual(const ConvSpace& space, const std::vector<Block>& blocks, bool multiplies_rows) {
  const auto first = std::min_element(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
    return std::pair(a.sums.front(), a.rescales.front()) < std::pair(b.sums.front(), b.rescales.front());
  });
  ConvArithmetic arithmetic = arithmetic_of(space.sums[first->sums.front()], space.rescales[first->rescales.front()]);
  if (multiplies_rows) arithmetic.row_multiplier = RowMultiplier::of_terms;
  return arithmetic;
}

SpaceScope common_scope(const Group& group) {
  SpaceScope scope = scope_of(*group.pairs.front());
  for (const IdentifyPair* pair : group.pairs) {
    const SpaceScope own = scope_of(*pair);
    scope.per_channel = scope.per_channel || own.per_channel;
    scope.wide_data = scope.wide_data || own.wide_data;
    scope.clips = scope.clips || own.clips;
    scope.rectifies = scope.rectifies || own.rectifies;
  }
  return scope;
}

bool multiplies_rows(const IdentifyPair& pair) {
  const auto& inputs = pair.layer.operations[0].inputs;
  return inputs.size() > multiplier_input && inputs[multiplier_input] != absent_tensor;
}

OperationIdentification identify_conv(const Group& group, const IdentifyOptions& options, const std::function<void(double)>& progress) {
  std::vector<ConvData> data;
  for (const IdentifyPair* pair : group.pairs) data.emplace_back(*pair);
  const ConvSpace space = conv_space(common_scope(group));
  const std::vector<Block> all{everything(space)};
  const ConvSearchResult found = ConvSearch(space, data).search(all, options.runners_up + 1, progress);
  OperationIdentification result{.rules = group.rules, .classes = {}};
  result.pairs = static_cast<std::int64_t>(group.pairs.size());
  result.values = found.values;
  result.combinations = count_of(all);
  result.sums = found.distinct_sums;
  result.sum_bits = found.sum_bits;
  if (found.classes.empty()) throw Error(ErrorCode::bad_input, group.rules, "no combination of rules applies to these layers");
  const std::vector<RuleValues> whole = values_of_class(space, all);
  std::vector<std::uint64_t> outputs;
  const bool rows = std::any_of(group.pairs.begin(), group.pairs.end(), [](const auto* pair) { return multiplies_rows(*pair); });
  for (const ConvClass& one : found.classes) {
    outputs.push_back(one.outputs);
    RuleClass shown{one.agreeing, count_of(one.blocks), values_of_class(space, one.blocks), {}, {}, {}};
    add_possible(shown.rules, whole);
    copy_rules(shown.backend, backend_of(most_usual(space, one.blocks, rows)), group.rules);
    result.classes.push_back(std::move(shown));
  }
  add_builtins(group, result.classes, outputs, result.values);
  return result;
}

/// A layer with what a dump holds of it.
IdentifyPair pair_in(const NamedTrace& dump, Model layer, const Operation& operation) {
  IdentifyPair pair{operation.name, std::move(layer), {}, {}};
  for (const std::int32_t index : pair.layer.inputs) {
    const NamedTensor* const input = dump.find(pair.layer.tensor(index).name);
    if (input != nullptr) pair.inputs.push_back(input->values);
  }
  if (const NamedTensor* const output = dump.find(operation.outputs[0])) pair.output = output->values;
  return pair;
}

/// Of a batch, a few samples are enough.
constexpr std::int64_t most_samples = 2;
std::int64_t samples_in(const IdentifyPair& pair) {
  const std::int64_t own = pair.layer.tensor(pair.layer.outputs[0]).shape.element_count();
  return std::clamp<std::int64_t>(pair.output.element_count() / own, 1, most_samples);
}

Tensor sample_of(const Tensor& batch, const ModelTensor& info, std::int64_t sample) {
  const std::int64_t size = info.shape.element_count();
  if (batch.element_count() < (sample + 1) * size || batch.element_count() == size) return batch;
  Tensor one(batch.type(), info.shape);
  visit_element_type(batch.type(), [&]<class T>() {
    const auto from = batch.values<T>().subspan(static_cast<std::size_t>(sample * size), static_cast<std::size_t>(size));
    std::copy(from.begin(), from.end(), one.values<T>().begin());
  });
  return one;
}

IdentifyPair sample_of(const IdentifyPair& batch, std::int64_t sample) {
  IdentifyPair one{batch.name, batch.layer, {}, sample_of(batch.output, batch.layer.tensor(batch.layer.outputs[0]), sample)};
  for (std::size_t i = 0; i < batch.inputs.size(); ++i)
    one.inputs.push_back(sample_of(batch.inputs[i], batch.layer.tensor(batch.layer.inputs[i]), sample));
  return one;
}

}  // namespace

bool Identification::exact() const {
  return std::all_of(operations.begin(), operations.end(), [](const OperationIdentification& one) { return one.exact(); });
}

Identification identify(std::span<const IdentifyPair> pairs, const IdentifyOptions& options) {
  Identification result;
  const std::vector<Group> groups = grouped(pairs, result.skipped);
  if (groups.empty()) {
    throw Error(ErrorCode::bad_input, "identify",
                result.skipped.empty() ? "no pair of input and output was given" : "no pair can be used: " + result.skipped.front().reason);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto progress = [&, i](double share) {
      if (options.progress) options.progress((static_cast<double>(i) + share) / static_cast<double>(groups.size()));
    };
    if (is_conv_group(groups[i])) {
      result.operations.push_back(identify_conv(groups[i], options, progress));
    } else {
      RulesFound found = search_rules(groups[i].rules, groups[i].pairs, options.runners_up + 1, progress);
      add_builtins(groups[i], found.result.classes, found.outputs, found.result.values);
      result.operations.push_back(std::move(found.result));
    }
  }
  return result;
}

std::vector<IdentifyPair> pairs_of(const Model& model, const NamedTrace& dump, std::vector<SkippedPair>* skipped) {
  std::vector<IdentifyPair> pairs;
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Operation& operation = model.operations[i];
    if (!is_covered(operation.kind)) continue;
    const IdentifyPair whole = pair_in(dump, extract_operation(model, i), operation);
    if (whole.inputs.size() != whole.layer.inputs.size() || whole.output.element_count() == 0) {
      if (skipped != nullptr) skipped->push_back({operation.name, "the dump lacks its input or output"});
      continue;
    }
    for (std::int64_t sample = 0; sample < samples_in(whole); ++sample) pairs.push_back(sample_of(whole, sample));
  }
  return pairs;
}

}  // namespace lastbit
