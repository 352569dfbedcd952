// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/walk_proof.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/identify/conv_data.hpp"
#include "analysis/try_run.hpp"
#include "engine/finisher.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

using Group = std::vector<std::size_t>;

/// Rows of a set that are computed at once.
struct RowsAtOnce {
  std::vector<std::int64_t> rows;
  ProbeLayer layer;
};

/// A few rows from all over the set tell most devices apart.
std::vector<std::int64_t> some_rows(const CaseSet& set) {
  constexpr std::int64_t most = 256, fewest = 24, most_codes = 4096;
  std::vector<std::int64_t> rows;
  const std::int64_t count = std::min(std::clamp(most_codes / set.terms, fewest, most), set.rows);
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(i * (set.rows - 1) / std::max<std::int64_t>(1, count - 1));
  return rows;
}

/// Whether the chain has them as one operand or another; layers bring the rest of it.
bool are_same(const RescaleOperands& a, const RescaleOperands& b, bool in_float) {
  const auto all = [in_float](const RescaleOperands& one) {
    return std::tuple(one.scale.multiplier, one.scale.significant_bits, one.scale.fraction_bits, one.scale.exponent,
                      in_float ? one.scale.real_f32 : 0, in_float ? one.scale.real_f64 : 0, one.zero_point, one.min, one.max, one.rectifier,
                      one.data_bits, one.output_bits, one.clip, one.storage_min, one.storage_max, one.count, one.offset, one.converter,
                      one.below_zero);
  };
  const auto brings_tables = [](const RescaleOperands& one) { return !one.pwl.empty() || !one.segments.empty(); };
  return all(a) == all(b) && !brings_tables(a) && !brings_tables(b);
}

bool are_same(const LastChain& a, const LastChain& b) {
  const Stage* const first = a.chain.stages.data();
  const bool in_float = std::any_of(first, first + a.chain.size, [](const Stage& stage) { return scale_of(stage) == ScaleUse::in_float; });
  return a.chain == b.chain && a.operands_of == b.operands_of && a.sums == b.sums &&
         std::ranges::equal(a.operands, b.operands, [in_float](const auto& x, const auto& y) { return are_same(x, y, in_float); });
}

bool are_same(const RowsBehind& a, const RowsBehind& b) {
  return a.least == b.least && a.bits == b.bits && a.overflow == b.overflow && are_same(a.last, b.last);
}

class DeviceParter {
 public:
  DeviceParter(const DeviceList& devices, std::span<const IdentifyPair* const> layers, const Deadline& deadline, std::int64_t most_outputs)
      : devices_(devices), deadline_(deadline), most_outputs_(most_outputs) {
    for (const IdentifyPair* const pair : layers) found_.cases.push_back(cases_of(pair->layer));
  }

