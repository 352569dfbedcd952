// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/prove/bounded.hpp"

#include <algorithm>
#include <optional>

namespace lastbit {
namespace {

/// The larger range, with the steps at which its ends are reached.
void widen(ChannelProof& proof, const ChannelProof& other) {
  if (other.sums.lower < proof.sums.lower) {
    proof.sums.lower = other.sums.lower;
    proof.lower_steps = other.lower_steps;
  }
  if (other.sums.upper > proof.sums.upper) {
    proof.sums.upper = other.sums.upper;
    proof.upper_steps = other.upper_steps;
  }
}

void add_tiles(std::vector<TileProof>& all, const std::vector<TileProof>& tiles, std::int64_t channel, int bits) {
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (i == all.size()) all.push_back({tiles[i].steps, tiles[i].sums, channel});
    TileProof& tile = all[i];
    const SumRange both = hull(tile.sums, tiles[i].sums);
    if (margin_in_bits(tiles[i].sums, bits) < margin_in_bits(tile.sums, bits)) tile.channel = channel;
    tile.sums = both;
    tile.steps = std::max(tile.steps, tiles[i].steps);
  }
}

}  // namespace

Bounded bounded(const Sums& sums) {
  Bounded found;
  LayerProof& proof = found.proof;
  proof.part = sums.part;
  proof.rule = sums.rule;
  proof.has_width = sums.has_width;
  std::vector<std::optional<ChannelProof>> channels(static_cast<std::size_t>(sums.channels));
  std::vector<std::optional<SumRange>> results(channels.size()), whole(channels.size());
  sums.each([&](const Sum& sum) {
    const BoundAccumulator total = bound(sums, sum);
    const auto channel = static_cast<std::size_t>(sum.channel);
    if (channels[channel]) widen(*channels[channel], total.sums());
    else channels[channel] = total.sums();
    results[channel] = results[channel] ? hull(*results[channel], total.result()) : total.result();
    whole[channel] = whole[channel] ? hull(*whole[channel], total.exact()) : total.exact();
    if (total.partial()) proof.partial = proof.partial ? hull(*proof.partial, *total.partial()) : *total.partial();
    add_tiles(proof.tiles, total.tiles(), sum.channel, sums.rule.bits);
    proof.terms = std::max(proof.terms, static_cast<std::int64_t>(sum.terms.size()));
  });
  for (const auto& channel : channels) proof.channels.push_back(*channel);
  for (const auto& sum : whole) found.whole.push_back(*sum);
  for (const auto& result : results) found.results.push_back({narrow_saturate(result->lower, 64), narrow_saturate(result->upper, 64)});
  const auto margin = [&](const ChannelProof& channel) { return margin_in_bits(channel.sums, sums.rule.bits); };
  const auto worst = std::ranges::min_element(proof.channels, {}, margin);
  proof.worst = static_cast<std::size_t>(worst - proof.channels.begin());
  return found;
}

}  // namespace lastbit
