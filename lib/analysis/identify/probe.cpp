// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/probe.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analysis/identify/outcomes.hpp"
#include "analysis/identify/probe_layer.hpp"

namespace lastbit {
namespace {

std::vector<std::int64_t> all_values(const ConvData& data) {
  std::vector<std::int64_t> values(data.expected.size());
  std::iota(values.begin(), values.end(), 0);
  return values;
}

/// Scales of a layer, powers of two aside: the effective one is input * weight / output.
struct ScaleDesign {
  double input = 1, weight = 1, output = 1;
  int telling_bits = 8;  ///< sums of fewer bits hardly show what is special about the scale
};

double as_float(double value) { return static_cast<double>(static_cast<float>(value)); }

/// 1.xxx with `bits` significant bits, the last of them 1.
double odd_significand(int bits, std::mt19937_64& random) {
  const std::uint64_t leading = std::uint64_t{1} << (bits - 1);
  return std::ldexp(static_cast<double>(leading | (random() % leading) | 1U), 1 - bits);
}

/// Scales that multipliers of different widths and roundings hold differently.
ScaleDesign telling_scale(std::mt19937_64& random) {
  constexpr int widths[] = {8, 15, 16};
  const int width = widths[random() % 3];
  switch (random() % 9) {
    case 0: return {};                                                 // sums that are ties
    case 1: return {1, odd_significand(width + 1, random), 1, width};  // a tie of the multiplier
    case 2: return {1, 2 - std::ldexp(1.0, -width), 1, width};         // one that rounds up to the next power of two
    case 3: return {1.25, 2 - std::ldexp(1.0, -20), 1, 24};
    case 4: return {1.25, odd_significand(23, random), 1, 24};                        // a product of 25 or 26 bits: about a tie of 24
    case 5: return {odd_significand(9, random), odd_significand(24, random), 1, 29};  // of 32 or 33 bits: of 31
    case 6:
      return {as_float(1 + 1e-9 * static_cast<double>(random() % 1000000000)), odd_significand(24, random),
              as_float(1 + 1e-9 * static_cast<double>(random() % 1000000000)), 22};  // float and double differ
    case 7: {  // next to where a multiplier changes: float arithmetic hits it, double misses it by less than 2^-25
      const double input = odd_significand(24, random),
                   edge = odd_significand(random() % 3 == 0 ? 2 + static_cast<int>(random() % 4) : width + static_cast<int>(random() % 2),
                                          random);
      return {input, as_float(edge / input), 1, width};
    }
    default: return {1, odd_significand(24, random), 1, 14};
  }
}

/// What a rule makes of the scale before it multiplies.
double factor_of(const RescaleRule& rule, const ScaleDesign& scale) {
  const EncodedScale encoded = encode(rule.scale, effective_scale(rule.scale.arithmetic, scale.input, scale.weight, scale.output));
  for (const Stage& stage : rule.chain) {
    if (scale_of(stage) == ScaleUse::in_float)
      return stage.arithmetic == ProductArithmetic::f32 ? static_cast<double>(encoded.real_f32) : encoded.real_f64;
    if (stage.kind != StageKind::multiply) continue;
    const NarrowedMultiplier kept = narrow_multiplier(encoded, stage.bits, stage.rounding);
    return std::ldexp(static_cast<double>(kept.multiplier), encoded.exponent - kept.fraction_bits);
  }
  return std::ldexp(static_cast<double>(encoded.multiplier), encoded.exponent - encoded.fraction_bits);
}

class FreeDesigner {
 public:
  FreeDesigner(const ConvSpace& space, const std::vector<Block>& blocks, const Model& like, unsigned seed)
      : space_(space), blocks_(blocks), frame_(like), random_(seed) {}