  [[nodiscard]] PartedDevices run() {
    Group all(devices_.count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<Group> groups{std::move(all)};
    for (const LayerCases& cases : found_.cases) {
      if (cases.open.empty()) continue;
      leave_open(groups[0], cases.open);
      return std::move(found_);
    }
    for (layer_ = 0; layer_ < found_.cases.size(); ++layer_) {
      const LayerCases& cases = found_.cases[layer_];
      if (found_.over.find(cases.over) == std::string::npos) found_.over += (found_.over.empty() ? "" : " and ") + cases.over;
      for (set_ = 0; set_ < cases.sets.size(); ++set_) groups = parted_by(cases.sets[set_], std::move(groups));
    }
    std::ranges::sort(groups);
    found_.parts = std::move(groups);
    return std::move(found_);
  }

 private:
  void leave_open(const Group& devices, const std::string& why) {
    found_.open += std::ssize(devices);
    std::int64_t& of_this = open_by_reason_[why];
    of_this += std::ssize(devices);
    if (found_.why_open.empty() || of_this > open_by_reason_[found_.why_open]) found_.why_open = why;
  }

  /// Few rows first, then all, small groups first: what the budget does not reach stays open.
  [[nodiscard]] std::vector<Group> parted_by(const CaseSet& set, std::vector<Group> groups) {
    for (Group& group : groups) leave_those_that_go_by_more(set, group);
    std::erase_if(groups, [](const Group& group) { return group.empty(); });
    const std::vector<std::int64_t> some = some_rows(set);
    const RowsAtOnce few{some, set.on(some)};
    std::vector<Group> told = through(few, std::move(groups));
    if (std::ssize(some) == set.rows) return told;
    find_ways(few, told);
    std::ranges::stable_sort(told, {}, [](const Group& group) { return group.size(); });
    std::vector<Group> done;
    for (Group& group : told) {
      behind_.clear();
      Group ways = one_of_each_way(group);
      if (!is_within_budget(ways)) leave_those_by_executors(ways);
      if (!is_within_budget(ways)) leave_all_but_first(ways);
      if (ways.empty()) continue;
      std::vector<Group> parts{std::move(ways)};
      for (std::int64_t first = 0; first < set.rows && std::ranges::any_of(parts, has_several); first += rows_at_once(set))
        parts = through(rows_from(set, first), std::move(parts));
      for (Group& part : parts) done.push_back(with_those_behind(part));
    }
    rows_.clear();
    ways_.clear();
    way_of_.clear();
    return done;
  }

  /// Of the devices that have others beside them, what stands behind their sums or products: those with the same are one on this set. The executors have the last
  /// word: a chain that does not make what they did is none.
  void find_ways(const RowsAtOnce& few, const std::vector<Group>& groups) {
    for (const Group& group : groups) {
      if (!has_several(group) || deadline_.passed()) continue;
      const auto trace = try_run(few.layer.layer, devices_.at(group[0]), few.layer.inputs);
      const Tensor& output = *trace->tensors[static_cast<std::size_t>(few.layer.layer.outputs[0])];
      for (const std::size_t device : group) {
        std::optional<RowsBehind> behind = set().behind(devices_.at(device), few.rows, few.layer);
        if (!behind || !makes(behind->last, output)) continue;
        const auto is_same = [&](const RowsBehind& way) { return are_same(way, *behind); };
        const auto at = std::ranges::find_if(ways_, is_same);
        way_of_[device] = static_cast<std::size_t>(at - ways_.begin());
        if (at == ways_.end()) ways_.push_back(std::move(*behind));
      }
    }
  }

  [[nodiscard]] static bool makes(const LastChain& last, const Tensor& output) {
    for (std::size_t i = 0; i < last.sums.size(); ++i)
      if (finish(last.chain, last.sums[i], last.at(i)) != output.integer_at(static_cast<std::int64_t>(i))) return false;
    return true;
  }

  [[nodiscard]] static bool has_several(const Group& group) { return group.size() > 1; }

  void leave_those_that_go_by_more(const CaseSet& set, Group& group) {
    if (!set.adds_up()) return;
    std::erase_if(group, [&](std::size_t device) {
      const std::string why = set.goes_by_more(devices_.at(device));
      if (!why.empty()) leave_open({device}, why);
      return !why.empty();
    });
  }

  /// The others of each way are kept in `behind_`.
  [[nodiscard]] Group one_of_each_way(const Group& group) {
    Group ways;
    std::map<std::size_t, std::size_t> first_of;
    for (const std::size_t device : group) {
      const auto way = way_of_.find(device);
      if (way == way_of_.end()) {
        ways.push_back(device);
        continue;
      }
      const auto [at, fresh] = first_of.try_emplace(way->second, device);
      if (fresh) ways.push_back(device);
      else behind_[at->second].push_back(device);
    }
    return ways;
  }
  [[nodiscard]] Group with_those_behind(const Group& part) const {
    Group whole;
    for (const std::size_t device : part) {
      whole.push_back(device);
      if (const auto others = behind_.find(device); others != behind_.end())
        whole.insert(whole.end(), others->second.begin(), others->second.end());
    }
    std::ranges::sort(whole);
    return whole;
  }

  /// Of all its rows; a sum that is added up costs as many outputs as it has codes.
  [[nodiscard]] std::int64_t outputs_of(std::size_t device) const {
    if (!set().adds_up()) return set().columns;
    return way_of_.contains(device) ? 1 : set().terms;
  }
  [[nodiscard]] std::int64_t outputs_of(const Group& group) const {
    std::int64_t outputs = 0;
    for (const std::size_t device : group) outputs += outputs_of(device) * set().rows;
    return outputs;
  }

  [[nodiscard]] bool is_within_budget(const Group& group) const {
    return !has_several(group) || computed_ + outputs_of(group) <= most_outputs_;
  }
  /// A sum of many codes is dear where no chain says what becomes of it.
  void leave_those_by_executors(Group& group) {
    if (!set().adds_up()) return;
    const auto others = std::stable_partition(group.begin(), group.end(), [&](std::size_t device) { return way_of_.contains(device); });
    leave_open(Group(others, group.end()), beyond_budget);
    group.erase(others, group.end());
  }
  /// What is in other groups differs from the first one all the same.
  void leave_all_but_first(Group& group) {
    leave_open(with_those_behind(Group(group.begin() + 1, group.end())), beyond_budget);
    group.resize(1);
  }

  /// Nothing where the device refuses them.
  [[nodiscard]] std::optional<Tensor> output_on(const RowsAtOnce& rows, std::size_t device) {
    computed_ += std::ssize(rows.rows) * outputs_of(device);
    const auto number = static_cast<std::size_t>(rows.layer.layer.outputs[0]);
    const auto way = way_of_.find(device);
    if (way == way_of_.end() || !set().adds_up()) {
      auto trace = try_run(rows.layer.layer, devices_.at(device), rows.layer.inputs);
      return trace ? std::move(trace->tensors[number]) : std::nullopt;
    }
    const RowsBehind& behind = ways_[way->second];
    std::vector<std::int64_t> codes;
    for (const std::int64_t row : rows.rows) codes.push_back(finish(behind.last.chain, behind.sum(row), behind.last.at(0)));
    Tensor output(rows.layer.layer.tensors[number].type, rows.layer.layer.tensors[number].shape);
    store(codes, output);
    return output;
  }

  [[nodiscard]] static std::int64_t rows_at_once(const CaseSet& set) {
    constexpr std::int64_t most_codes = std::int64_t{1} << 18;
    return std::max<std::int64_t>(1, most_codes / set.terms);
  }

  /// Of the set that is gone through, each made once.
  [[nodiscard]] const RowsAtOnce& rows_from(const CaseSet& set, std::int64_t first) {
    const auto [at, fresh] = rows_.try_emplace(first);
    if (fresh) {
      at->second.rows.resize(static_cast<std::size_t>(std::min(rows_at_once(set), set.rows - first)));
      std::iota(at->second.rows.begin(), at->second.rows.end(), first);
      at->second.layer = set.on(at->second.rows);
    }
    return at->second;
  }

  [[nodiscard]] std::vector<Group> through(const RowsAtOnce& rows, std::vector<Group> groups) {
    std::vector<Group> next;
    for (Group& group : groups) {
      if (!has_several(group)) next.push_back(std::move(group));
      else split(rows, std::move(group), next);
    }
    return next;
  }

  void split(const RowsAtOnce& rows, Group group, std::vector<Group>& next) {
    std::map<std::vector<std::byte>, Group> by_outputs;
    std::optional<Tensor> first;
    std::size_t first_device = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (deadline_.passed()) {
        leave_open(with_those_behind(Group(group.begin() + static_cast<std::ptrdiff_t>(i), group.end())), "time was up");
        break;
      }
      const std::optional<Tensor> computed = output_on(rows, group[i]);
      if (!computed) {
        leave_open(with_those_behind({group[i]}), "a device that does not compute every one of them");
        continue;
      }
      const Tensor& output = *computed;
      if (!first) first = output, first_device = group[i];
      const auto [at, fresh] = by_outputs.try_emplace({output.bytes().begin(), output.bytes().end()});
      at->second.push_back(group[i]);
      if (fresh && by_outputs.size() > 1) note(rows, *first, first_device, output, group[i]);
    }
    for (auto& [outputs, devices] : by_outputs) next.push_back(std::move(devices));
  }

