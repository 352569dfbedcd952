// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/identify.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "analysis/identify/class_proof.hpp"
#include "analysis/identify/conv_search.hpp"
#include "analysis/identify/neighbours.hpp"
#include "analysis/identify/rule_search.hpp"
#include "analysis/identify/rule_tally.hpp"
#include "analysis/identify/samples.hpp"
#include "analysis/identify/walk_proof.hpp"
#include "analysis/try_run.hpp"
#include "engine/parallel.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/recording.hpp"
#include "lastbit/registry.hpp"
#include "sheet/assumed_rules.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

constexpr const char* out_of_time = "time was up before any combination that applies was met";

/// What layers rest on, one list for each.
using LayersAssume = std::vector<std::vector<BackendAssumption>>;

void add_assumptions(LayersAssume& layers, const IdentifyPair& pair, const SpecSheet& sheet, const AssumedRules& rules,
                     const std::function<bool(const Assumption&)>& is_left_out) {
  layers.emplace_back();
  for (const Assumption& one : rules.read_by(pair.layer, pair.layer.operations[0], sheet.backend))
    if (!is_left_out(one)) layers.back().push_back({sheet.name, one});
}

/// Pairs whose operations read the same rules.
struct Group {
  std::string rules;
  std::vector<const IdentifyPair*> pairs;
};

/// What of a group combinations are judged by.
struct Searched {
  const Group& group;
  const std::deque<FewValues>& few;
};

bool is_conv_group(const Group& group) { return is_conv_layer(group.pairs.front()->layer.operations[0].kind); }

/// uint8 and int8 data are taken together, and so are sums and outputs of one type apart.
std::string rules_text(const IdentifyPair& pair) {
  const Operation& operation = pair.layer.operations[0];
  ConvArithmetic present;
  present.sum.output.chain = {stage::clamp()};
  Backend backend = backend_of(present);
  const bool sums = !is_conv_layer(operation.kind) || scope_of(pair).sums_only;
  if (!sums) {  // devices that rescale go by the bias, those that deliver sums by the weights
    for (ConvByType* types : {&backend.conv, &backend.depthwise_conv, &backend.transposed_conv, &backend.fully_connected})
      types->i8_weights16 = types->i16_weights8 = {};
  }
  return rule_prefix(pair.layer, operation, backend);
}

/// Why the pair's rules are not looked for; empty: they are.
std::string reason_to_skip_all(const IdentifyPair& pair) {
  const std::int64_t samples = samples_of(pair);
  return reason_to_skip(samples > 1 ? sample_of(pair, 0) : pair);
}

/// A layer that is not looked for, against the built-in backends.
SkippedPair judged_by_builtins(const IdentifyPair& pair, const std::string& reason, Backend& others, LayersAssume& assumed) {
  SkippedPair skipped{pair.name, reason};
  const bool is_layer = pair.layer.operations.size() == 1 && samples_of(pair) > 0;
  if (!is_layer) return skipped;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain != Domain::integer) continue;
    const Judgement judgement = judge(pair, sheet.backend);
    if (!judgement.possible || (skipped.values > 0 && judgement.differing >= skipped.differing)) continue;
    skipped.values = pair.output.element_count();
    for (const Tensor& output : pair.further) skipped.values += output.element_count();
    skipped.differing = judgement.differing;
    if (judgement.differing > 0) continue;
    for (const std::string& path : read_rules(pair.layer, sheet.backend)) copy_rules(others, sheet.backend, path);
    add_assumptions(assumed, pair, sheet, AssumedRules(sheet), [](const Assumption&) { return false; });
    break;
  }
  return skipped;
}

