// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/class_proof.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/prove/sums.hpp"
#include "analysis/staircase/pieces.hpp"
#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "lastbit/staircase.hpp"

namespace lastbit {
namespace {

/// What a way to sum makes of a layer's exact sums.
struct Narrowed {
  std::string open{};  ///< why that is not known; empty: it is
  int bits = 0;        ///< that they are narrowed to; 0: they all fit
  Overflow overflow = Overflow::exact;
  std::vector<std::int64_t> shift{};  ///< by channel: the bias as it is stored less the bias; empty: none

  friend bool operator==(const Narrowed&, const Narrowed&) = default;
  friend bool operator<(const Narrowed& a, const Narrowed& b) {
    return std::tie(a.open, a.bits, a.overflow, a.shift) < std::tie(b.open, b.bits, b.overflow, b.shift);
  }
};

/// A layer whose sums are bounded.
class BoundedLayer {
 public:
  BoundedLayer(const ConvSpace& space, const IdentifyPair& pair) : space_(space), data_(pair) {
    const ConvLayer& layer = variant().layer();
    if (layer.delivers_sums()) open_ = "the sums themselves are delivered";
    else if (!layer.multipliers.empty()) open_ = "rows are multiplied";
    else bound(range_of(pair.layer.tensor(pair.layer.inputs[0]).type));
  }

  [[nodiscard]] const std::string& open() const { return open_; }
  [[nodiscard]] const std::vector<IntegerRange>& sums() const { return sums_; }
  [[nodiscard]] bool has_one_scale() const { return variant().scales().index(1) == 0; }

  [[nodiscard]] Narrowed narrowed(const SumRules& rules) const {
    Narrowed result;
    if (rules.per_channel != PerChannelLowering::native && data_.variants.size() > 1) result.open = "weights that are brought to one scale";
    const std::vector<std::int64_t>& given = variant().given_bias();
    for (const std::int64_t value : given) result.shift.push_back(stored_bias(value, rules.bias_bits, rules.bias_rounding) - value);
    if (std::ranges::all_of(result.shift, [](std::int64_t shift) { return shift == 0; })) result.shift.clear();
    else if (std::ssize(given) != variant().layer().shape.out_channels) result.open = "a bias of which parts are dropped";
    const std::int64_t more =
        result.shift.empty() ? 0 : std::abs(*std::ranges::max_element(result.shift, {}, [](auto x) { return std::abs(x); }));
    const AccumulatorRule& rule = rules.accumulator;
    if (has_partial_sums(rule)) result.open = "sums of several terms in an accumulator of their own";
    else if (fits_width(partial_.min - more, rule.bits) && fits_width(partial_.max + more, rule.bits)) return result;
    else if (!is_order_independent(rule)) result.open = "sums that can leave their accumulator, where the order of the additions counts";
    else if (rule.overflow != Overflow::exact) result.bits = rule.bits, result.overflow = rule.overflow;
    return result;
  }

  /// A chain with its operands on a channel; nothing where the device of this rule has no such scale.
  [[nodiscard]] std::optional<RescaleOperands> operands(std::uint32_t rescale, std::int64_t channel) const {
    const ChannelScales& scales = variant().scales();
    const std::vector<EncodedScale>* const encoded = scales.encoded(space_.rescales[rescale].scale, space_.encodings[rescale]);
    if (encoded == nullptr) return std::nullopt;
    RescaleOperands operands = scales.operands(channel);
    operands.scale = (*encoded)[scales.index(channel)];
    return operands;
  }

 private:
  [[nodiscard]] const ConvVariant& variant() const { return data_.variants[0]; }

