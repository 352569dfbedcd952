// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/rule_search.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <type_traits>

#include "analysis/identify/conv_search.hpp"
#include "analysis/identify/known_rules.hpp"
#include "analysis/identify/rule_tally.hpp"
#include "analysis/try_run.hpp"
#include "engine/operands.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "model/operation_signature.hpp"
#include "model/whole_numbers.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

/// Devices that are tried, fewer where layers are large; those whose neighbours are tried in vain before the walk ends.
constexpr std::int64_t most_tried = 8000, fewest_tried = 2000, most_values = 200'000'000;
constexpr int patience = 40;
/// Devices whose outputs are all looked at, for the classes behind the best one.
constexpr std::size_t ranked = 64;

/// Where a walk begins: what a built-in backend reads for the layers, and nothing else of it.
struct Seed {
  Backend backend = no_rules;
  std::vector<std::string> paths;
};

std::vector<Seed> seeds_for(const std::vector<const IdentifyPair*>& pairs) {
  std::vector<Seed> seeds;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain != Domain::integer) continue;
    Seed seed;
    for (const IdentifyPair* pair : pairs) {
      for (const std::string& path : read_rules(pair->layer, sheet.backend)) {
        if (std::ranges::find(seed.paths, path) != seed.paths.end()) continue;
        seed.paths.push_back(path);
        copy_rules(seed.backend, sheet.backend, path);
      }
    }
    const bool is_known = std::ranges::any_of(seeds, [&](const Seed& one) { return one.backend == seed.backend; });
    if (!is_known && seed.backend != no_rules) seeds.push_back(std::move(seed));
  }
  return seeds;
}

/// One step of a walk: a rule takes another of its values, or a structure becomes one that is known from elsewhere.
struct Step {
  std::string path, value;
  std::size_t known = 0;             ///< of a structure: its number among the known ones of its type
  std::optional<RuleValue> other{};  ///< the rule that its stage reads then, and that nobody states
};

void take(const Step& step, Backend& backend) {
  if (!step.value.empty()) {
    replace_rule(backend, step.path, step.value);
    if (step.other) replace_rule(backend, step.other->path, step.other->value);
  } else if (auto* const rescale = structure_at<RescaleRule>(backend, step.path)) {
    const Ratio by = rescale->by;
    *rescale = known_rules<RescaleRule>()[step.known];
    rescale->by = by;  // what the layer brings stays
  } else if (auto* const accumulator = structure_at<AccumulatorRule>(backend, step.path)) {
    *accumulator = known_rules<AccumulatorRule>()[step.known];
  }
}

template <class T>
void add_swaps(const std::string& path, std::vector<Step>& steps) {
  for (std::size_t i = 0; i < known_rules<T>().size(); ++i) steps.push_back({path, "", i, {}});
}

bool is_below(const std::vector<std::string>& paths, const std::string& rule) {
  return std::ranges::any_of(paths, [&](const std::string& path) { return covers(path, rule); });
}

/// Every rule below `paths` with every other value, those among them that it does not take.
std::vector<Step> value_steps(const Backend& backend, const std::vector<std::string>& paths) {
  std::vector<Step> steps;
  for (const RuleText& rule : list_rules(backend)) {
    if (!is_below(paths, rule.path) || rule.path.ends_with("chain.size")) continue;
    for (const std::string& value : values_beside(backend, rule.path)) {
      if (value == rule.value) continue;
      steps.push_back({rule.path, value, 0, completion(backend, rule.path, value)});
    }
  }
  return steps;
}

/// Every way of rescaling and of summing below `paths`, in place of which another may stand.
std::vector<Step> structure_steps(const Backend& backend, const std::vector<std::string>& paths) {
  std::vector<Step> steps;
  const auto add_all = [&]<class T>(std::type_identity<T>) {
    for (const Rule* rule : rules_of<T>()) {
      if (is_below(paths, rule->path) && is_present(*rule->type, address(backend, *rule))) add_swaps<T>(rule->path, steps);
    }
  };
  add_all(std::type_identity<RescaleRule>{});
  add_all(std::type_identity<AccumulatorRule>{});
  return steps;
}

/// Tells devices apart: of every rule below the paths that the backend reads, which one it is, and its value.
std::uint64_t key_of(const Backend& backend, const std::vector<std::string>& paths) {
  std::set<const Rule*> above;
  for (const std::string& path : paths)
    if (const Rule* const rule = find_rule(backend, path)) above.insert(rule);
  const Rule* const table = rule_table().data();
  std::uint64_t key = 1;
  const Rule* next = table;  // behind what has been read: one path may lie below another
  for (const Rule* const top : above) {
    if (top < next) continue;
    for (const Rule& rule : ReachedRules(backend, Reach::read, *top)) {
      const void* const value = address(backend, rule);
      const bool is_text = rule.type->kind == RuleType::Kind::text;
      const auto number =
          is_text ? static_cast<std::int64_t>(std::hash<std::string>()(rule.type->to_text(value)) >> 1U) : rule.type->load(value);
      key = mixed(mixed(key, &rule - table), number);
    }
    next = table + top->end;
  }
  return key;
}