std::vector<Group> grouped(std::span<const IdentifyPair> pairs, Identification& result, LayersAssume& assumed) {
  std::vector<Group> groups;
  for (const IdentifyPair& pair : pairs) {
    if (const std::string why = reason_to_skip_all(pair); !why.empty()) {
      result.skipped.push_back(judged_by_builtins(pair, why, result.others, assumed));
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
std::optional<BackendRun> run_on(const std::deque<FewValues>& few, const Backend& backend, std::int64_t most_differing) {
  BackendRun result;
  std::int64_t differing = 0;
  for (const auto& [pair, outputs] : few) {
    const auto trace = try_run(pair.layer, backend, pair.inputs);
    if (!trace) return std::nullopt;
    const Tensor& output = *trace->tensors[static_cast<std::size_t>(pair.layer.outputs[0])];
    for (const std::int64_t i : outputs) {
      const std::int64_t value = comparable_at(output, i);
      result.outputs = mixed(result.outputs, value);
      (value == comparable_at(pair.output, i) ? result.agreeing : differing) += 1;
    }
    if (differing > most_differing) return std::nullopt;
  }
  return result;
}

/// What a backend computes the group's layers by, where rules of their types are kept.
Backend rules_in(const Group& group, const Backend& backend) {
  const Model& layer = group.pairs.front()->layer;
  Backend rules = no_rules;
  if (is_conv_group(group)) {
    copy_rules(rules, backend_of(*arithmetic_in(layer, backend)), group.rules);
  } else {
    for (const std::string& path : read_rules(layer, backend)) copy_rules(rules, backend, path);
  }
  return rules;
}

/// Names the built-in backends of every class, and lets the first one stand for it.
void add_builtins(const Searched& searched, std::vector<RuleClass>& classes, const std::vector<std::uint64_t>& outputs,
                  std::int64_t values) {
  const std::int64_t most_differing = values - classes.back().agreeing;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain != Domain::integer) continue;
    const auto computed = run_on(searched.few, sheet.backend, most_differing);
    if (!computed) continue;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      RuleClass& one = classes[i];
      if (one.agreeing != computed->agreeing || outputs[i] != computed->outputs) continue;
      one.backends.push_back(sheet.name);
      if (!one.represented_by.empty()) continue;
      one.represented_by = sheet.name;
      one.backend = rules_in(searched.group, sheet.backend);
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
    scope.sums_codes = scope.sums_codes || own.sums_codes;
    scope.clips = scope.clips || own.clips;
    scope.rectifies = scope.rectifies || own.rectifies;
    scope.multiplies = scope.multiplies || own.multiplies;
    scope.converts = scope.converts || own.converts;
  }
  return scope;
}

bool multiplies_rows(const IdentifyPair& pair) {
  const auto& inputs = pair.layer.operations[0].inputs;
  return inputs.size() > multiplier_input && inputs[multiplier_input] != absent_tensor;
}

/// Their layers, each once whatever it was given.
std::vector<const IdentifyPair*> layers_of(const std::vector<const IdentifyPair*>& pairs) {
  std::vector<const IdentifyPair*> layers;
  std::set<std::string> known;
  for (const IdentifyPair* const pair : pairs)
    if (known.insert(model_checksum(pair->layer)).second) layers.push_back(pair);
  return layers;
}

/// As pairs of one sample.
std::vector<const IdentifyPair*> pairs_of(const std::deque<FewValues>& few) {
  std::vector<const IdentifyPair*> pairs;
  for (const FewValues& each : few) pairs.push_back(&each.pair);
  return pairs;
}

/// What a search has found, and how what its best class is can be proven, once there is nothing more to look for.
struct Found {
  OperationIdentification result;
  std::function<ClassProof()> prove{};
};

ClassProof proof_of(const ConvSpace& space, const std::vector<Block>& blocks, const std::vector<const IdentifyPair*>& layers,
                    const IdentifyOptions& options, const Deadline& deadline) {
  const PartedClass parts = parted(space, blocks, layers, deadline, options.most_proof_outputs);
  ClassProof proof{"every accumulator", std::ssize(parts.parts), parts.open, parts.why_open, {}};
  if (parts.telling.empty()) return proof;
  const TellingSum& one = parts.telling.front();
  proof.example = "'" + layer_name(layers[one.layer]->layer, 0) + "', " +
                  (one.any_channel ? "any channel" : "channel " + std::to_string(one.channel)) + ", accumulator " +
                  std::to_string(one.sum) + ": " + std::to_string(one.a) + " against " + std::to_string(one.b) + " (" +
                  rules_apart(space, one.first, one.second) + ")";
  return proof;
}

ClassProof proof_of(const DeviceList& devices, const std::vector<const IdentifyPair*>& layers, const IdentifyOptions& options,
                    const Deadline& deadline) {
  const PartedDevices parts = parted(devices, layers, deadline, options.most_proof_outputs / executor_cost);
  ClassProof proof{parts.over, std::ssize(parts.parts), parts.open, parts.why_open, {}};
  if (parts.telling.empty()) return proof;
  const TellingCase& one = parts.telling.front();
  proof.example = "'" + layer_name(layers[one.layer]->layer, 0) + "', " + example_of(one, parts, devices);
  return proof;
}

/// Nothing where time was up before any combination that applies was met.
std::optional<Found> identify_conv(const Searched& searched, const IdentifyOptions& options, const Deadline& deadline) {
  const Group& group = searched.group;
  std::vector<ConvData> data;
  for (const auto& [pair, outputs] : searched.few) data.emplace_back(pair, outputs);
  const SpaceScope scope = common_scope(group);
  ConvSpace space = conv_space(scope);
  const std::vector<ConvNeighbour> neighbours = explaining_neighbours(group.pairs.front()->layer, scope, data, deadline);
  // Where a built-in device explains the data, and the space a device like it, those beside it are added to its class: nothing else is searched for them.
  bool is_known = !neighbours.empty() && neighbours.front().is_built_in;
  const auto searched_in = [&] {
    if (!is_known) extend(space, neighbours, scope);
    return ConvSearch(space, data).search({everything(space)}, options.runners_up + 1, options.progress, deadline);
  };
  ConvSearchResult found = searched_in();
  if (is_known && !found.classes.empty() && found.classes.front().agreeing < found.values) {
    is_known = false;
    found = searched_in();
  }
  const std::vector<Block> all{everything(space)};
  OperationIdentification result{.rules = group.rules, .classes = {}};
  result.values = found.values;
  result.combinations = count_of(all);
  result.sums = found.distinct_sums;
  result.sum_bits = found.sum_bits;
  result.in_time = found.in_time;
  result.complete = found.in_time && !neighbours.empty();
  if (found.classes.empty() && !found.in_time) return std::nullopt;
  if (found.classes.empty()) throw Error(ErrorCode::bad_input, group.rules, "no combination of rules applies to these layers");
  ConvSpace with_neighbours = space;
  std::vector<Block> added;
  if (is_known) added = extend(with_neighbours, neighbours, scope);
  result.combinations += count_of(added);
  const auto with_added = [&](std::vector<Block> blocks) {
    blocks.insert(blocks.end(), added.begin(), added.end());
    return blocks;
  };
  const std::vector<RuleValues> whole = values_of_class(with_neighbours, with_added(all));
  std::vector<std::uint64_t> outputs;
  const bool rows = std::any_of(group.pairs.begin(), group.pairs.end(), [](const auto* pair) { return multiplies_rows(*pair); });
  for (const ConvClass& one : found.classes) {
    outputs.push_back(one.outputs);
    const bool is_beside = one.agreeing == result.values && !neighbours.empty();
    const std::vector<Block> blocks = is_beside ? with_added(one.blocks) : one.blocks;
    RuleClass shown{one.agreeing, count_of(blocks), values_of_class(with_neighbours, blocks), {}, {}};
    add_possible(shown.rules, whole);
    copy_rules(shown.backend, backend_of(is_beside ? neighbours.front().arithmetic : most_usual(space, one.blocks, rows)), group.rules);
    if (is_beside) std::ranges::transform(neighbours, std::back_inserter(shown.beside), &ConvNeighbour::name);
    result.classes.push_back(std::move(shown));
  }
  add_builtins(searched, result.classes, outputs, result.values);
  const bool is_whole = found.classes.front().agreeing == result.values;
  return Found{
      std::move(result),
      [space = std::move(with_neighbours), blocks = is_whole ? with_added(found.classes.front().blocks) : found.classes.front().blocks,
       layers = layers_of(pairs_of(searched.few)), &options, &deadline] { return proof_of(space, blocks, layers, options, deadline); }};
}

std::optional<Found> identify_by_walk(const Searched& searched, const IdentifyOptions& options, const Deadline& deadline) {
  RulesFound found = search_rules(searched.group.rules, pairs_of(searched.few), options.runners_up + 1, options.progress, deadline);
  if (found.result.classes.empty()) return std::nullopt;
  add_builtins(searched, found.result.classes, found.outputs, found.result.values);
  return Found{std::move(found.result), [left = std::move(found.left), layers = layers_of(searched.group.pairs), &options, &deadline] {
                 return proof_of(left, layers, options, deadline);
               }};
}

/// Of each pair what a backend makes of it.
std::vector<Judgement> judged(const std::vector<const IdentifyPair*>& pairs, const Backend& backend) {
  std::vector<Judgement> judgements(pairs.size());
  for_each_part(std::ssize(pairs), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) judgements[i] = judge(*pairs[i], backend);
  });
  return judgements;
}

