// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/conv_search.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <unordered_map>

#include "analysis/identify/alike_chains.hpp"
#include "analysis/identify/telling_order.hpp"
#include "engine/finisher.hpp"
#include "engine/made_by_parts.hpp"
#include "engine/operands.hpp"

namespace lastbit {
namespace {

/// A combination under judgement: a way to sum, which stands for all that give the same sums, and a chain.
struct Judged {
  std::uint32_t group = 0, rescale = 0;
  std::int64_t differing = 0;
  std::uint64_t outputs = 0;
};

/// Ways to sum that agree on some values, with their sums.
struct SumGroup {
  Indices sums;
  std::vector<std::int64_t> values;
};

std::uint64_t hash_of(std::span<const std::int64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{1}, mixed);
}

using Share = std::function<void(double)>;

/// The outputs that are judged, by their places among them.
std::vector<Value> in_telling_order(std::span<const ConvData> data) {
  std::vector<std::span<const std::int64_t>> lists;
  for (const ConvData& each : data) lists.emplace_back(each.expected);
  return telling_order(lists);
}

/// One level of the search: some of the values.
class Level {
 public:
  Level(const ConvSpace& space, std::span<const ConvData> data, std::span<const Value> values)
      : space_(space), data_(data), values_(values) {
    std::size_t count = 0;
    for (const ConvData& each : data) count += each.expected.size();
    for (const auto& [d, index] : values) {
      const auto at = static_cast<std::size_t>(index);
      wanted_.push_back({d, data[d].channel(data[d].outputs[at]), data[d].expected[at]});
    }
    in_rows_ = std::ranges::all_of(data, &ConvData::is_whole) && values.size() == count && count >= rows_pay * data.size() &&
               std::is_sorted(values.begin(), values.end(),
                              [](const Value& a, const Value& b) { return a.data != b.data ? a.data < b.data : a.index < b.index; });
  }

  /// Of the sums that are formed until the deadline, the first one in any case.
  [[nodiscard]] std::vector<SumGroup> groups(const Indices& sums, const Deadline& deadline = {}) const {
    std::vector<SumGroup> list;
    std::unordered_map<std::uint64_t, std::size_t> known;
    for (const std::uint32_t sum : sums) {
      if (!list.empty() && deadline.passed()) break;
      std::vector<std::int64_t> values = values_by(space_.sums[sum]);
      const std::uint64_t key = mixed(hash_of(values), static_cast<std::int64_t>(space_.sums[sum].per_channel));
      const auto [at, fresh] = known.try_emplace(key, list.size());
      if (fresh) list.push_back({{}, std::move(values)});
      list[at->second].sums.push_back(sum);
    }
    return list;
  }

  /// The same for all values of all layers, in order: row by row, as the emulator finishes them.
  [[nodiscard]] std::int64_t differing_in_rows(const SumGroup& group, std::uint32_t rescale, std::int64_t limit,
                                               std::uint64_t& outputs) const {
    const RescaleRule& rule = space_.rescales[rescale];
    const SumRules& sums = space_.sums[group.sums.front()];
    std::int64_t count = 0;
    std::uint64_t hash = 1;
    std::size_t first = 0;
    for (const ConvData& data : data_) {
      const ConvVariant& variant = data.variant(sums.per_channel);
      const std::vector<EncodedScale>* const scales = variant.scales().encoded(rule.scale, space_.encodings[rescale]);
      if (scales == nullptr) return -1;
      const std::size_t size = data.expected.size();
      const auto begin = group.values.begin() + static_cast<std::ptrdiff_t>(first);
      std::vector<std::int64_t> values(begin, begin + static_cast<std::ptrdiff_t>(size));
      const auto [least, most] = std::ranges::minmax_element(values);
      Finisher(rule.chain, variant.scales().all(*scales), FinisherInput{*least, *most})(values);
      for (std::size_t i = 0; i < size; ++i) {
        hash = mixed(hash, values[i]);
        count += values[i] != data.expected[i] ? 1 : 0;
      }
      if (count > limit) break;
      first += size;
    }
    outputs = hash;
    return count;
  }