/// A device on the walk: a seed, and the steps taken from it.
struct WalkedDevice {
  std::size_t seed = 0;
  std::vector<Step> steps;
  std::int64_t differing = 0;
  std::uint64_t outputs = 1;
};

Backend built_from(const Seed& seed, const std::vector<Step>& steps) {
  Backend backend = seed.backend;
  for (const Step& step : steps) take(step, backend);
  return backend;
}

class Walk {
 public:
  explicit Walk(const std::vector<const IdentifyPair*>& pairs) : pairs_(pairs), seeds_(seeds_for(pairs)) {
    for (const IdentifyPair* pair : pairs) expected_.push_back(comparables_of(pair->output)), values_ += pair->output.element_count();
  }

  /// The seeds, those beside them, and then on from the nearest device so far.
  void go(const std::function<void(double)>& progress, const Deadline& deadline = {}) {
    deadline_ = deadline;
    const std::int64_t most = std::clamp(most_values / std::max<std::int64_t>(1, values_), fewest_tried, most_tried);
    for (std::size_t i = 0; i < seeds_.size(); ++i) try_device({i, {}});
    for (std::size_t i = 0; i < seeds_.size() && in_time_; ++i) try_beside(i);
    const std::int64_t beside_seeds = tried_;
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (int in_vain = 0;
         !nearest_.empty() && tried_ < std::max(most, beside_seeds + fewest_tried) && in_time_ && (in_vain < patience || best == 0);
         ++in_vain) {
      const WalkedDevice device = devices_[nearest_.top().second];
      nearest_.pop();
      if (device.differing < best) best = device.differing, in_vain = 0;
      if (best == 0 && device.differing > 0) {
        is_closed_ = true;  // nothing beside the class is in it
        break;
      }
      const Backend backend = built(device);
      try_steps(device, value_steps(backend, seeds_[device.seed].paths));
      try_steps(device, structure_steps(backend, seeds_[device.seed].paths));
      if (progress) progress(static_cast<double>(tried_) / static_cast<double>(most));
    }
    std::ranges::stable_sort(devices_, {}, &WalkedDevice::differing);
  }

  [[nodiscard]] const std::vector<WalkedDevice>& devices() const { return devices_; }
  [[nodiscard]] std::int64_t values() const { return values_; }
  [[nodiscard]] std::int64_t tried() const { return tried_; }
  /// It did not end for lack of time.
  [[nodiscard]] bool is_in_time() const { return in_time_; }
  /// Of the devices that explain the data all that lie beside one of them were tried, and one lies beside a seed.
  [[nodiscard]] bool is_closed() const {
    const auto is_beside = [](const WalkedDevice& device) {
      return device.differing == 0 && (device.steps.empty() || (device.steps.size() == 1 && !device.steps[0].value.empty()));
    };
    return in_time_ && is_closed_ && std::ranges::any_of(devices_, is_beside);
  }
  [[nodiscard]] Backend built(const WalkedDevice& device) const { return built_from(seeds_[device.seed], device.steps); }
  [[nodiscard]] const std::vector<Seed>& seeds() const { return seeds_; }
  [[nodiscard]] std::vector<Coordinate> coordinates(const WalkedDevice& device) const {
    std::vector<Coordinate> list;
    for (const RuleText& rule : list_rules(built(device))) {
      const auto holds = [&](const std::string& path) { return covers(path, rule.path); };
      if (std::ranges::any_of(seeds_[device.seed].paths, holds)) list.push_back({rule.path, rule.value});
    }
    return list;
  }

 private:
  using Place = std::pair<std::int64_t, std::size_t>;  ///< how many values differ, and which device

  /// How many values differ, and a hash of them; nothing where the device cannot run the layers.
  using Outcome = std::optional<std::pair<std::int64_t, std::uint64_t>>;

  /// Nothing where time is up as well.
  Outcome try_step(const WalkedDevice& from, Step step) {
    if (deadline_.passed()) in_time_ = false;
    if (!in_time_) return std::nullopt;
    WalkedDevice next{from.seed, from.steps};
    next.steps.push_back(std::move(step));
    return try_device(std::move(next));
  }

  void try_steps(const WalkedDevice& from, std::vector<Step> steps) {
    for (Step& step : steps) try_step(from, std::move(step));
  }