/// The best class on every sample. Returns what it fails, the smallest layers first.
std::vector<std::pair<const IdentifyPair*, Judgement>> verify(const Group& group, OperationIdentification& found) {
  std::vector<std::pair<const IdentifyPair*, Judgement>> failed;
  found.searched = found.values;
  found.values = found.agreeing = found.samples = 0;
  found.pairs = static_cast<std::int64_t>(group.pairs.size());
  std::vector<Judgement> judgements = judged(group.pairs, found.best().backend);
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    const IdentifyPair* const pair = group.pairs[i];
    Judgement& judgement = judgements[i];
    found.samples = std::max(found.samples, samples_of(*pair));
    found.values += pair->output.element_count();
    if (judgement.possible) found.agreeing += pair->output.element_count() - judgement.differing;
    if (!judgement.is_equal()) failed.emplace_back(pair, std::move(judgement));
  }
  std::ranges::stable_sort(failed, {}, [](const auto& each) { return each.first->output.element_count(); });
  return failed;
}

/// Of the built-in backends named for the best class those that compute every sample.
void verify_builtins(const Group& group, OperationIdentification& found) {
  if (!found.exact()) return;
  std::erase_if(found.classes.front().backends, [&](const std::string& name) {
    const Backend backend = find_backend(name).backend;
    return std::ranges::any_of(group.pairs, [&](const IdentifyPair* pair) { return !judge(*pair, backend).is_equal(); });
  });
}

