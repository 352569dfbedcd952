// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The sums of a layer as one variable of both sides: where they are the same integers whatever the input, all that can differ is the way behind them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/certify/both_sides.hpp"
#include "engine/ops/conv_layer.hpp"
#include "lastbit/arith/rescale.hpp"
#include "model/checksum.hpp"

namespace lastbit {

struct SharedSums {
  /// One channel, or all windows of one count.
  struct Column {
    std::int64_t channel = 0;
    IntegerRange accumulators;  ///< that can be reached
    RescaleOperands a, b;
    std::optional<IntegerRange> accumulators_b{};  ///< the same sums as side b has them, where its bias is another
    std::int64_t gain = 0;  ///< how far an accumulator can move where every input moves by 1; the largest number: there is no such bound
    /// Of the accumulators, where every code of the input's range is as likely as any other, whatever the codes beside it.
    double mean = 0, variance = 0;
  };
  std::string open;  ///< why they are not one variable; empty: they are
  Chain a, b;        ///< empty on both sides where the sums themselves are delivered
  /// Sums can leave an accumulator of so many bits, which wraps: the columns' accumulators are the sums before that, in one piece, and both chains begin
  /// with it. 0: the columns' accumulators are what the device holds.
  int wraps_to = 0;
  std::vector<Column> columns;
  std::vector<std::size_t> column_of{};  ///< of every output; empty: columns are channels, which the outputs have last
  bool exact = true;                     ///< neither side narrows anything away
  /// Of the weights, biases and zero points that make the sums of side a.
  std::function<void(Checksum& sum)> add_terms{};
  /// An input with which a sum of the column is exactly this; nothing where none is found.
  std::function<std::optional<std::vector<Tensor>>(const Column& column, std::int64_t sum)> input_for{};
  std::optional<IntegerRange> outputs_a{}, outputs_b{};   ///< of convolutions: what the layer's output can hold
  std::shared_ptr<const ConvLayer> layer_a{}, layer_b{};  ///< of convolutions
};

/// The sum of the column that the device holds as this number.
[[nodiscard]] std::int64_t sum_held_as(std::int64_t held, const SharedSums& sums, const SharedSums::Column& column);

/// conv2d, depthwise_conv2d, transposed_conv2d, fully_connected with constant weights.
[[nodiscard]] SharedSums convolution_sums_of(const LayerOnBoth& layer);
/// The sums of a convolution that was gone through, where its output has another scale: `rescaled` is the layer alone. Nothing where they are not the same
/// sums then. Throws Error for what a side cannot do.
[[nodiscard]] std::optional<SharedSums> at_other_scale(const SharedSums& sums, const LayerOnBoth& layer, const Model& rescaled);
/// average_pool2d, global_average_pool.
[[nodiscard]] SharedSums window_sums_of(const LayerOnBoth& layer);

}  // namespace lastbit
