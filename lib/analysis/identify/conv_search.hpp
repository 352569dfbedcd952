// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which combinations of a space reproduce what a device computed: sums are formed once for every rule that makes a difference, and finished
// by every chain; what disagrees on a few values is not looked at on all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/identify/conv_data.hpp"
#include "analysis/identify/deadline.hpp"
#include "analysis/identify/space.hpp"

namespace lastbit {

struct ConvSpace {
  std::vector<SumRules> sums;
  std::vector<RescaleRule> rescales;
  std::vector<std::uint32_t> encodings = {};  ///< of each of them, the number of its scale encoding
};
[[nodiscard]] ConvSpace conv_space(const SpaceScope& scope);

using Indices = std::vector<std::uint32_t>;

/// One way to sum and one chain.
struct Combination {
  std::uint32_t sum = 0, rescale = 0;
};

/// Combinations of rules of the space: every one of `sums` with every one of `rescales`.
struct Block {
  Indices sums, rescales;
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(sums.size() * rescales.size()); }
};
[[nodiscard]] Block everything(const ConvSpace& space);
[[nodiscard]] std::int64_t count_of(std::span<const Block> blocks);

/// Combinations with the same outputs on all the data.
struct ConvClass {
  std::int64_t agreeing = 0;
  std::uint64_t outputs = 0;  ///< a hash of them
  std::vector<Block> blocks;
};

struct ConvSearchResult {
  std::vector<ConvClass> classes;  ///< best first
  std::int64_t values = 0;
  std::int64_t distinct_sums = 0;
  int sum_bits = 0;
  bool in_time = true;  ///< every combination was judged
};

class ConvSearch {
 public:
  ConvSearch(const ConvSpace& space, std::span<const ConvData> data) : space_(space), data_(data) {}

  /// Of the combinations in `start`. Classes beyond `most_classes` are dropped. After the deadline the best of those judged so far are left.
  [[nodiscard]] ConvSearchResult search(const std::vector<Block>& start, std::size_t most_classes,
                                        const std::function<void(double)>& progress = {}, const Deadline& deadline = {}) const;
  /// Those that reproduce every value.
  [[nodiscard]] std::vector<Block> exact(const std::vector<Block>& start) const;

 private:
  const ConvSpace& space_;
  std::span<const ConvData> data_;
};

/// Mixed into a hash of outputs.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t hash, std::int64_t value) {
  hash ^= static_cast<std::uint64_t>(value) + 0x9E3779B97F4A7C15U + (hash << 6) + (hash >> 2);
  return hash * 0xD6E8FEB86659FD93U;
}

}  // namespace lastbit
