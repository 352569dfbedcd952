// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/class_proof.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/identify/bounded_layer.hpp"
#include "analysis/identify/idle_widths.hpp"
#include "engine/made_by_parts.hpp"

namespace lastbit {
namespace {

/// Ways to sum that make the same of the sums of every layer.
struct SumClass {
  std::vector<Narrowed> by_layer;
  std::string open;
};

/// A chain behind one class of sums, with the ways to sum of it.
struct Candidate {
  std::size_t sums = 0;
  std::uint32_t rescale = 0;
  Indices ways{};
};
using Part = std::vector<const Candidate*>;
using Candidates = std::span<const Candidate* const>;

void append(Part& part, const Part& more) { part.insert(part.end(), more.begin(), more.end()); }

/// Candidates by what they make of some sums.
using ByOutputs = std::map<std::vector<std::int64_t>, Part>;

/// What a candidate does to the sums of a column, as far as it can be told without computing any.
struct OnSums {
  Chain chain;  ///< less its idle widths
  EncodedScale scale;
  int bits = 0;
  Overflow overflow = Overflow::exact;
  std::int64_t shift = 0;
  friend bool operator==(const OnSums&, const OnSums&) = default;
};
struct HashOfOnSums {
  std::size_t operator()(const OnSums& on) const { return mixed(mixed(mixed(hash_of(on.chain), on.scale.multiplier), on.bits), on.shift); }
};

/// Candidates that are alike on a column, by the first of them, which is looked at for all.
class Alike {
 public:
  void add(const OnSums& on, const Candidate* candidate) {
    const auto [at, fresh] = first_.try_emplace(on, candidate);
    if (fresh) firsts_.push_back(candidate);
    members_[at->second].push_back(candidate);
  }
  void add_alone(const Candidate* candidate) {
    firsts_.push_back(candidate);
    members_[candidate].push_back(candidate);
  }

  [[nodiscard]] const Part& firsts() const { return firsts_; }
  /// In the order of the candidates.
  [[nodiscard]] Part all_of(const Part& firsts) const {
    Part all;
    for (const Candidate* const first : firsts) append(all, members_.at(first));
    std::ranges::sort(all);
    return all;
  }

 private:
  Part firsts_;
  std::unordered_map<OnSums, const Candidate*, HashOfOnSums> first_;
  std::unordered_map<const Candidate*, Part> members_;
};

/// Candidates told from one of them, or not, over a whole column.
struct Told {
  Part same, open;  ///< open: they turn round too often
  ByOutputs others;
  std::vector<TellingSum> telling;
};

void append(ByOutputs& all, const ByOutputs& more) {
  for (const auto& [outputs, members] : more) append(all[outputs], members);
}

void append(Told& all, const Told& more) {
  append(all.same, more.same);
  append(all.open, more.open);
  append(all.others, more.others);
  all.telling.insert(all.telling.end(), more.telling.begin(), more.telling.end());
}

class Parter {
 public:
  Parter(const ConvSpace& space, const std::vector<Block>& blocks, std::span<const IdentifyPair* const> layers, const Deadline& deadline,
         std::int64_t most_outputs)
      : space_(space), deadline_(deadline), most_outputs_(most_outputs) {
    for (const IdentifyPair* const pair : layers) layers_.emplace_back(space, *pair);
    for (const BoundedLayer& layer : layers_)
      if (!layer.open().empty()) found_.why_open = layer.open();
    if (!found_.why_open.empty()) found_.open = count_of(blocks);
    else collect(blocks);
  }

  [[nodiscard]] PartedClass run() {
    std::vector<Part> parts(1);
    for (const Candidate& candidate : candidates_) parts[0].push_back(&candidate);
    if (parts[0].empty()) parts.clear();
    for (std::size_t l = 0; l < layers_.size() && !parts.empty(); ++l) {
      for (const Column& column : columns_of(l)) {
        std::vector<Part> next;
        for (Part& part : parts) split(column, std::move(part), next);
        parts = std::move(next);
      }
    }
    for (const Part& part : parts) found_.parts.push_back(blocks_of(part));
    return std::move(found_);
  }