  void note(const RowsAtOnce& rows, const Tensor& a, std::size_t first, const Tensor& b, std::size_t second) {
    if (found_.telling.size() >= PartedDevices::most_telling) return;
    std::int64_t at = 0;
    while (a.integer_at(at) == b.integer_at(at)) ++at;
    const CasePlace place{set_, rows.rows[static_cast<std::size_t>(at / set().columns)], at % set().columns};
    found_.telling.push_back({layer_, place, a.integer_at(at), b.integer_at(at), first, second});
  }

  [[nodiscard]] const CaseSet& set() const { return found_.cases[layer_].sets[set_]; }

  static constexpr const char* beyond_budget = "more outputs than are computed";

  const DeviceList& devices_;
  const Deadline& deadline_;
  std::int64_t most_outputs_, computed_ = 0;
  std::size_t layer_ = 0, set_ = 0;
  std::map<std::int64_t, RowsAtOnce> rows_;  ///< of the set that is gone through
  std::vector<RowsBehind> ways_;             ///< different ones
  std::map<std::size_t, std::size_t> way_of_;
  std::map<std::size_t, Group> behind_;  ///< of the group that is gone through: devices whose way another one stands for
  std::map<std::string, std::int64_t> open_by_reason_;
  PartedDevices found_;
};

