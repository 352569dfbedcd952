// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The weights of a convolution in the order in which the kernels of a path read them, and bounds of the sums they make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/kernels/kernels.hpp"
#include "engine/ops/conv_input.hpp"
#include "engine/output_lines.hpp"
#include "lastbit/aligned_vector.hpp"
#include "lastbit/arith/integer.hpp"

namespace lastbit {

/// How the terms of a forward convolution lie in the input: in runs that are the same for every output.
struct ConvRuns {
  struct Run {
    std::int64_t ky, kx;  ///< where it begins; for depthwise products ky counts groups of rows
  };
  std::vector<Run> runs;
  std::size_t length = 0;  ///< in values; for depthwise products one group
  bool depthwise = false;
};
/// by_position: no run is longer than the channels at one position of the kernel.
[[nodiscard]] ConvRuns conv_runs(const ConvGeometry& geometry, BandForm form, bool by_position = false);
[[nodiscard]] inline bool is_depthwise(const ConvShape& shape) { return shape.groups > 1 && shape.group_channels() == 1; }

/// Weights in the order of ProductTile, for one form of the input. Groups of a grouped convolution follow one another.
struct PackedWeights {
  ConvRuns runs;
  std::size_t groups = 0;  ///< of a run
  AlignedVector<std::byte> bytes;
  std::size_t vector_bytes = 0;    ///< of one vector of channels
  std::size_t group_vectors = 0;   ///< vectors of one group of a grouped convolution; all where it has no groups, or is depthwise
  std::size_t conv_groups = 1;     ///< of a dense one
  std::size_t group_channels = 0;  ///< outputs of one such group
  std::size_t lanes = 0;           ///< channels of a vector
};
/// `weights` [out_channels, kernel_height, kernel_width, group channels]; for magnitudes without their signs, 2^15 as 2^15 - 1.
[[nodiscard]] PackedWeights pack_weights(const ConvGeometry& geometry, std::span<const std::int16_t> weights, BandForm form,
                                         std::size_t lanes);
/// Bytes for pairs of codes, or for emptied pairs; no pair lies at two positions of the kernel.
[[nodiscard]] PackedWeights pack_pairs(const ConvGeometry& geometry, std::span<const std::int16_t> weights, std::size_t lanes,
                                       bool emptied);
/// One number per channel in the order of the packed vectors, and another one beside them.
template <class T>
[[nodiscard]] AlignedVector<T> spread_channels(const PackedWeights& packed, std::span<const T> per_channel, T beside = 0) {
  AlignedVector<T> out(packed.conv_groups * packed.group_vectors * packed.lanes, beside);
  auto to = out.begin();
  for (std::size_t first = 0; first < per_channel.size(); first += packed.group_channels) {
    std::ranges::copy(per_channel.subspan(first, packed.group_channels), to);
    to += static_cast<std::ptrdiff_t>(packed.group_vectors * packed.lanes);
  }
  return out;
}

/// Of ChannelLines (engine/output_lines.hpp) those of every channel, in that order; beside them, where every place has a fraction.
struct PackedLines {
  AlignedVector<float> slope, above, below;
  int fraction_bits = 0;
  bool by_sign = false;
  std::int32_t smallest = 0, largest = 0;
};
[[nodiscard]] PackedLines pack_lines(const PackedWeights& packed, const ChannelLines& lines);

/// Every sum of a channel's terms, in any order and of any part of them, lies between lower and upper.
struct SumBounds {
  Int128 lower = 0, upper = 0;
};
/// Positive and negative weights of every channel, added up.
class WeightSums {
 public:
  WeightSums() = default;
  WeightSums(std::span<const std::int16_t> weights, std::size_t channels);
  /// For inputs in `range`, every term times `multiplier`.
  [[nodiscard]] SumBounds bounds(std::size_t channel, const IntegerRange& range, std::int64_t multiplier = 1) const;
  [[nodiscard]] std::int64_t total(std::size_t channel) const { return positive_[channel] - negative_[channel]; }
  [[nodiscard]] std::int64_t magnitude(std::size_t channel) const { return positive_[channel] + negative_[channel]; }
  /// How many are -2^15.
  [[nodiscard]] std::int64_t count_of_least(std::size_t channel) const { return least_[channel]; }
  [[nodiscard]] std::size_t channels() const { return positive_.size(); }

 private:
  std::vector<std::int64_t> positive_, negative_, least_;
};

/// Groups of the packed runs, counted through all of them, at which a sum of 32 bits must be taken off so that none of inputs of at most
/// `largest_input` in magnitude leaves them. Empty where one group alone can be too large.
[[nodiscard]] std::vector<std::size_t> sum_cuts(const ConvGeometry& geometry, std::span<const std::int16_t> weights,
                                                const PackedWeights& packed, std::int64_t largest_input);

}  // namespace lastbit