 private:
  void collect(const std::vector<Block>& blocks) {
    std::map<std::vector<Narrowed>, std::size_t> known;
    std::vector<std::size_t> class_of(space_.sums.size(), unknown);
    std::map<std::pair<std::size_t, std::uint32_t>, Indices> ways;
    for (const Block& block : blocks) {
      for (const std::uint32_t sum : block.sums) {
        if (class_of[sum] == unknown) {
          std::vector<Narrowed> by_layer;
          for (const BoundedLayer& layer : layers_) by_layer.push_back(layer.narrowed(space_.sums[sum]));
          const auto open = std::ranges::find_if(by_layer, [](const Narrowed& one) { return !one.open.empty(); });
          const std::string why = open == by_layer.end() ? "" : open->open;
          const auto [at, fresh] = known.try_emplace(by_layer, sums_.size());
          if (fresh) sums_.push_back({std::move(by_layer), why});
          class_of[sum] = at->second;
        }
        if (const std::string& why = sums_[class_of[sum]].open; !why.empty()) {
          leave_open(std::ssize(block.rescales), why);
          continue;
        }
        for (const std::uint32_t rescale : block.rescales) ways[{class_of[sum], rescale}].push_back(sum);
      }
    }
    for (auto& [key, sums] : ways) candidates_.push_back({key.first, key.second, std::move(sums)});
  }

  void leave_open(std::int64_t combinations, const std::string& why) {
    found_.open += combinations;
    std::int64_t& of_this = open_by_reason_[why];
    of_this += combinations;
    if (found_.why_open.empty() || of_this > open_by_reason_[found_.why_open]) found_.why_open = why;
  }
  void leave_open(const Part& part, const std::string& why) {
    for (const Candidate* const each : part) leave_open(std::ssize(each->ways), why);
  }

  /// Every channel; of a layer with one scale, where no bias is moved, all channels at once.
  [[nodiscard]] std::vector<Column> columns_of(std::size_t layer) const {
    const std::vector<IntegerRange>& sums = layers_[layer].sums();
    const bool moves = std::ranges::any_of(sums_, [&](const SumClass& each) { return !each.by_layer[layer].shift.empty(); });
    std::vector<Column> columns;
    for (std::size_t c = 0; c < sums.size(); ++c) {
      IntegerRange* const first = columns.empty() ? nullptr : &columns.front().sums;
      // Neighbouring or overlapping intervals make one.
      const bool joins =
          first != nullptr && layers_[layer].has_one_scale() && !moves && sums[c].min <= first->max + 1 && first->min <= sums[c].max + 1;
      if (joins) *first = {std::min(first->min, sums[c].min), std::max(first->max, sums[c].max)};
      else columns.push_back({layer, static_cast<std::int64_t>(c), sums[c]});
    }
    return columns;
  }

  [[nodiscard]] std::optional<OnColumn> on(const Column& column, const Candidate& candidate) const {
    const auto operands = layers_[column.layer].operands(candidate.rescale, column.channel);
    if (!operands) return std::nullopt;
    return OnColumn(space_.rescales[candidate.rescale].chain, *operands, sums_[candidate.sums].by_layer[column.layer], column);
  }

  [[nodiscard]] std::optional<OnSums> on_sums(const Column& column, const Candidate& candidate) const {
    const auto operands = layers_[column.layer].operands(candidate.rescale, column.channel);
    if (!operands) return std::nullopt;
    const Chain& chain = space_.rescales[candidate.rescale].chain;
    const Narrowed& narrowed = sums_[candidate.sums].by_layer[column.layer];
    const std::int64_t shift = narrowed.shift_of(column.channel);
    const FinisherInput accumulators = accumulators_of(column.sums, narrowed.bits, shift);
    const StageBits acting = acting_widths(chain, *operands, {accumulators.smallest, accumulators.largest});
    EncodedScale scale = operands->scale;
    if (!reads_real_scale(chain)) scale.real_f32 = 0, scale.real_f64 = 0;
    return OnSums{without_idle_widths(chain, acting), scale, narrowed.bits, narrowed.overflow, shift};
  }

  [[nodiscard]] Alike alike_on(const Column& column, const Part& part) const {
    const auto make = [&](Candidates some) {
      std::vector<std::optional<OnSums>> own;
      for (const Candidate* const each : some) own.push_back(on_sums(column, *each));
      return own;
    };
    Alike alike;
    auto candidate = part.begin();
    for (const auto& own : made_by_parts(Candidates(part), units_per_part(400), make)) {
      for (const std::optional<OnSums>& on : own) {
        if (on) alike.add(*on, *candidate);
        else alike.add_alone(*candidate);
        ++candidate;
      }
    }
    return alike;
  }