  /// Lists of chains that make the same of the values of a group; each alone where finding out would take longer than judging it.
  [[nodiscard]] std::vector<Indices> alike(const AlikeChains& alike, const SumGroup& group, const Indices& rescales) const {
    if (values_.size() < alike_pay) {
      std::vector<Indices> lists;
      for (const std::uint32_t rescale : rescales) lists.push_back({rescale});
      return lists;
    }
    std::vector<IntegerRange> sums(data_.size(), {0, 0});
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      IntegerRange& range = sums[wanted_[i].data];
      range = {std::min(range.min, group.values[i]), std::max(range.max, group.values[i])};
    }
    return alike.lists(rescales, space_.sums[group.sums.front()].per_channel, sums);
  }

  [[nodiscard]] std::int64_t lists_per_part() const {
    constexpr double a_value = 50;  // nanoseconds; most combinations are given up on the first few
    return units_per_part(a_value * static_cast<double>(std::min<std::size_t>(values_.size(), 4)));
  }

  /// How many values differ, counted up to `limit`; -1: the device of this rule has no such scale.
  [[nodiscard]] std::int64_t differing(const SumGroup& group, std::uint32_t rescale, std::int64_t limit, std::uint64_t& outputs) const {
    const RescaleRule& rule = space_.rescales[rescale];
    if (in_rows_ && applies_scale(rule.chain)) return differing_in_rows(group, rescale, limit, outputs);
    const PerChannelLowering lowering = space_.sums[group.sums.front()].per_channel;
    const bool scaled = applies_scale(rule.chain);
    std::int64_t count = 0;
    std::uint64_t hash = 1;
    std::uint32_t current = std::numeric_limits<std::uint32_t>::max();
    const std::vector<EncodedScale>* scales = nullptr;
    const ChannelScales* layer = nullptr;
    RescaleOperands operands;
    for (std::size_t i = 0; i < wanted_.size() && count <= limit; ++i) {
      const Wanted& wanted = wanted_[i];
      if (wanted.data != current) {
        current = wanted.data;
        layer = &data_[current].variant(lowering).scales();
        scales = scaled ? layer->encoded(rule.scale, space_.encodings[rescale]) : nullptr;
        if (scaled && scales == nullptr) return -1;
        if (scaled) operands = layer->operands(wanted.channel, *scales);
      }
      std::int64_t output = group.values[i];
      if (scaled) {
        layer->move_to(wanted.channel, *scales, operands);
        output = finish(rule.chain, output, operands);
      }
      hash = mixed(hash, output);
      count += output != wanted.output ? 1 : 0;
    }
    outputs = hash;
    return count;
  }

 private:
  [[nodiscard]] std::vector<std::int64_t> values_by(const SumRules& rules) const {
    std::vector<std::int64_t> sums;
    sums.reserve(values_.size());
    for (const auto& [d, index] : values_)
      sums.push_back(data_[d].variant(rules.per_channel).sum(rules, data_[d].outputs[static_cast<std::size_t>(index)]));
    return sums;
  }

  static constexpr std::size_t rows_pay = 200;   ///< values of a layer
  static constexpr std::size_t alike_pay = 500;  ///< values in all

  const ConvSpace& space_;
  std::span<const ConvData> data_;
  std::span<const Value> values_;
  /// By value: its layer, its channel, what the device made.
  struct Wanted {
    std::uint32_t data = 0;
    std::int64_t channel = 0, output = 0;
  };
  std::vector<Wanted> wanted_;
  bool in_rows_ = false;
};

/// What has survived a level: the groups of sums, and which chains go with them.
struct Survivors {
  std::vector<SumGroup> groups;
  std::vector<Judged> judged;
  bool in_time = true;
};

/// Judges every combination of the blocks, those that it comes to until the deadline. Counting stops once a combination is clearly worse than
/// the best so far: what is kept in the end is the same, whatever came first.
class Judge {
 public:
  Judge(const Level& level, const AlikeChains& alike, std::int64_t slack, const Deadline& deadline)
      : level_(level), alike_(alike), slack_(slack), deadline_(deadline) {}

