// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "identify/probe.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "identify/outcomes.hpp"
#include "identify/probe_layer.hpp"

namespace lastbit {
namespace {

std::vector<std::int64_t> all_values(const ConvData& data) {
  std::vector<std::int64_t> values(data.expected.size());
  std::iota(values.begin(), values.end(), 0);
  return values;
}

/// Scales that multipliers of different widths, and of different rounding, hold differently; powers of two make ties.
double telling_significand(std::mt19937_64& random) {
  constexpr int widths[] = {8, 15, 16, 24};
  switch (random() % 5) {
    case 0: return 1;
    case 1: return 1 + std::ldexp(static_cast<double>(random() % 256 * 2 + 1), -widths[random() % 3]);  // a tie of one bit less
    case 2: return 2 - std::ldexp(1.0, -static_cast<int>(1 + random() % 23));                           // carries over
    default: return 1 + std::ldexp(static_cast<double>(random() % (1U << 23)), -23);
  }
}

class FreeDesigner {
 public:
  FreeDesigner(const ConvSpace& space, const std::vector<Block>& blocks, const Model& like, unsigned seed)
      : space_(space), blocks_(blocks), frame_(like), random_(seed) {}

  [[nodiscard]] std::optional<DesignedProbe> design(std::size_t most_outputs) {
    std::optional<DesignedProbe> best;
    const int attempts = frame_.per_channel() ? 2 : 10;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      auto probe = attempt_one(most_outputs);
      if (probe && (!best || probe->bits > best->bits)) best = std::move(probe);
    }
    return best;
  }

 private:
  static constexpr std::size_t pool = 128, sampled = 1000;

  [[nodiscard]] std::optional<DesignedProbe> attempt_one(std::size_t most_outputs) {
    std::vector<ChannelDesign> channels = scaled_channels();
    aim(channels);
    const IdentifyPair pair = frame_.layer(channels);
    const ConvData data(pair);
    const std::vector<Combination> combinations = sample(distinct_combinations(space_, blocks_, data, all_values(data)), sampled);
    if (combinations.size() < 2) return std::nullopt;
    const Choice choice = choose(OutcomeTable(space_, data, all_values(data), combinations), combinations.size(), most_outputs);
    if (choice.cells < 2) return std::nullopt;
    std::vector<ChannelDesign> chosen;
    for (const std::size_t value : choice.values) chosen.push_back(channels[value]);
    DesignedProbe probe{frame_.layer(chosen), combinations.size(), choice.cells, choice.bits};
    if (needs_a_second_look()) recount(probe, combinations);
    return probe.outcomes < 2 ? std::nullopt : std::optional(std::move(probe));
  }

  /// Multipliers that share the layer's exponent depend on which channels were chosen.
  [[nodiscard]] bool needs_a_second_look() const { return frame_.per_channel(); }
  void recount(DesignedProbe& probe, const std::vector<Combination>& combinations) const {
    const ConvData data(probe.pair);
    const OutcomeTable table(space_, data, all_values(data), combinations);
    const Choice all = choose(table, combinations.size(), table.values());
    probe.outcomes = all.cells;
    probe.bits = all.bits;
  }

  /// Effective scales such that sums of 6 to 31 bits fill the range of the output.
  [[nodiscard]] std::vector<ChannelDesign> scaled_channels() {
    const bool exact = random_() % 2 == 0;
    frame_.input_scale = exact ? 1.0 : static_cast<double>(static_cast<float>(0.01 + 0.0001 * static_cast<double>(random_() % 1000)));
    frame_.output_scale = exact ? 1.0 : static_cast<double>(static_cast<float>(0.02 + 0.0001 * static_cast<double>(random_() % 1000)));
    std::vector<ChannelDesign> channels(pool);
    const int bits = 6 + static_cast<int>(random_() % 26);
    const double significand = telling_significand(random_);
    for (ChannelDesign& channel : channels) {
      const int own_bits = frame_.per_channel() ? 6 + static_cast<int>(random_() % 26) : bits;
      const double effective =
          std::ldexp(frame_.per_channel() ? telling_significand(random_) : significand, frame_.output_bits() - 1 - own_bits);
      channel.weight_scale = static_cast<double>(static_cast<float>(effective * frame_.output_scale / frame_.input_scale));
    }
    return channels;
  }

