// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The receptive field of one value as a layer of its own.
#pragma once

#include <vector>

#include "analysis/shrink/layer_case.hpp"

namespace lastbit {

/// Layers of the same kind that should compute the same value, from less of the input: the smallest first. Which of them do is for the caller
/// to find out: a device may derive shifts from channels that a cut leaves out, or treat the border of an image in a way of its own. The
/// layer itself comes last.
[[nodiscard]] std::vector<LayerCase> crops(const LayerCase& layer);

/// One tap of the sum that makes a value: offsets into the input and into the weights as the model has them.
struct Tap {
  std::int64_t input = 0, weight = 0;
};

/// Of conv2d, depthwise_conv2d, transposed_conv2d, fully_connected, in the order of the weights. Taps in the padding are left out.
[[nodiscard]] std::vector<Tap> taps_of(const LayerCase& layer);

/// The channel that a value of such a layer belongs to: an index into the weights' scales, the bias and the row multipliers.
[[nodiscard]] std::int64_t channel_of(const LayerCase& layer);

}  // namespace lastbit