  [[nodiscard]] Survivors judge(const std::vector<Block>& blocks, const Share& progress) {
    Survivors result;
    std::size_t done = 0;
    for (const Block& block : blocks) {
      if (is_late_) break;
      if (progress) progress(static_cast<double>(done++) / static_cast<double>(blocks.size()));
      for (SumGroup& group : level_.groups(block.sums, deadline_)) {
        const auto number = static_cast<std::uint32_t>(result.groups.size());
        const std::vector<Indices> lists = level_.alike(alike_, group, block.rescales);
        const auto make = [&](std::span<const Indices> part) { return judged(group, number, part); };
        for (const std::vector<Judged>& own : made_by_parts(std::span(lists), level_.lists_per_part(), make))
          result.judged.insert(result.judged.end(), own.begin(), own.end());
        result.groups.push_back(std::move(group));
      }
      if (deadline_.passed()) is_late_ = true;
    }
    result.in_time = !is_late_;
    std::erase_if(result.judged, [&](const Judged& each) { return each.differing > limit(); });
    return result;
  }

 private:
  [[nodiscard]] std::int64_t limit() const {
    const std::int64_t best = best_;
    return best + best / 2 + slack_;
  }

  /// Of each list the first, for all of them. One at least is judged in any case.
  [[nodiscard]] std::vector<Judged> judged(const SumGroup& group, std::uint32_t number, std::span<const Indices> lists) {
    std::vector<Judged> list;
    for (const Indices& alike : lists) {
      if (best_ < none && deadline_.passed()) {
        is_late_ = true;
        break;
      }
      Judged judged{number, alike.front(), 0, 0};
      judged.differing = level_.differing(group, judged.rescale, limit(), judged.outputs);
      if (judged.differing < 0 || judged.differing > limit()) continue;
      for (std::int64_t best = best_; judged.differing < best && !best_.compare_exchange_weak(best, judged.differing);) {
      }
      for (const std::uint32_t rescale : alike) list.push_back({number, rescale, judged.differing, judged.outputs});
    }
    return list;
  }

  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max() / 4;

  const Level& level_;
  const AlikeChains& alike_;
  const std::int64_t slack_;
  const Deadline& deadline_;
  std::atomic<std::int64_t> best_ = none;  ///< how many values differ
  std::atomic<bool> is_late_ = false;
};

/// When time is up: the best few.
void keep_few(std::vector<Judged>& judged) {
  constexpr std::size_t few = 16;
  std::stable_sort(judged.begin(), judged.end(), [](const Judged& a, const Judged& b) { return a.differing < b.differing; });
  judged.resize(std::min(judged.size(), few));
}

/// Where some agree with every value: these, and up to `most` others that are next; of several with the same outputs all or none. Where none
/// does, few values are a poor judge: everything stays.
void keep_best(std::vector<Judged>& judged, std::size_t most) {
  std::stable_sort(judged.begin(), judged.end(), [](const Judged& a, const Judged& b) {
    return a.differing != b.differing ? a.differing < b.differing : a.outputs < b.outputs;
  });
  if (judged.empty() || judged[0].differing > 0) return;
  std::size_t kept = 0;
  while (kept < judged.size() && judged[kept].differing == judged[0].differing) ++kept;
  kept = std::max(kept, std::min(judged.size(), most));
  while (kept < judged.size() && judged[kept].outputs == judged[kept - 1].outputs) ++kept;
  judged.resize(kept);
}

/// Combinations as blocks: per group of sums the chains that go with it.
std::vector<Block> blocks_of(const Survivors& survivors) {
  std::map<std::uint32_t, Block> by_group;
  for (const Judged& each : survivors.judged) {
    Block& block = by_group[each.group];
    if (block.sums.empty()) block.sums = survivors.groups[each.group].sums;
    block.rescales.push_back(each.rescale);
  }
  std::vector<Block> blocks;
  for (auto& [group, block] : by_group) {
    std::sort(block.rescales.begin(), block.rescales.end());
    blocks.push_back(std::move(block));
  }
  return blocks;
}

/// The best `most` classes.
std::vector<ConvClass> classes_of(Survivors survivors, std::int64_t values, std::size_t most) {
  std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<Judged>> by_outputs;
  for (const Judged& each : survivors.judged) by_outputs[{each.differing, each.outputs}].push_back(each);
  std::vector<ConvClass> classes;
  for (auto& [key, members] : by_outputs) {
    if (classes.size() == most) break;
    survivors.judged = std::move(members);
    classes.push_back({values - key.first, key.second, blocks_of(survivors)});
  }
  return classes;
}

