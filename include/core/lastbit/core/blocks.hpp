// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sums of products, several pixels and channels at a time. Contract and order: op/conv2d.hpp. A sum that provably leaves no width on its way is taken in
// any order, in 32 bits; one that may saturate at every term is taken in the contract's order, each pixel of a block in a lane of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lastbit/op/conv2d.hpp"

// These loops are what a layer's time is spent in: gcc makes vectors of them at -O2 too.
#if defined(__GNUC__) && !defined(__clang__)
#define LASTBIT_VECTOR_LOOPS [[gnu::noinline, gnu::optimize("O3")]]
#else
#define LASTBIT_VECTOR_LOOPS [[gnu::noinline]]
#endif

namespace lastbit::core {

/// sums[c * stride + p] = weights of channel c times row p, `length` apart, of four rows.
template <std::size_t channels>
LASTBIT_VECTOR_LOOPS void multiply_rows(const std::int16_t* rows, const std::int16_t* weights, std::size_t length, std::int32_t* sums,
                                        std::size_t stride) {
  std::int32_t total[channels][4] = {};
  for (std::size_t t = 0; t < length; ++t) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t p = 0; p < 4; ++p) total[c][p] += std::int32_t{weights[c * length + t]} * rows[p * length + t];
    }
  }
  for (std::size_t c = 0; c < channels; ++c) std::copy_n(total[c], 4, sums + c * stride);
}

inline constexpr std::size_t lanes = 64;

/// The same of `lanes` pixels, whose t-th terms lie side by side, saturated to [low, high] after each term.
template <std::size_t channels>
LASTBIT_VECTOR_LOOPS void saturate_terms(const std::int16_t* terms, const std::int16_t* weights, std::size_t length, std::size_t taps,
                                         const std::int32_t* start, std::int32_t low, std::int32_t high, std::int32_t* sums) {
  std::int32_t total[channels][lanes];
  for (std::size_t c = 0; c < channels; ++c) std::fill_n(total[c], lanes, start[c]);
  for (std::size_t t = 0; t < taps; ++t) {
    for (std::size_t c = 0; c < channels; ++c) {
      const std::int16_t weight = weights[c * length + t];
      for (std::size_t p = 0; p < lanes; ++p)
        total[c][p] = std::min(std::max(total[c][p] + std::int32_t{weight} * std::int32_t{terms[t * lanes + p]}, low), high);
    }
  }
  for (std::size_t c = 0; c < channels; ++c) std::copy_n(total[c], lanes, sums + c * lanes);
}

/// The sums of a layer, block by block of its pixels. `input` and `weights` are centred.
class BlockedSums {
 public:
  /// A layer that it serves, or one that it does not: `serves`.
  BlockedSums(const ConvShape& shape, std::span<const std::int16_t> input, std::span<const std::int16_t> weights,
              std::span<const std::int64_t> bias, const AccumulatorRule& rule, BiasAt bias_at)
      : shape_(shape),
        input_(input),
        rule_(rule),
        bias_last_(bias_at == BiasAt::accumulator_end),
        taps_(size(shape.taps())),
        length_((taps_ + 31) / 32 * 32),
        in_group_(size(shape.out_channels / shape.groups)),
        together_(in_group_ % 4 == 0 ? 4 : 1) {
    const auto [least, most] = std::minmax_element(input.begin(), input.end());
    const std::int64_t low = input.empty() ? 0 : std::min<std::int64_t>(*least, 0),
                       high = input.empty() ? 0 : std::max<std::int64_t>(*most, 0);
    const std::size_t channels = size(shape.out_channels);
    channels_.resize(channels);
    for (std::size_t o = 0; o < channels && serves_; ++o)
      serves_ = plan(channels_[o], weights.subspan(o * taps_, taps_), bias.empty() ? 0 : bias[o], low, high);
    if (!serves_) return;
    by_terms_ = std::any_of(channels_.begin(), channels_.end(), [](const Channel& channel) { return channel.by_terms; });
    weights_.assign(channels * length_, 0);
    for (std::size_t o = 0; o < channels; ++o) std::copy_n(weights.data() + o * taps_, taps_, weights_.data() + o * length_);
    rows_.assign(lanes * length_, 0);
    if (by_terms_) terms_.assign(lanes * taps_, 0);
    sums_.assign(channels * lanes, 0);
  }

