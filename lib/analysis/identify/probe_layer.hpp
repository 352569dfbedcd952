// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A tiny layer made for one purpose: one position, and every output channel with weights, bias and, where the device has scales per channel, a
// scale of its own.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "lastbit/identify.hpp"

namespace lastbit {

/// Terms of a sum.
inline constexpr std::size_t probe_terms = 9;

struct ChannelDesign {
  double weight_scale = 1;
  std::int64_t bias = 0;
  std::array<std::int64_t, probe_terms> weights{};  ///< centred
};

/// How the partial sums go on their way.
enum class SumPath : std::uint8_t { straight, up_and_down, down_and_up };

/// What a probe takes from the layer it is like: kind, types and zero points.
class ProbeFrame {
 public:
  explicit ProbeFrame(const Model& like);

  double input_scale = 1, output_scale = 1;

  [[nodiscard]] bool per_channel() const { return per_channel_; }
  [[nodiscard]] int output_bits() const { return output_bits_; }
  [[nodiscard]] const IntegerRange& bias_range() const { return bias_range_; }

  /// Weights and bias that make up the sum, or come near: the terms make `part` of it, the bias the rest.
  void aim(ChannelDesign& channel, std::int64_t sum, std::int64_t part, SumPath path, std::mt19937_64& random) const;
  /// The smallest and the largest weight.
  void anchor(ChannelDesign& channel) const;
  /// The layer with its input, and an output of zeros.
  [[nodiscard]] IdentifyPair layer(const std::vector<ChannelDesign>& channels) const;

 private:
  [[nodiscard]] Model model(const std::vector<ChannelDesign>& channels) const;

  const Model& like_;
  bool per_channel_ = false;
  IntegerRange weight_range_;  ///< centred
  IntegerRange bias_range_;
  std::array<std::int64_t, probe_terms> input_{};  ///< centred: 1, then values that weights fill the gaps between, then the largest two
  int output_bits_ = 8;
};

}  // namespace lastbit