/// Searches on a few values, and again with those that what was found does not explain. What a walk has to run as a whole joins layer by layer.
std::optional<OperationIdentification> identify_group(const Group& group, const IdentifyOptions& options, const Deadline& deadline) {
  constexpr int most_rounds = 12;
  const bool is_conv = is_conv_group(group);
  FewSamples few(group.pairs, is_conv ? FewBy::some_outputs : FewBy::some_layers);
  for (int round = 1;; ++round) {
    const Searched searched{group, few.all()};
    auto outcome = is_conv ? identify_conv(searched, options, deadline) : identify_by_walk(searched, options, deadline);
    if (!outcome) return std::nullopt;
    OperationIdentification& found = outcome->result;
    const bool explains = found.best().agreeing == found.values;
    bool is_new = false;
    for (const auto& [pair, judgement] : verify(group, found)) {
      if (is_new && !is_conv) break;
      is_new = few.add(*pair, judgement) || is_new;
    }
    if (explains && is_new && round < most_rounds && !deadline.passed()) continue;
    verify_builtins(group, found);
    if (found.exact() && found.in_time) found.classes.front().proof = outcome->prove();
    return std::move(found);
  }
}

}  // namespace

bool Identification::exact() const {
  return std::ranges::all_of(operations, [](const OperationIdentification& one) { return one.exact(); }) &&
         std::ranges::all_of(skipped, [](const SkippedPair& one) { return one.differing == 0 && one.reason != out_of_time; });
}

bool Identification::decided() const {
  return std::ranges::all_of(operations, [](const OperationIdentification& one) { return one.exact() || one.in_time; }) &&
         std::ranges::none_of(skipped, [](const SkippedPair& one) { return one.reason == out_of_time; });
}

namespace {

/// Of the built-in backend that stands for the best class, but for rules that the data tell of every device near one.
void add_assumptions(LayersAssume& layers, const Group& group, const OperationIdentification& found) {
  const RuleClass& best = found.best();
  if (!found.exact() || best.represented_by.empty()) return;
  const SpecSheet& sheet = find_backend(best.represented_by);
  const AssumedRules rules(sheet);
  const auto is_told = [&](const Assumption& one) {
    return found.complete && std::ranges::any_of(best.rules, [&](const RuleValues& rule) {
             return rule.settled() && path_of(found.rules, rule.rule) == one.rule;
           });
  };
  for (const IdentifyPair* const pair : group.pairs) add_assumptions(layers, *pair, sheet, rules, is_told);
}

Identification identified(std::span<const IdentifyPair> pairs, const IdentifyOptions& options) {
  Identification result;
  LayersAssume assumed;
  const std::vector<Group> groups = grouped(pairs, result, assumed);
  if (groups.empty()) {
    throw Error(ErrorCode::bad_input, "identify",
                result.skipped.empty() ? "no pair of input and output was given" : "no pair can be used: " + result.skipped.front().reason);
  }
  const Deadline deadline(options.most_seconds);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    IdentifyOptions of_group = options;
    of_group.progress = [&, i](double share) {
      if (options.progress) options.progress((static_cast<double>(i) + share) / static_cast<double>(groups.size()));
    };
    auto found = identify_group(groups[i], of_group, deadline.part_of(groups.size() - i));
    if (found) {
      add_assumptions(assumed, groups[i], *found);
      result.operations.push_back(std::move(*found));
      continue;
    }
    for (const IdentifyPair* pair : groups[i].pairs) result.skipped.push_back({pair->name, out_of_time});
  }
  result.assumptions = shared_assumptions(assumed);
  return result;
}

}  // namespace

Identification identify(std::span<const IdentifyPair> pairs, const IdentifyOptions& options) {
  Identification found;
  with_threads(options.threads, [&] { found = identified(pairs, options); });
  return found;
}

}  // namespace lastbit