  /// Where all wrap alike, all that there is between two wraps, if the column holds it: it comes again and again.
  [[nodiscard]] Column narrower(const Column& column, const Part& group) const {
    const auto of = [&](const Candidate* each) -> const Narrowed& { return sums_[each->sums].by_layer[column.layer]; };
    const Narrowed& first = of(group.front());
    if (first.overflow != Overflow::wrap || !std::ranges::all_of(group, [&](const Candidate* each) { return of(each) == first; }))
      return column;
    const std::int64_t half = std::int64_t{1} << (first.bits - 1), shift = first.shift_of(column.channel);
    const IntegerRange once{-half - shift, half - 1 - shift};
    return column.sums.min <= once.min && column.sums.max >= once.max ? Column{column.layer, column.channel, once} : column;
  }

  /// Into those that are the same on the whole column. The first is listed as a staircase; another is the same where it has the same outputs on both sides
  /// of each step, and at the ends of all its pieces, on each of which it never turns round.
  void split(const Column& whole, Part part, std::vector<Part>& parts) {
    if (part.size() == 1) {
      parts.push_back(std::move(part));
      return;
    }
    const Alike alike = alike_on(whole, part);
    computed_ += static_cast<std::int64_t>(part.size() * outputs_to_tell_alike);
    std::vector<Part> left{alike.firsts()};
    while (!left.empty()) {
      Part group = std::move(left.back());
      left.pop_back();
      if (group.size() == 1) {
        parts.push_back(alike.all_of(group));
        continue;
      }
      if (deadline_.passed() || computed_ >= most_outputs_) {  // what is in other groups differs from it all the same
        leave_open(alike.all_of({group.begin() + 1, group.end()}), deadline_.passed() ? "time was up" : "more outputs than are computed");
        group.resize(1);
        parts.push_back(alike.all_of(group));
        continue;
      }
      const Column column = narrower(whole, group);
      const auto first = on(column, *group.front());
      const auto edges = first ? first->edges() : std::nullopt;
      if (first) computed_ += static_cast<std::int64_t>((edges ? edges->size() : OnColumn::most_edges) * outputs_to_find_an_edge);
      if (!edges) {
        leave_open(alike.all_of({group.front()}), "a way behind the sums has too many steps to be listed");
        group.erase(group.begin());
        if (!group.empty()) left.push_back(std::move(group));
        continue;
      }
      computed_ += static_cast<std::int64_t>(group.size() * std::min(edges->size(), some_edges));
      if (edges->size() > some_edges && part_on_some(column, group, *first, *edges, left)) continue;
      computed_ += static_cast<std::int64_t>(group.size() * edges->size());
      Told told = told_from(*first, column, group, *edges);
      leave_open(alike.all_of(told.open), "a way behind the sums turns round too often");
      note(told.telling);
      if (!told.same.empty()) parts.push_back(alike.all_of(told.same));
      for (auto& [outputs, members] : told.others) left.push_back(std::move(members));
    }
  }

  /// A few of very many edges tell most candidates apart; whether they do.
  bool part_on_some(const Column& column, const Part& group, const OnColumn& first, const std::vector<std::int64_t>& edges,
                    std::vector<Part>& left) {
    std::vector<std::int64_t> some;
    for (std::size_t i = 0; i < some_edges; ++i) some.push_back(edges[i * edges.size() / some_edges]);
    ByOutputs by_outputs;
    const auto make = [&](Candidates part) {
      ByOutputs own;
      for (const Candidate* const each : part) {
        const auto one = on(column, *each);
        own[one ? one->outputs(some) : std::vector<std::int64_t>{}].push_back(each);
      }
      return own;
    };
    for (const ByOutputs& own : made_by_parts(Candidates(group), candidates_per_part(some_edges), make)) append(by_outputs, own);
    if (by_outputs.size() == 1) return false;
    const std::vector<std::int64_t> expected = first.outputs(some);
    for (auto& [outputs, members] : by_outputs) {
      if (!outputs.empty() && outputs != expected) note({telling(column, *group.front(), *members.front(), some, expected, outputs)});
      left.push_back(std::move(members));
    }
    return true;
  }