  void aim(std::vector<ChannelDesign>& channels) {
    const IdentifyPair pair = frame_.layer(channels);
    const ConvData data(pair);
    for (std::size_t c = 0; c < channels.size(); ++c) {
      const std::int64_t sum = target(data, static_cast<std::int64_t>(c));
      const auto widest = std::int64_t{1} << (4 + random_() % 14);
      const std::int64_t part =
          random_() % 3 == 0 ? 0 : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(2 * widest)) - widest;
      const SumPath path = random_() % 3 != 0 ? SumPath::straight : random_() % 2 == 0 ? SumPath::up_and_down : SumPath::down_and_up;
      frame_.aim(channels[c], sum, part, path, random_);
    }
  }

  [[nodiscard]] std::int64_t target(const ConvData& data, std::int64_t channel) {
    constexpr int widths[] = {16, 18, 20, 24, 28, 32, 40};
    const std::int64_t near = static_cast<std::int64_t>(random_() % 7) - 3;
    if (random_() % 4 == 0) {  // where an accumulator ends
      const std::int64_t end = std::int64_t{1} << (widths[random_() % 7] - 1);
      return std::clamp((random_() % 2 == 0 ? end : -end) + near * static_cast<std::int64_t>(1 + random_() % 3000), frame_.bias_range().min,
                        frame_.bias_range().max);
    }
    if (const auto parting = parting_sum(data, channel)) return *parting;
    return static_cast<std::int64_t>(random_()) >> (24 + random_() % 36);
  }

  /// A sum that one of two combinations already takes to an output that the other one does not yet reach; or at least such a step of one.
  [[nodiscard]] std::optional<std::int64_t> parting_sum(const ConvData& data, std::int64_t channel) {
    const auto a = operands_of(data, channel, any_rescale()), b = operands_of(data, channel, any_rescale());
    if (!a || !b) return std::nullopt;
    const auto codes = static_cast<std::uint64_t>(a->second.max - a->second.min);
    std::int64_t step = 0;
    for (int i = 0; i < 6; ++i) {
      const std::int64_t output = a->second.min + 1 + static_cast<std::int64_t>(random_() % codes);
      step = threshold(*a->first, a->second, output, frame_.bias_range());
      const std::int64_t other = threshold(*b->first, b->second, output, frame_.bias_range());
      if (other != step) return std::min(step, other);
    }
    return step + static_cast<std::int64_t>(random_() % 3) - 1;
  }

  using ChainOperands = std::pair<const Chain*, RescaleOperands>;
  [[nodiscard]] std::optional<ChainOperands> operands_of(const ConvData& data, std::int64_t channel, std::uint32_t rescale) {
    const RescaleRule& rule = space_.rescales[rescale];
    if (!applies_scale(rule.chain)) return std::nullopt;
    const ChannelScales& scales = data.variants[0].scales();
    const std::vector<EncodedScale>* const encoded = scales.encoded(rule.scale, space_.encodings[rescale]);
    if (encoded == nullptr) return std::nullopt;
    ChainOperands result{&rule.chain, scales.operands(channel)};
    result.second.scale = (*encoded)[scales.index(channel)];
    return result;
  }

  [[nodiscard]] std::uint32_t any_rescale() {
    const Block& block = blocks_[random_() % blocks_.size()];
    return block.rescales[random_() % block.rescales.size()];
  }

  [[nodiscard]] std::vector<Combination> sample(std::vector<Combination> list, std::size_t most) {
    std::shuffle(list.begin(), list.end(), random_);
    if (list.size() > most) list.resize(most);
    return list;
  }

  const ConvSpace& space_;
  const std::vector<Block>& blocks_;
  ProbeFrame frame_;
  std::mt19937_64 random_;
};

}  // namespace

std::optional<DesignedProbe> design_free_probe(const ConvSpace& space, const std::vector<Block>& blocks, const Model& like,
                                               const ProbeOptions& options) {
  if (blocks.empty()) return std::nullopt;
  // A rare difference may escape one sample of combinations and channels.
  for (unsigned attempt = 0; attempt < 3; ++attempt) {
    auto probe = FreeDesigner(space, blocks, like, options.seed * 1000 + attempt).design(options.most_outputs);
    if (probe) return probe;
  }
  return std::nullopt;
}

}  // namespace lastbit