  /// Of every sum as it is, and of all parts of it in any order.
  void bound(const IntegerRange& codes) {
    const ConvLayer& layer = variant().layer();
    std::vector<IntegerRange> inputs;
    for (const std::int64_t zero : layer.zero_points) inputs.push_back(centred(codes, zero));
    if (inputs.empty()) inputs.push_back(codes);
    const Sums sums = sums_of_layer(layer, std::move(inputs), "");
    std::vector<std::optional<IntegerRange>> found(static_cast<std::size_t>(sums.channels));
    sums.each([&](const Sum& sum) {
      Int128 low = sum.bias.lower, high = sum.bias.upper, least = std::min<Int128>(0, low), most = std::max<Int128>(0, high);
      for (const SumTerm& term : sum.terms) {
        const IntegerRange one = product(sums.range_of(term.input), {term.weight, term.weight});
        low += one.min;
        high += one.max;
        least += std::min<std::int64_t>(0, one.min);
        most += std::max<std::int64_t>(0, one.max);
      }
      auto& channel = found[static_cast<std::size_t>(sum.channel)];
      const IntegerRange range{narrow_saturate(low, 62), narrow_saturate(high, 62)};
      channel = channel ? IntegerRange{std::min(channel->min, range.min), std::max(channel->max, range.max)} : range;
      partial_ = {std::min(partial_.min, narrow_saturate(least, 62)), std::max(partial_.max, narrow_saturate(most, 62))};
    });
    for (const auto& channel : found) sums_.push_back(channel.value_or(IntegerRange{}));
  }

  const ConvSpace& space_;
  ConvData data_;
  std::string open_;
  std::vector<IntegerRange> sums_;  ///< by channel
  IntegerRange partial_{0, 0};
};

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

/// Where a candidate's accumulators of a channel lie, and its value there.
class OnColumn {
 public:
  static constexpr std::size_t most_edges = std::size_t{1} << 17;

  OnColumn(const Chain& chain, const RescaleOperands& operands, const Narrowed& narrowed, std::int64_t shift, const IntegerRange& sums)
      : chain_(chain), operands_(operands), narrowed_(narrowed), shift_(shift), sums_(sums) {}

  [[nodiscard]] std::vector<std::int64_t> outputs(std::span<const std::int64_t> sums) const {
    std::vector<std::int64_t> values(sums.begin(), sums.end());
    for (std::int64_t& value : values) value = accumulator(value);
    Finisher(chain_, {operands_}, 64)(values);
    return values;
  }

  /// Intervals of sums on which the output never turns round; nothing where they cannot be had.
  [[nodiscard]] std::optional<std::vector<IntegerRange>> pieces() const {
    std::vector<IntegerRange> all;
    const std::vector<IntegerRange> straights = straight_parts();
    if (straights.size() > most_pieces) return std::nullopt;
    for (const IntegerRange& straight : straights) {
      const IntegerRange inside{accumulator(straight.min), accumulator(straight.max)};
      if (inside.min == inside.max) {
        all.push_back(straight);
        continue;
      }
      const auto parts = monotone_pieces(chain_, operands_, inside, most_pieces);
      if (!parts || all.size() + parts->size() > most_pieces) return std::nullopt;
      for (const IntegerRange& part : *parts)
        all.push_back({straight.min + (part.min - inside.min), straight.min + (part.max - inside.min)});
    }
    return all;
  }

