// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/alike_chains.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/identify/idle_widths.hpp"
#include "engine/made_by_parts.hpp"

namespace lastbit {
namespace {

/// By which an encoding is told from others.
auto whole_numbers_of(const EncodedScale& scale) {
  return std::tuple(scale.multiplier, scale.significant_bits, scale.fraction_bits, scale.exponent);
}

}  // namespace

std::size_t AlikeChains::HashOfKey::operator()(const Key& key) const { return mixed(hash_of(key.chain), key.encoding); }

std::uint32_t AlikeChains::representative(std::uint32_t rescale, PerChannelLowering lowering) const {
  const auto scales_of = [&](std::uint32_t number, const ConvData& data) {
    return data.variant(lowering).scales().encoded(space_.rescales[number].scale, space_.encodings[number]);
  };
  std::uint64_t hash = 1;
  for (const ConvData& data : data_) {
    const std::vector<EncodedScale>* const scales = scales_of(rescale, data);
    if (scales == nullptr) return rescale;
    for (const EncodedScale& scale : *scales) hash = mixed(mixed(hash, scale.multiplier), scale.exponent);
  }
  std::vector<std::uint32_t>& others = rescales_by_hash_[{lowering, hash}];
  const auto is_same = [&](std::uint32_t other) {
    return std::ranges::all_of(data_, [&](const ConvData& data) {
      return std::ranges::equal(*scales_of(rescale, data), *scales_of(other, data), {}, whole_numbers_of, whole_numbers_of);
    });
  };
  const auto same = std::ranges::find_if(others, is_same);
  if (same != others.end()) return *same;
  others.push_back(rescale);
  return rescale;
}

const AlikeChains::Encoded& AlikeChains::encoded(std::uint32_t rescale, PerChannelLowering lowering) const {
  const std::scoped_lock lock(finding_);
  const auto [at, fresh] = by_encoding_.try_emplace({lowering, space_.encodings[rescale]});
  Encoded& encoded = at->second;
  if (!fresh) return encoded;
  encoded.representative = space_.encodings[representative(rescale, lowering)];
  encoded.bounds_channels = true;
  for (const ConvData& data : data_) {
    const ChannelScales& channels = data.variant(lowering).scales();
    const std::vector<EncodedScale>* const scales = channels.encoded(space_.rescales[rescale].scale, space_.encodings[rescale]);
    std::map<std::tuple<int, int, int>, EncodedScale> by_exponent;
    for (const EncodedScale& scale : scales == nullptr ? std::vector<EncodedScale>() : *scales) {
      if (scale.multiplier < 0) encoded.bounds_channels = false;
      EncodedScale& largest = by_exponent.try_emplace({scale.exponent, scale.fraction_bits, scale.significant_bits}, scale).first->second;
      largest.multiplier = std::max(largest.multiplier, scale.multiplier);
      largest.real_f32 = std::max(largest.real_f32, scale.real_f32);
      largest.real_f64 = std::max(largest.real_f64, scale.real_f64);
    }
    encoded.bounds_channels = encoded.bounds_channels && channels.differ_in_scale_alone();
    std::vector<RescaleOperands>& operands = encoded.largest.emplace_back();
    for (const auto& [exponent, scale] : by_exponent) {
      operands.push_back(channels.operands(0, *scales));
      operands.back().scale = scale;
    }
  }
  return encoded;
}

AlikeChains::Key AlikeChains::key(std::uint32_t rescale, PerChannelLowering lowering, std::span<const IntegerRange> sums) const {
  const Chain& chain = space_.rescales[rescale].chain;
  if (!applies_scale(chain)) return {chain, space_.encodings[rescale]};
  const Encoded& scales = encoded(rescale, lowering);
  StageBits acting = scales.bounds_channels ? 0 : ~StageBits{0};
  for (std::size_t layer = 0; layer < sums.size() && acting != ~StageBits{0}; ++layer) {
    const IntegerRange with_zero{std::min<std::int64_t>(sums[layer].min, 0), std::max<std::int64_t>(sums[layer].max, 0)};
    for (const RescaleOperands& operands : scales.largest[layer]) acting |= acting_widths(chain, operands, with_zero);
  }
  return {without_idle_widths(chain, acting), reads_real_scale(chain) ? space_.encodings[rescale] : scales.representative};
}

std::vector<Indices> AlikeChains::lists(const Indices& rescales, PerChannelLowering lowering, std::span<const IntegerRange> sums) const {
  const auto keys_of = [&](std::span<const std::uint32_t> part) {
    std::vector<Key> keys;
    for (const std::uint32_t rescale : part) keys.push_back(key(rescale, lowering, sums));
    return keys;
  };
  std::unordered_map<Key, std::size_t, HashOfKey> list_of;
  std::vector<Indices> lists;
  auto rescale = rescales.begin();
  for (const std::vector<Key>& keys : made_by_parts(std::span(rescales), units_per_part(10'000), keys_of)) {
    for (const Key& key : keys) {
      const auto [at, fresh] = list_of.try_emplace(key, lists.size());
      if (fresh) lists.emplace_back();
      lists[at->second].push_back(*rescale++);
    }
  }
  return lists;
}

}  // namespace lastbit