  /// By all edges, and the ends of all pieces.
  [[nodiscard]] Told told_from(const OnColumn& first, const Column& column, const Part& group,
                               const std::vector<std::int64_t>& edges) const {
    const std::vector<std::int64_t> expected = first.outputs(edges);
    Told all;
    const auto make = [&](Candidates part) {
      Told own;
      for (const Candidate* const each : part) tell(*each, first, *group.front(), column, edges, expected, own);
      return own;
    };
    for (const Told& own : made_by_parts(Candidates(group), candidates_per_part(edges.size()), make)) append(all, own);
    return all;
  }
  void tell(const Candidate& candidate, const OnColumn& first, const Candidate& whose, const Column& column,
            const std::vector<std::int64_t>& edges, const std::vector<std::int64_t>& expected, Told& told) const {
    const auto other = on(column, candidate);
    const auto pieces = other ? other->pieces() : std::nullopt;
    if (!pieces) {
      told.open.push_back(&candidate);
      return;
    }
    std::vector<std::int64_t> outputs = other->outputs(edges);
    if (outputs != expected) {
      told.telling.push_back(telling(column, whose, candidate, edges, expected, outputs));
      told.others[std::move(outputs)].push_back(&candidate);
      return;
    }
    std::vector<std::int64_t> ends;
    if (pieces->size() > 1)
      for (const IntegerRange& piece : *pieces) ends.insert(ends.end(), {piece.min, piece.max});
    const std::vector<std::int64_t> at_ends = other->outputs(ends), expected_at_ends = first.outputs(ends);
    if (at_ends == expected_at_ends) {
      told.same.push_back(&candidate);
      return;
    }
    told.telling.push_back(telling(column, whose, candidate, ends, expected_at_ends, at_ends));
    outputs.insert(outputs.end(), at_ends.begin(), at_ends.end());
    told.others[std::move(outputs)].push_back(&candidate);
  }

  [[nodiscard]] TellingSum telling(const Column& column, const Candidate& a, const Candidate& b, std::span<const std::int64_t> sums,
                                   std::span<const std::int64_t> of_a, std::span<const std::int64_t> of_b) const {
    const auto at = static_cast<std::size_t>(std::ranges::mismatch(of_a, of_b).in1 - of_a.begin());
    return {column.layer,
            column.channel,
            sums[at],
            of_a[at],
            of_b[at],
            {a.ways.front(), a.rescale},
            {b.ways.front(), b.rescale},
            layers_[column.layer].has_one_scale()};
  }

  void note(const std::vector<TellingSum>& more) {
    const std::size_t room = PartedClass::most_telling - found_.telling.size();
    found_.telling.insert(found_.telling.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(std::min(room, more.size())));
  }

  [[nodiscard]] static std::int64_t candidates_per_part(std::size_t outputs) {
    constexpr double to_prepare = 5'000, an_output = 2;  // nanoseconds
    return units_per_part(to_prepare + an_output * static_cast<double>(outputs));
  }

  [[nodiscard]] static std::vector<Block> blocks_of(const Part& part) {
    std::map<Indices, Indices> by_ways;
    for (const Candidate* const each : part) by_ways[each->ways].push_back(each->rescale);
    std::vector<Block> blocks;
    for (auto& [ways, rescales] : by_ways) blocks.push_back({ways, std::move(rescales)});
    return blocks;
  }

  static constexpr std::size_t unknown = SIZE_MAX, some_edges = 256, outputs_to_find_an_edge = 16, outputs_to_tell_alike = 200;

  const ConvSpace& space_;
  const Deadline& deadline_;
  std::int64_t most_outputs_;
  std::vector<BoundedLayer> layers_;
  std::vector<SumClass> sums_;
  std::vector<Candidate> candidates_;
  std::map<std::string, std::int64_t> open_by_reason_;
  std::int64_t computed_ = 0;  ///< outputs
  PartedClass found_;
};

}  // namespace

PartedClass parted(const ConvSpace& space, const std::vector<Block>& blocks, std::span<const IdentifyPair* const> layers,
                   const Deadline& deadline, std::int64_t most_outputs) {
  return Parter(space, blocks, layers, deadline, most_outputs).run();
}

std::string rules_apart(const ConvSpace& space, const Combination& a, const Combination& b) {
  std::string text;
  const auto add = [&](const std::vector<Coordinate>& of_a, const std::vector<Coordinate>& of_b) {
    for (const Coordinate& one : of_a) {
      const auto other = std::ranges::find(of_b, one.rule, &Coordinate::rule);
      if (other == of_b.end() || other->value == one.value) continue;
      text += (text.empty() ? "" : "; ") + one.rule + " " + one.value + " against " + other->value;
    }
  };
  add(coordinates_of(space.sums[a.sum]), coordinates_of(space.sums[b.sum]));
  add(coordinates_of(space.rescales[a.rescale]), coordinates_of(space.rescales[b.rescale]));
  return text;
}

}  // namespace lastbit