  [[nodiscard]] bool serves() const { return serves_; }
  [[nodiscard]] std::int64_t pixels() const { return shape_.batch * shape_.out_height * shape_.out_width; }
  /// What a channel's sums may be.
  [[nodiscard]] std::int64_t least(std::size_t channel) const { return channels_[channel].low; }
  [[nodiscard]] std::int64_t most(std::size_t channel) const { return channels_[channel].high; }

  /// visit(channel, the sums of one pixel after the other) for every channel, of the pixels from `first` on, at most `lanes`; how many they are.
  template <class Visit>
  std::size_t each_channel(std::int64_t first, Visit&& visit) {
    const std::size_t count = compute(first);
    for (std::size_t o = 0; o < channels_.size(); ++o) visit(o, std::span<const std::int32_t>(sums_.data() + o * lanes, count));
    return count;
  }

 private:
  struct Channel {
    std::int32_t bias = 0;
    bool by_terms = false;  ///< in the contract's order
    bool narrowed = false;  ///< once, at the end
    std::int64_t low = 0, high = 0;
  };

  static std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

  /// Whether the channel's sums can be taken here, of inputs from low to high; both ends include 0.
  bool plan(Channel& channel, std::span<const std::int16_t> weights, std::int64_t bias, std::int64_t low, std::int64_t high) const {
    std::int64_t down = 0, up = 0, largest = 0;
    for (const std::int64_t weight : weights) {
      down += std::min(weight * low, weight * high), up += std::max(weight * low, weight * high);
      largest = std::max(largest, weight < 0 ? -weight : weight);
    }
    const auto fit = [&](int bits) {
      return fits_width(down, bits) && fits_width(up, bits) && fits_width(bias, bits) && fits_width(bias + down, bits) &&
             fits_width(bias + up, bits);
    };
    const PartialSums& partial = rule_.partial;
    const bool exact_parts = !has_partial_sums(rule_) || (partial.method == PartialMethod::consecutive_terms &&
                                                          partial.tail != PartialTail::dropped && fit(partial.bits));
    const bool stays = fit(32) && fit(rule_.bits) && exact_parts;
    if (fits_width(bias, 32)) channel.bias = static_cast<std::int32_t>(bias);
    channel.low = bias + down, channel.high = bias + up;
    if (stays) return true;
    if (is_order_independent(rule_)) {
      channel.narrowed = true;
      if (rule_.bits < 32 && rule_.overflow != Overflow::exact)
        channel.low = min_of_width(rule_.bits), channel.high = max_of_width(rule_.bits);
      return fit(32);
    }
    channel.by_terms = true;
    channel.low = min_of_width(rule_.bits), channel.high = max_of_width(rule_.bits);
    return rule_.overflow == Overflow::saturate && rule_.when == NarrowingPoint::every_add && !has_partial_sums(rule_) && rule_.bits < 32 &&
           fits_width(bias, 32) && fits_width(largest * std::max(-low, high) + max_of_width(rule_.bits) + 1, 32);
  }

  /// The values under the kernel at one pixel, those in the padding 0, as a row.
  void gather(std::int64_t pixel, std::int64_t group, std::int16_t* row) const {
    const std::int64_t per_tap = shape_.group_channels(), line = pixel / shape_.out_width;
    const std::int64_t top = line % shape_.out_height * shape_.stride_height - shape_.pad_top;
    const std::int64_t left = pixel % shape_.out_width * shape_.stride_width - shape_.pad_left;
    const std::int64_t span = shape_.kernel_width * per_tap;
    const bool whole = shape_.groups == 1 && shape_.dilation_width == 1 && left >= 0 && left + shape_.kernel_width <= shape_.in_width;
    for (std::int64_t ky = 0; ky < shape_.kernel_height; ++ky, row += span) {
      const std::int64_t y = top + ky * shape_.dilation_height;
      if (y < 0 || y >= shape_.in_height) {
        std::fill_n(row, span, std::int16_t{0});
        continue;
      }
      const std::int16_t* from =
          input_.data() + (line / shape_.out_height * shape_.in_height + y) * shape_.in_width * shape_.in_channels + group * per_tap;
      if (whole) {
        std::copy_n(from + left * per_tap, span, row);
        continue;
      }
      for (std::int64_t kx = 0; kx < shape_.kernel_width; ++kx) {
        const std::int64_t x = left + kx * shape_.dilation_width;
        if (x < 0 || x >= shape_.in_width) std::fill_n(row + kx * per_tap, per_tap, std::int16_t{0});
        else std::copy_n(from + x * shape_.in_channels, per_tap, row + kx * per_tap);
      }
    }
  }

