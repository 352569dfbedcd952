// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The figures of the VIPNano story: a convolution that differs by one from the CPU, alone and in a chain of twenty.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lastbit/compare.hpp"
#include "lastbit/explain.hpp"

namespace lastbit::tool::vipnano_conv {

/// Twenty 3x3 'same' convolutions of 8 channels in a row, int8, all activations of one scale, and the first of them alone.
struct Networks {
  Model chain, one;
};
[[nodiscard]] Networks read_networks(const std::filesystem::path& data);

/// One convolution on a CPU arithmetic and on the device.
struct PairFigures {
  std::string cpu, device;
  LayerAttribution attribution;
};
[[nodiscard]] std::vector<PairFigures> pairs(const Model& one);

/// One value of that convolution that differs, stage by stage on both.
struct ValueOnBoth {
  AttributedValue value;
  std::int64_t accumulator = 0;
  std::vector<StageStep> a, b;
};
[[nodiscard]] ValueOnBoth one_value(const Model& one);

/// The layers of the chain, alone and in the chain.
[[nodiscard]] std::vector<LayerDifference> growth(const Model& chain);

/// The share that differs in one convolution, by the scale of its output.
struct ScaleFigures {
  double output_scale = 0, effective_scale = 0;
  int exponent = 0;  ///< effective scale in [2^(exponent-1), 2^exponent)
  std::int64_t values = 0, differing = 0;
};
[[nodiscard]] std::vector<ScaleFigures> scales(const Model& one);

/// What differs in the end from an all-CPU run, where some layers are computed on the CPU.
struct FallbackFigures {
  std::string on_cpu;
  TensorDifference found;
};
[[nodiscard]] std::vector<FallbackFigures> fallbacks(const Model& chain);

}  // namespace lastbit::tool::vipnano_conv