/// What differs nowhere.
std::vector<Block> all_equal(const Level& level, const std::vector<Block>& blocks) {
  Survivors survivors;
  for (const Block& block : blocks) {
    for (SumGroup& group : level.groups(block.sums)) {
      const auto number = static_cast<std::uint32_t>(survivors.groups.size());
      for (const std::uint32_t rescale : block.rescales) {
        Judged judged{number, rescale, 0, 0};
        if (level.differing(group, rescale, 0, judged.outputs) == 0) survivors.judged.push_back(judged);
      }
      group.values.clear();
      survivors.groups.push_back(std::move(group));
    }
  }
  return blocks_of(survivors);
}

}  // namespace

ConvSpace conv_space(const SpaceScope& scope) {
  ConvSpace space{sum_space(scope), rescale_space(scope), {}};
  std::vector<ScaleEncoding> known;
  for (const RescaleRule& rule : space.rescales) {
    auto at = std::find(known.begin(), known.end(), rule.scale);
    if (at == known.end()) at = known.insert(known.end(), rule.scale);
    space.encodings.push_back(static_cast<std::uint32_t>(at - known.begin()));
  }
  return space;
}

Block everything(const ConvSpace& space) {
  Block block{Indices(space.sums.size()), Indices(space.rescales.size())};
  std::iota(block.sums.begin(), block.sums.end(), 0U);
  std::iota(block.rescales.begin(), block.rescales.end(), 0U);
  return block;
}

std::int64_t count_of(std::span<const Block> blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0}, [](std::int64_t sum, const Block& b) { return sum + b.count(); });
}

ConvSearchResult ConvSearch::search(const std::vector<Block>& start, std::size_t most_classes, const std::function<void(double)>& progress,
                                    const Deadline& deadline) const {
  const std::vector<Value> order = in_telling_order(data_);
  const AlikeChains alike(space_, data_);
  ConvSearchResult result;
  result.values = static_cast<std::int64_t>(order.size());
  std::vector<Block> blocks = start;
  constexpr std::size_t few[] = {16, 100, 800, 6000};
  constexpr std::int64_t slack = 2;
  double done = 0;
  for (const std::size_t count : few) {
    if (count * 2 > order.size()) break;
    std::vector<Value> some(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
    // Neighbours share their layer, so that its scales are looked up once.
    std::stable_sort(some.begin(), some.end(), [](const Value& a, const Value& b) { return a.data < b.data; });
    const auto share = [&](double of_level) {
      if (progress) progress(done + 0.15 * of_level);
    };
    Survivors survivors = Judge(Level(space_, data_, some), alike, slack, deadline).judge(blocks, share);
    done += 0.15;
    result.in_time = survivors.in_time;
    if (!result.in_time) {
      keep_few(survivors.judged);
      blocks = blocks_of(survivors);
      for (Block& block : blocks) block.sums.resize(1);
      break;
    }
    keep_best(survivors.judged, 64);
    blocks = blocks_of(survivors);
  }
  std::vector<Value> all;
  for (std::uint32_t d = 0; d < data_.size(); ++d) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(data_[d].expected.size()); ++i) all.push_back({d, i});
  }
  const auto share = [&](double of_level) {
    if (progress) progress(done + (1 - done) * of_level);
  };
  // The few that are left when time is up are judged on all values.
  Survivors survivors = Judge(Level(space_, data_, all), alike, slack, result.in_time ? deadline : Deadline()).judge(blocks, share);
  result.in_time = result.in_time && survivors.in_time;
  result.distinct_sums = static_cast<std::int64_t>(survivors.groups.size());
  result.classes = classes_of(std::move(survivors), result.values, most_classes);
  for (const ConvData& data : data_) {
    for (const std::int64_t index : data.outputs) result.sum_bits = std::max(result.sum_bits, data.variants[0].bits(index));
  }
  if (progress) progress(1);
  return result;
}

std::vector<Block> ConvSearch::exact(const std::vector<Block>& start) const {
  const std::vector<Value> order = in_telling_order(data_);
  std::vector<Block> blocks = start;
  constexpr std::size_t first = 6;  // on few values few ways to sum differ, and most chains already fail
  for (const std::size_t count : {std::min(first, order.size()), order.size()}) {
    std::vector<Value> some(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
    blocks = all_equal(Level(space_, data_, some), blocks);
  }
  return blocks;
}

}  // namespace lastbit
