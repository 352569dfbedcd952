// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One layer's accumulators on one side, for as many samples as there are.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/advise/side.hpp"
#include "engine/ops/conv_layer.hpp"

namespace lastbit {

/// A conv_layer() and its sums.
struct LayerSums {
  ConvLayer layer;
  std::vector<std::vector<std::int64_t>> sums;  ///< of every sample
  int bits = 64;                                ///< that every sum fits
};

/// Nothing for other kinds of operation, or where the layer delivers its sums.
[[nodiscard]] std::optional<LayerSums> layer_sums(const Model& model, std::size_t operation, const Backend& backend,
                                                  std::span<const Tensor> inputs);

/// What the chain makes of them with these operands.
[[nodiscard]] std::vector<std::int64_t> finished(const LayerSums& sums, std::size_t sample, const std::vector<RescaleOperands>& operands);

/// The first output of a model of one operation whose other inputs are constants.
[[nodiscard]] Tensor output_of(const Model& layer, const Side& side, const Tensor& input);

}  // namespace lastbit