std::string rules_between(const Backend& a, const Backend& b) {
  constexpr std::size_t most = 3;
  const std::vector<RuleText> of_a = list_rules(a), of_b = list_rules(b);
  std::string text;
  std::size_t count = 0;
  for (const RuleText& rule : of_a) {
    const auto other = std::ranges::find(of_b, rule.path, &RuleText::path);
    if (other == of_b.end() || other->value == rule.value) continue;
    if (++count > most) continue;
    text += (text.empty() ? "" : "; ") + rule.path + " " + rule.value + " against " + other->value;
  }
  return count > most ? text + "; …" : text;
}

}  // namespace

DeviceList list_of(std::vector<Backend> devices) {
  const std::size_t count = devices.size();
  return {count, [devices = std::move(devices)](std::size_t number) { return devices[number]; }};
}

PartedDevices parted(const DeviceList& devices, std::span<const IdentifyPair* const> layers, const Deadline& deadline,
                     std::int64_t most_outputs) {
  return DeviceParter(devices, layers, deadline, most_outputs).run();
}

std::string example_of(const TellingCase& one, const PartedDevices& parts, const DeviceList& devices) {
  const CaseSet& set = parts.cases[one.layer].sets[one.place.set];
  const std::vector<std::int64_t> codes = set.case_at(one.place.row, one.place.column);
  std::string text;
  if (set.adds_up()) {
    text =
        std::to_string(set.terms) + " codes that add up to " + std::to_string(std::accumulate(codes.begin(), codes.end(), std::int64_t{0}));
  } else {
    text = codes.size() == 1 ? "code " : "codes ";
    for (std::size_t i = 0; i < codes.size(); ++i) text += (i == 0 ? "" : " and ") + std::to_string(codes[i]);
    if (set.columns > 1) text += " of input " + std::to_string(one.place.column + 1);
  }
  return text + ": " + std::to_string(one.a) + " against " + std::to_string(one.b) + " (" +
         rules_between(devices.at(one.first), devices.at(one.second)) + ")";
}

std::optional<ShownInput> shown_between(const Backend& a, const Backend& b, const IdentifyPair& layer) {
  const IdentifyPair* const layers[]{&layer};
  const PartedDevices two = parted(list_of({a, b}), layers);
  if (two.telling.empty()) return std::nullopt;
  ShownInput shown{layer.inputs};
  if (place_cases(two.cases[0], layer.layer, std::array{two.telling[0].place}, shown.inputs) == 0) return std::nullopt;
  const auto on_a = try_run(layer.layer, a, shown.inputs), on_b = try_run(layer.layer, b, shown.inputs);
  if (!on_a || !on_b) return std::nullopt;
  const auto output = static_cast<std::size_t>(layer.layer.outputs[0]);
  const Tensor &of_a = *on_a->tensors[output], &of_b = *on_b->tensors[output];
  for (; shown.index < of_a.element_count(); ++shown.index) {
    shown.a = of_a.integer_at(shown.index);
    shown.b = of_b.integer_at(shown.index);
    if (shown.a != shown.b) return shown;
  }
  return std::nullopt;
}

}  // namespace lastbit
