// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The sums of a layer as one variable of both sides: where they are the same integers whatever the input, all that can differ is the way behind them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/certify/both_sides.hpp"
#include "lastbit/arith/rescale.hpp"

namespace lastbit {

struct SharedSums {
  /// One channel, or all windows of one count.
  struct Column {
    std::int64_t channel = 0;
    IntegerRange accumulators;
    RescaleOperands a, b;
  };
  std::string open;  ///< why they are not one variable; empty: they are
  Chain a, b;        ///< empty on both sides where the sums themselves are delivered
  std::vector<Column> columns;
  /// An input with which a sum of the column is exactly this; nothing where none is found.
  std::function<std::optional<std::vector<Tensor>>(const Column& column, std::int64_t sum)> input_for{};
  std::optional<IntegerRange> outputs_a{}, outputs_b{};  ///< of convolutions: what the layer's output can hold
};

/// conv2d, depthwise_conv2d, transposed_conv2d, fully_connected with constant weights.
[[nodiscard]] SharedSums convolution_sums_of(const LayerOnBoth& layer);
/// average_pool2d, global_average_pool.
[[nodiscard]] SharedSums window_sums_of(const LayerOnBoth& layer);

}  // namespace lastbit