  [[nodiscard]] std::optional<DesignedProbe> design(const ProbeOptions& options) {
    std::vector<IdentifyPair> layers;
    std::vector<std::vector<std::uint32_t>> outcomes;  // of every layer, what it makes of every combination
    std::vector<Combination> combinations;
    DesignedProbe probe;
    const int most_attempts = attempts_per_turn * static_cast<int>(options.patience);
    int idle = 0;  // attempts since the last one that told something new
    for (int attempt = 0; attempt < most_attempts && !is_done(probe, combinations.size(), attempt, idle); ++attempt, ++idle) {
      auto layer = attempt_one(options.most_outputs);
      if (!layer) continue;
      const ConvData data(*layer);
      if (combinations.empty()) combinations = sample(distinct_combinations(space_, blocks_, data, all_values(data)), sampled);
      outcomes.push_back(cells_of(OutcomeTable(space_, data, all_values(data), combinations), combinations.size()));
      layers.push_back(std::move(*layer));
      const std::int64_t before = probe.outcomes;
      probe = together(layers, outcomes, options.most_layers);
      if (probe.outcomes > before) idle = 0;
    }
    probe.considered = combinations.size();
    if (probe.outcomes < 2) return std::nullopt;
    return probe;
  }

 private:
  static constexpr std::size_t pool = 96, sampled = 600;
  static constexpr int attempts_per_turn = 16, many = 200;

  /// Of many combinations a few layers part enough for one probe; of few, it is worth the search to part them all at once.
  [[nodiscard]] static bool is_done(const DesignedProbe& probe, std::size_t combinations, int attempt, int idle) {
    if (probe.outcomes < 2) return false;
    if (probe.outcomes == static_cast<std::int64_t>(combinations)) return true;
    return combinations > many ? attempt >= attempts_per_turn : idle > 8 * attempts_per_turn;
  }

  /// The layers that tell most together.
  [[nodiscard]] static DesignedProbe together(const std::vector<IdentifyPair>& layers,
                                              const std::vector<std::vector<std::uint32_t>>& outcomes, std::size_t most) {
    const OutcomeTable table(outcomes);
    const Choice choice = choose(table, outcomes.front().size(), most);
    DesignedProbe probe{{}, 0, choice.cells, choice.bits};
    for (const std::size_t number : choice.values) probe.layers.push_back(layers[number]);
    return probe;
  }

  [[nodiscard]] std::optional<IdentifyPair> attempt_one(std::size_t most_outputs) {
    std::vector<ChannelDesign> channels = scaled_channels();
    aim(channels);
    add_anchor(channels);
    const ConvData data(frame_.layer(channels));
    const std::vector<Combination> combinations = sample(distinct_combinations(space_, blocks_, data, all_values(data)), sampled);
    if (combinations.size() < 2) return std::nullopt;
    const Choice choice = choose(OutcomeTable(space_, data, all_values(data), combinations), combinations.size(), most_outputs);
    if (choice.cells < 2) return std::nullopt;
    std::vector<ChannelDesign> chosen;
    for (const std::size_t value : choice.values) chosen.push_back(channels[value]);
    add_anchor(chosen);
    return frame_.layer(chosen);
  }

  /// A compiler that brings all channels to one scale goes by the range of all weights: with both ends of it there, the weights stay what they
  /// are.
  void add_anchor(std::vector<ChannelDesign>& channels) const {
    if (!frame_.per_channel() || own_scales_) return;
    ChannelDesign anchor = channels.front();
    frame_.anchor(anchor);
    channels.push_back(anchor);
  }

  /// A scale of which two combinations make different factors, where there are such: the one where these lie furthest apart.
  [[nodiscard]] ScaleDesign parting_scale() {
    ScaleDesign best = telling_scale(random_);
    if (random_() % 3 == 0) return best;
    const RescaleRule& a = space_.rescales[any_rescale()];
    const RescaleRule& b = space_.rescales[any_rescale()];
    double furthest = 0;
    for (int i = 0; i < 64; ++i) {
      ScaleDesign scale = telling_scale(random_);
      const double one = factor_of(a, scale), other = factor_of(b, scale);
      const double apart = std::abs(one - other) / std::max(one, other);
      if (!(apart > furthest)) continue;
      furthest = apart;
      best = scale;
      best.telling_bits = std::clamp(static_cast<int>(-std::log2(apart)), 6, 31);
    }
    return best;
  }

