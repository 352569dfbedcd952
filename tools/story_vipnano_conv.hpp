// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The figures of the VIPNano story: a convolution that differs by one from the CPU, alone and in a chain of twenty.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lastbit/explain.hpp"

namespace lastbit::tool::vipnano_conv {

/// So many 3x3 'same' convolutions of 8 channels, int8, in a row; weights from a fixed generator. All activations have the scale
/// `activation_scale`, but the last output, whose scale is `output_scale`.
[[nodiscard]] Model chain_of(int layers, double output_scale);
[[nodiscard]] Tensor images(std::int64_t count);

inline constexpr double activation_scale = 0.05;

/// One convolution on a CPU arithmetic and on the device.
struct PairFigures {
  std::string cpu;
  std::string device;
  LayerAttribution attribution;
};
[[nodiscard]] std::vector<PairFigures> pairs();

/// One value of that convolution that differs, stage by stage on both.
struct ValueOnBoth {
  AttributedValue value;
  std::int64_t accumulator = 0;
  std::vector<StageStep> a, b;
};
[[nodiscard]] ValueOnBoth one_value();

/// Shares of values that differ, layer by layer.
struct Growth {
  std::vector<double> alone, in_the_chain;
  std::vector<std::int64_t> largest_lsb;  ///< in the chain
};
[[nodiscard]] Growth growth();

/// The share that differs in one convolution, by the scale of its output.
struct ScaleFigures {
  double output_scale = 0;
  double effective_scale = 0;
  int exponent = 0;  ///< effective scale in [2^(exponent-1), 2^exponent)
  std::int64_t values = 0, differing = 0;
};
[[nodiscard]] std::vector<ScaleFigures> scales();

/// The share of the final values that differ from an all-CPU run, where some layers are computed on the CPU.
struct FallbackFigures {
  std::string on_cpu;
  double differing = 0;
  std::int64_t largest_lsb = 0;
};
[[nodiscard]] std::vector<FallbackFigures> fallbacks();

}  // namespace lastbit::tool::vipnano_conv