  /// Sums beside which the output changes, both sides of each, and the ends; nothing where they cannot be listed.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> edges() const {
    std::vector<std::int64_t> found{sums_.min, sums_.max};
    const std::vector<IntegerRange> straights = straight_parts();
    if (straights.size() > most_pieces) return std::nullopt;
    for (const IntegerRange& straight : straights) {
      found.insert(found.end(), {straight.min, straight.max});
      const IntegerRange inside{accumulator(straight.min), accumulator(straight.max)};
      if (inside.min == inside.max) continue;
      const auto stairs = staircase(chain_, operands_, inside);
      if (!stairs || found.size() + 2 * stairs->steps.size() > most_edges) return std::nullopt;
      for (std::size_t step = 1; step < stairs->steps.size(); ++step) {
        const std::int64_t first = straight.min + (stairs->steps[step].first - inside.min);
        found.insert(found.end(), {first - 1, first});
      }
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

 private:
  static constexpr std::size_t most_pieces = 4096;

  [[nodiscard]] std::int64_t accumulator(std::int64_t sum) const {
    return narrowed_.bits == 0 ? sum + shift_ : narrow(sum + shift_, narrowed_.bits, narrowed_.overflow);
  }

  /// Intervals of sums that the accumulator only moves, or makes one number of.
  [[nodiscard]] std::vector<IntegerRange> straight_parts() const {
    if (narrowed_.bits == 0) return {sums_};
    std::vector<IntegerRange> parts;
    const std::int64_t half = std::int64_t{1} << (narrowed_.bits - 1);
    for (std::int64_t first = sums_.min; first <= sums_.max && parts.size() <= most_pieces;) {
      const std::int64_t place = first + shift_;
      std::int64_t end = sums_.max + 1;  // of this part
      if (narrowed_.overflow == Overflow::wrap) end = std::min(end, first + (half - narrow_wrap(place, narrowed_.bits)));
      else if (place < -half) end = std::min(end, -half - shift_);
      else if (place < half) end = std::min(end, half - shift_);
      parts.push_back({first, end - 1});
      first = end;
    }
    return parts;
  }

  const Chain& chain_;
  RescaleOperands operands_;
  const Narrowed& narrowed_;
  std::int64_t shift_;
  IntegerRange sums_;
};

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
      for (const auto& [channel, sums] : columns_of(l)) {
        std::vector<Part> next;
        for (Part& part : parts) split(l, channel, sums, std::move(part), next);
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

  /// Channels with what their sums can be; of a layer with one scale, where no bias is moved, all channels at once.
  [[nodiscard]] std::vector<std::pair<std::int64_t, IntegerRange>> columns_of(std::size_t layer) const {
    const std::vector<IntegerRange>& sums = layers_[layer].sums();
    const bool moves = std::ranges::any_of(sums_, [&](const SumClass& each) { return !each.by_layer[layer].shift.empty(); });
    std::vector<std::pair<std::int64_t, IntegerRange>> columns;
    for (std::size_t c = 0; c < sums.size(); ++c) {
      IntegerRange* const first = columns.empty() ? nullptr : &columns.front().second;
      // Neighbouring or overlapping intervals make one.
      const bool joins =
          first != nullptr && layers_[layer].has_one_scale() && !moves && sums[c].min <= first->max + 1 && first->min <= sums[c].max + 1;
      if (joins) *first = {std::min(first->min, sums[c].min), std::max(first->max, sums[c].max)};
      else columns.emplace_back(static_cast<std::int64_t>(c), sums[c]);
    }
    return columns;
  }

  [[nodiscard]] std::optional<OnColumn> on(std::size_t layer, std::int64_t channel, const IntegerRange& sums,
                                           const Candidate& candidate) const {
    const auto operands = layers_[layer].operands(candidate.rescale, channel);
    if (!operands) return std::nullopt;
    const Narrowed& narrowed = sums_[candidate.sums].by_layer[layer];
    const std::int64_t shift = narrowed.shift.empty() ? 0 : narrowed.shift[static_cast<std::size_t>(channel)];
    return OnColumn(space_.rescales[candidate.rescale].chain, *operands, narrowed, shift, sums);
  }

  /// Where all wrap alike, all that there is between two wraps, if the column holds it: it comes again and again.
  [[nodiscard]] IntegerRange narrower(std::size_t layer, std::int64_t channel, const IntegerRange& sums, const Part& group) const {
    const auto of = [&](const Candidate* each) -> const Narrowed& { return sums_[each->sums].by_layer[layer]; };
    const Narrowed& first = of(group.front());
    if (first.overflow != Overflow::wrap || !std::ranges::all_of(group, [&](const Candidate* each) { return of(each) == first; }))
      return sums;
    const std::int64_t half = std::int64_t{1} << (first.bits - 1),
                       shift = first.shift.empty() ? 0 : first.shift[static_cast<std::size_t>(channel)];
    const IntegerRange once{-half - shift, half - 1 - shift};
    return sums.min <= once.min && sums.max >= once.max ? once : sums;
  }

  /// Into those that are the same on the whole column. The first is listed as a staircase; another is the same where it has the same outputs on both sides
  /// of each step, and at the ends of all its pieces, on each of which it never turns round.
  void split(std::size_t layer, std::int64_t channel, const IntegerRange& sums, Part part, std::vector<Part>& parts) {
    std::vector<Part> left;
    left.push_back(std::move(part));
    while (!left.empty()) {
      Part group = std::move(left.back());
      left.pop_back();
      if (group.size() == 1) {
        parts.push_back(std::move(group));
        continue;
      }
      if (deadline_.passed() || computed_ >= most_outputs_) {  // what is in other groups differs from it all the same
        leave_open(Part(group.begin() + 1, group.end()), deadline_.passed() ? "time was up" : "more outputs than are computed");
        group.resize(1);
        parts.push_back(std::move(group));
        continue;
      }
      const IntegerRange column = narrower(layer, channel, sums, group);
      const auto first = on(layer, channel, column, *group.front());
      const auto edges = first ? first->edges() : std::nullopt;
      if (first) computed_ += static_cast<std::int64_t>((edges ? edges->size() : OnColumn::most_edges) * outputs_to_find_an_edge);
      if (!edges) {
        leave_open({group.front()}, "a way behind the sums has too many steps to be listed");
        group.erase(group.begin());
        if (!group.empty()) left.push_back(std::move(group));
        continue;
      }
      computed_ += static_cast<std::int64_t>(group.size() * std::min(edges->size(), some_edges));
      if (edges->size() > some_edges && part_on_some(layer, channel, column, group, *edges, left)) continue;
      computed_ += static_cast<std::int64_t>(group.size() * edges->size());
      const std::vector<std::int64_t> expected = first->outputs(*edges);
      Part same;
      std::map<std::vector<std::int64_t>, Part> others;
      for (const Candidate* const each : group) {
        const auto other = on(layer, channel, column, *each);
        const auto pieces = other ? other->pieces() : std::nullopt;
        if (!pieces) {
          leave_open({each}, "a way behind the sums turns round too often");
          continue;
        }
        std::vector<std::int64_t> outputs = other->outputs(*edges);
        std::vector<std::int64_t> ends;
        if (outputs == expected && pieces->size() > 1)
          for (const IntegerRange& piece : *pieces) ends.insert(ends.end(), {piece.min, piece.max});
        const std::vector<std::int64_t> at_ends = other->outputs(ends);
        if (outputs == expected && at_ends == first->outputs(ends)) {
          same.push_back(each);
          continue;
        }
        note(layer, channel, *group.front(), *each, outputs == expected ? ends : *edges,
             outputs == expected ? first->outputs(ends) : expected, outputs == expected ? at_ends : outputs);
        outputs.insert(outputs.end(), at_ends.begin(), at_ends.end());
        others[std::move(outputs)].push_back(each);
      }
      if (!same.empty()) parts.push_back(std::move(same));
      for (auto& [outputs, members] : others) left.push_back(std::move(members));
    }
  }

  /// A few of very many edges tell most candidates apart; whether they do.
  bool part_on_some(std::size_t layer, std::int64_t channel, const IntegerRange& column, const Part& group,
                    const std::vector<std::int64_t>& edges, std::vector<Part>& left) {
    std::vector<std::int64_t> some;
    for (std::size_t i = 0; i < some_edges; ++i) some.push_back(edges[i * edges.size() / some_edges]);
    std::map<std::vector<std::int64_t>, Part> by_outputs;
    for (const Candidate* const each : group) {
      const auto one = on(layer, channel, column, *each);
      by_outputs[one ? one->outputs(some) : std::vector<std::int64_t>{}].push_back(each);
    }
    if (by_outputs.size() == 1) return false;
    const std::vector<std::int64_t> expected = on(layer, channel, column, *group.front())->outputs(some);
    for (auto& [outputs, members] : by_outputs) {
      if (!outputs.empty() && outputs != expected) note(layer, channel, *group.front(), *members.front(), some, expected, outputs);
      left.push_back(std::move(members));
    }
    return true;
  }

  void note(std::size_t layer, std::int64_t channel, const Candidate& a, const Candidate& b, std::span<const std::int64_t> sums,
            std::span<const std::int64_t> of_a, std::span<const std::int64_t> of_b) {
    if (found_.telling.size() >= PartedClass::most_telling) return;
    const auto at = static_cast<std::size_t>(std::ranges::mismatch(of_a, of_b).in1 - of_a.begin());
    found_.telling.push_back({layer,
                              channel,
                              sums[at],
                              of_a[at],
                              of_b[at],
                              {a.ways.front(), a.rescale},
                              {b.ways.front(), b.rescale},
                              layers_[layer].has_one_scale()});
  }

  [[nodiscard]] static std::vector<Block> blocks_of(const Part& part) {
    std::map<Indices, Indices> by_ways;
    for (const Candidate* const each : part) by_ways[each->ways].push_back(each->rescale);
    std::vector<Block> blocks;
    for (auto& [ways, rescales] : by_ways) blocks.push_back({ways, std::move(rescales)});
    return blocks;
  }

  static constexpr std::size_t unknown = SIZE_MAX, some_edges = 256, outputs_to_find_an_edge = 16;

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