  /// All devices with one rule of a seed changed. Of numbers those that devices have, and what lies between two of them that differ.
  void try_beside(std::size_t seed) {
    const Backend& backend = seeds_[seed].backend;
    const WalkedDevice from{seed, {}};
    std::map<std::string, std::map<std::int64_t, Outcome>> numbers;
    const auto whole = [](const std::string& text) -> std::optional<std::int64_t> {
      const bool is_number = !text.empty() && text.find_first_not_of("-0123456789") == std::string::npos;
      return is_number ? std::optional(std::stoll(text)) : std::nullopt;
    };
    for (const Step& step : value_steps(backend, seeds_[seed].paths)) {
      const Outcome outcome = try_step(from, step);
      if (const auto number = whole(step.value)) numbers[step.path].emplace(*number, outcome);
    }
    for (const auto& [path, tried] : numbers) {
      for (const std::string& value : every_value_beside(backend, path)) {
        const auto above = tried.upper_bound(*whole(value));
        if (above == tried.begin() || above == tried.end()) continue;
        const auto below = std::prev(above);
        if (below->first != *whole(value) && below->second != above->second) try_step(from, {path, value, 0, {}});
      }
    }
  }

  /// Runs the layers on it, unless it is known, does not fit together or cannot run them.
  Outcome try_device(WalkedDevice device) {
    Backend backend = no_rules;
    try {
      backend = built(device);
      check_widths(backend, seeds_[device.seed].backend);
    } catch (const Error&) {
      return std::nullopt;
    }
    const auto [known, is_new] = known_.try_emplace(key_of(backend, seeds_[device.seed].paths));
    if (!is_new) return known->second;
    ++tried_;
    const bool is_kept = judge(backend, device);
    known->second = {device.differing, device.outputs};
    if (!is_kept) return known->second;
    ranks_.insert(device.differing);
    if (ranks_.size() > ranked) ranks_.erase(std::prev(ranks_.end()));
    nearest_.push({device.differing, devices_.size()});
    devices_.push_back(std::move(device));
    return known->second;
  }

  /// False where the device cannot run a layer, or is farther off than those that are ranked.
  bool judge(const Backend& backend, WalkedDevice& device) const {
    const std::int64_t most = ranks_.size() < ranked ? std::numeric_limits<std::int64_t>::max() : *ranks_.rbegin();
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const IdentifyPair& pair = *pairs_[p];
      const auto trace = try_run(pair.layer, backend, pair.inputs);
      if (!trace) return false;
      const Tensor& output = *trace->tensors[static_cast<std::size_t>(pair.layer.outputs[0])];
      for (std::size_t i = 0; i < expected_[p].size(); ++i) {
        const std::int64_t value = comparable_at(output, static_cast<std::int64_t>(i));
        device.outputs = mixed(device.outputs, value);
        device.differing += value != expected_[p][i] ? 1 : 0;
      }
      if (device.differing > most) return false;
    }
    return true;
  }

  const std::vector<const IdentifyPair*>& pairs_;
  std::vector<Seed> seeds_;
  std::vector<std::vector<std::int64_t>> expected_;
  std::int64_t values_ = 0, tried_ = 0;
  Deadline deadline_;
  bool in_time_ = true, is_closed_ = false;
  std::vector<WalkedDevice> devices_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> nearest_;
  std::multiset<std::int64_t> ranks_;
  std::map<std::uint64_t, Outcome> known_;
};

/// Devices with the same outputs, as a class: the rules of the first of them, with the values that they take in all of them. `possible` holds
/// the values of all devices that were tried.
RuleClass class_of(const Walk& walk, const std::vector<const WalkedDevice*>& members, const std::vector<RuleValues>& possible) {
  RuleTally tally;
  for (const WalkedDevice* device : members) tally.add(walk.coordinates(*device));
  RuleClass shown{walk.values() - members[0]->differing, static_cast<std::int64_t>(members.size()), tally.take(), {}, {}};
  for (RuleValues& each : shown.rules) {
    const auto at = std::ranges::find(possible, each.rule, &RuleValues::rule);
    each.possible = at->values.size();
  }
  const std::vector<Coordinate> own = walk.coordinates(*members[0]);
  std::erase_if(shown.rules, [&](const RuleValues& each) {
    return each.possible < 2 || std::ranges::find(own, each.rule, &Coordinate::rule) == own.end();
  });
  shown.backend = walk.built(*members[0]);
  return shown;
}

/// The devices with the outputs of this one.
DeviceList left_of(const Walk& walk, const WalkedDevice& like) {
  std::vector<WalkedDevice> alike;
  for (const WalkedDevice& device : walk.devices())
    if (device.differing == like.differing && device.outputs == like.outputs) alike.push_back(device);
  const std::size_t count = alike.size();
  return {count, [seeds = walk.seeds(), alike = std::move(alike)](std::size_t number) {
            return built_from(seeds[alike[number].seed], alike[number].steps);
          }};
}

