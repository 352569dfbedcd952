// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Chains that make the same of every sum of some layers, known without computing one: they differ only in widths that no value leaves, and their
// encodings hold the same numbers.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "analysis/identify/conv_search.hpp"

namespace lastbit {

class AlikeChains {
 public:
  AlikeChains(const ConvSpace& space, std::span<const ConvData> data) : space_(space), data_(data) {}

  /// Lists of chains that are alike, where `sums` bounds the sums of each layer. For any thread.
  [[nodiscard]] std::vector<Indices> lists(const Indices& rescales, PerChannelLowering lowering, std::span<const IntegerRange> sums) const;

 private:
  /// An encoding, on all layers.
  struct Encoded {
    std::uint32_t representative = 0;                     ///< the first that holds the same numbers, but for the real scales
    bool bounds_channels = false;                         ///< no multiplier is negative, and channels differ in their scales alone
    std::vector<std::vector<RescaleOperands>> largest{};  ///< by layer: of the scales with one exponent the largest
  };
  /// What alike chains have in common.
  struct Key {
    Chain chain;
    std::uint32_t encoding = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct HashOfKey {
    std::size_t operator()(const Key& key) const;
  };

  [[nodiscard]] Key key(std::uint32_t rescale, PerChannelLowering lowering, std::span<const IntegerRange> sums) const;
  [[nodiscard]] const Encoded& encoded(std::uint32_t rescale, PerChannelLowering lowering) const;
  [[nodiscard]] std::uint32_t representative(std::uint32_t rescale, PerChannelLowering lowering) const;

  const ConvSpace& space_;
  std::span<const ConvData> data_;
  mutable std::mutex finding_;
  mutable std::map<std::pair<PerChannelLowering, std::uint32_t>, Encoded> by_encoding_;
  mutable std::map<std::pair<PerChannelLowering, std::uint64_t>, std::vector<std::uint32_t>> rescales_by_hash_;
};

}  // namespace lastbit