  std::size_t compute(std::int64_t first) {
    const std::size_t count = size(std::min<std::int64_t>(static_cast<std::int64_t>(lanes), pixels() - first));
    for (std::int64_t group = 0; group < shape_.groups; ++group) {
      for (std::size_t p = 0; p < count; ++p) gather(first + static_cast<std::int64_t>(p), group, rows_.data() + p * length_);
      if (by_terms_) {
        for (std::size_t p = 0; p < count; ++p) {
          for (std::size_t t = 0; t < taps_; ++t) terms_[t * lanes + p] = rows_[p * length_ + t];
        }
      }
      const std::size_t end = size(group + 1) * in_group_;
      for (std::size_t o = size(group) * in_group_; o < end; o += together_) multiply(o, count);
    }
    return count;
  }

  /// The channels o, o + 1, … that are taken together.
  void multiply(std::size_t o, std::size_t count) {
    const auto channels = std::span<const Channel>(channels_).subspan(o, together_);
    const std::int16_t* weights = weights_.data() + o * length_;
    std::int32_t* sums = sums_.data() + o * lanes;
    if (std::any_of(channels.begin(), channels.end(), [](const Channel& channel) { return channel.by_terms; }))
      return multiply_by_terms(channels, weights, sums);
    for (std::size_t p = 0; p < count; p += 4) {
      const std::int16_t* rows = rows_.data() + p * length_;
      if (together_ == 4) multiply_rows<4>(rows, weights, length_, sums + p, lanes);
      else multiply_rows<1>(rows, weights, length_, sums + p, lanes);
    }
    for (std::size_t c = 0; c < together_; ++c) {
      std::int32_t* of = sums + c * lanes;
      for (std::size_t p = 0; p < count; ++p) of[p] += channels[c].bias;
      if (!channels[c].narrowed) continue;
      for (std::size_t p = 0; p < count; ++p) of[p] = static_cast<std::int32_t>(narrow(std::int64_t{of[p]}, rule_.bits, rule_.overflow));
    }
  }

  void multiply_by_terms(std::span<const Channel> channels, const std::int16_t* weights, std::int32_t* sums) const {
    const auto low = static_cast<std::int32_t>(min_of_width(rule_.bits)), high = static_cast<std::int32_t>(max_of_width(rule_.bits));
    std::int32_t start[4] = {};
    for (std::size_t c = 0; c < channels.size(); ++c) start[c] = bias_last_ ? 0 : std::clamp(channels[c].bias, low, high);
    for (std::size_t c = 0; c < channels.size(); c += 2) {
      if (channels.size() == 1) saturate_terms<1>(terms_.data(), weights, length_, taps_, start, low, high, sums);
      else saturate_terms<2>(terms_.data(), weights + c * length_, length_, taps_, start + c, low, high, sums + c * lanes);
    }
    if (!bias_last_) return;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      for (std::size_t p = 0; p < lanes; ++p)
        sums[c * lanes + p] =
            static_cast<std::int32_t>(std::clamp<std::int64_t>(std::int64_t{sums[c * lanes + p]} + channels[c].bias, low, high));
    }
  }

  ConvShape shape_;
  std::span<const std::int16_t> input_;
  AccumulatorRule rule_;
  bool bias_last_, serves_ = true, by_terms_ = false;
  std::size_t taps_, length_;        ///< of a row, and with the zeros behind it
  std::size_t in_group_, together_;  ///< channels
  std::vector<Channel> channels_;
  std::vector<std::int16_t> weights_, rows_, terms_;
  std::vector<std::int32_t> sums_;
};

}  // namespace lastbit::core