bool is_fused(OperationKind kind) {
  return kind == OperationKind::fused_conv2d || kind == OperationKind::pwl || kind == OperationKind::sum_pool2d;
}

/// What every device that has it computes alike, or none has for integers.
bool has_one_meaning(OperationKind kind) {
  using enum OperationKind;
  return is_movement(kind) || kind == max_pool2d || kind == cast || kind == maximum || kind == minimum || kind == reduce_max ||
         kind == reduce_min || kind == OperationKind::div || kind == neg || kind == OperationKind::log || kind == OperationKind::sqrt ||
         kind == rsqrt || kind == elu || kind == OperationKind::floor || kind == round_half_even || kind == OperationKind::truncate ||
         kind == floor_div || kind == log_softmax || kind == cumsum;
}

/// A single output, or codes with their scales, and rules with more than one value to look for.
bool reads_rules(OperationKind kind) {
  return !has_one_meaning(kind) && (signature_of(kind).most_outputs == 1 || kind == OperationKind::block_quantize);
}

/// The first tensor that the search does not compare or cannot go by; codes in blocks come of floats and become floats.
std::string no_integer_of(const IdentifyPair& pair, const Operation& operation) {
  if (is_of_blocks(operation.kind)) return {};
  for (const std::int32_t index : operation.inputs) {
    if (index != absent_tensor && !is_integer(pair.layer.tensor(index).type))
      return "'" + pair.layer.tensor(index).name + "' is not an integer";
  }
  return is_integer(pair.output.type()) ? "" : "its output is not an integer";
}

}  // namespace

bool is_covered(OperationKind kind) { return is_conv_layer(kind) || reads_rules(kind); }

std::string reason_to_skip(const IdentifyPair& pair) {
  if (pair.layer.operations.size() != 1) return "not a layer of one operation";
  const Operation& operation = pair.layer.operations[0];
  if (is_on_whole_numbers(pair.layer, operation)) return "whole numbers are computed alike by all";
  if (!is_covered(operation.kind)) return "the space has no rules for " + std::string(name_of(operation.kind));
  if (std::string why = no_integer_of(pair, operation); !why.empty()) return why;
  if (pair.output.element_count() != pair.layer.tensor(operation.outputs[0]).shape.element_count())
    return "the output has " + std::to_string(pair.output.element_count()) + " values; the layer's is " +
           pair.layer.tensor(operation.outputs[0]).shape.text();
  if (!is_conv_layer(operation.kind)) return {};
  if (!bounds_of(operation).segments.empty()) return "it ends in segments that the layer states; the space has no such chains";
  try {
    static_cast<void>(ConvData(pair));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::vector<std::string> read_rules(const Model& layer, const Backend& backend) {
  std::vector<std::string> rules = rule_prefixes(layer, layer.operations[0], backend);
  if (!is_fused(layer.operations[0].kind)) return rules;
  for (const char* path : {"fused_conv", "sum_pool", "pwl"}) rules.emplace_back(path);
  return rules;
}

RulesFound search_rules(const std::string& rules, const std::vector<const IdentifyPair*>& pairs, std::size_t most_classes,
                        const std::function<void(double)>& progress, const Deadline& deadline) {
  Walk walk(pairs);
  walk.go(progress, deadline);
  if (walk.devices().empty() && !walk.is_in_time()) return {};
  if (walk.devices().empty()) throw Error(ErrorCode::bad_input, pairs.front()->name, "no combination of rules applies to these layers");
  RuleTally whole;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<const WalkedDevice*>> classes;
  for (const WalkedDevice& device : walk.devices()) {
    whole.add(walk.coordinates(device));
    classes[{device.differing, device.outputs}].push_back(&device);
  }
  const std::vector<RuleValues> possible = whole.take();
  RulesFound found;
  found.result.rules = rules;
  found.result.values = walk.values();
  found.result.combinations = walk.tried();
  found.result.in_time = walk.is_in_time();
  found.result.complete = walk.is_closed();
  for (const auto& [key, members] : classes) {
    if (found.result.classes.size() == most_classes) break;
    found.outputs.push_back(key.second);
    found.result.classes.push_back(class_of(walk, members, possible));
  }
  found.left = left_of(walk, *classes.begin()->second.front());
  return found;
}

DevicesLeft devices_left(const std::vector<const IdentifyPair*>& pairs, std::size_t most) {
  Walk walk(pairs);
  walk.go({});
  DevicesLeft found{walk.devices().empty() ? DeviceList{} : left_of(walk, walk.devices().front()), {}};
  const std::size_t step = std::max<std::size_t>(1, (found.all.count + most - 1) / most);
  for (std::size_t i = 0; i < found.all.count; i += step) found.some.push_back(found.all.at(i));
  return found;
}

}  // namespace lastbit
