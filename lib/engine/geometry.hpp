// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The sizes of a layer, read off its tensors and attributes once for every arithmetic.
#pragma once

#include "lastbit/model.hpp"
#include "lastbit/op/conv2d.hpp"

namespace lastbit {

/// conv2d, depthwise_conv2d (one group per input channel), transposed_conv2d (one group).
[[nodiscard]] ConvShape conv_shape_of(const Model& model, const Operation& operation);

/// max_pool2d, average_pool2d, sum_pool2d: the windows of a convolution in which every channel is its own group; of global_average_pool, a
/// single window over the image.
[[nodiscard]] ConvShape pool_shape_of(const Model& model, const Operation& operation);

}  // namespace lastbit