  /// Effective scales such that sums of 6 to 31 bits fill the range of the output.
  [[nodiscard]] std::vector<ChannelDesign> scaled_channels() {
    const ScaleDesign common = parting_scale();
    own_scales_ = frame_.per_channel() && random_() % 2 == 0;
    frame_.input_scale = common.input;
    frame_.output_scale = common.output;
    const auto bits_for = [this](const ScaleDesign& scale) {
      if (random_() % 4 == 0) return 31;  // the ends of wide accumulators are seen
      const auto least = random_() % 4 == 0 ? 6 : std::min<unsigned>(31, static_cast<unsigned>(scale.telling_bits));
      return static_cast<int>(least + random_() % (32 - least));
    };
    const int bits = bits_for(common);
    std::vector<ChannelDesign> channels(pool);
    for (ChannelDesign& channel : channels) {
      const ScaleDesign own = own_scales_ ? parting_scale() : common;
      channel.weight_scale = as_float(std::ldexp(own.weight, frame_.output_bits() - 1 - (own_scales_ ? bits_for(own) : bits)));
    }
    return channels;
  }

  void aim(std::vector<ChannelDesign>& channels) {
    add_anchor(channels);
    const IdentifyPair pair = frame_.layer(channels);
    const ConvData data(pair);
    if (frame_.per_channel() && !own_scales_) channels.pop_back();
    for (std::size_t c = 0; c < channels.size(); ++c) {
      const std::int64_t sum = target(data, static_cast<std::int64_t>(c));
      const std::int64_t part = part_of(sum);
      const SumPath path = random_() % 3 != 0 ? SumPath::straight : random_() % 2 == 0 ? SumPath::up_and_down : SumPath::down_and_up;
      frame_.aim(channels[c], sum, part, path, random_);
    }
  }

  /// What the terms add to the bias: nothing, what a bias of few bits leaves of the sum, or anything.
  [[nodiscard]] std::int64_t part_of(std::int64_t sum) {
    const auto widest = std::int64_t{1} << (4 + random_() % 14);
    switch (random_() % 3) {
      case 0: return 0;
      case 1: return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(2 * widest)) - widest;
      default: break;
    }
    std::int64_t bias = sum;
    int places = 0;
    constexpr std::int64_t narrow[] = {64, 64, 1 << 14, 1 << 22};
    const std::int64_t limit = narrow[random_() % 4];
    for (; std::abs(bias) >= limit; bias /= 2) ++places;
    return sum - bias * (std::int64_t{1} << places);
  }

  [[nodiscard]] std::int64_t target(const ConvData& data, std::int64_t channel) {
    constexpr int widths[] = {16, 18, 20, 24, 28, 32, 32, 40};
    const std::int64_t near = static_cast<std::int64_t>(random_() % 7) - 3;
    if (random_() % 4 == 0) {  // where an accumulator ends
      const std::int64_t end = std::int64_t{1} << (widths[random_() % std::size(widths)] - 1);
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
    for (int i = 0; i < 4; ++i) {
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
    return ChainOperands{&rule.chain, scales.operands(channel, *encoded)};
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
  bool own_scales_ = false;  ///< of channels
};

}  // namespace

std::optional<DesignedProbe> design_free_probe(const ConvSpace& space, const std::vector<Block>& blocks, const Model& like,
                                               const ProbeOptions& options) {
  if (blocks.empty()) return std::nullopt;
  return FreeDesigner(space, blocks, like, options.seed).design(options);
}

}  // namespace lastbit
