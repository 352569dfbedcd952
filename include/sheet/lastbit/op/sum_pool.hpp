// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pooling by sum, and the pool of a fused convolution.
//
// Contract, for the values inside the image under one window of one channel (a window holds at least one):
//   1. the values are visited row by row, each row from left to right (rows_outermost), or column by column, each from top to bottom
//      (columns_outermost);
//   2. sum: each value less what the rule's `centring` says, through the `operand` chain, is added by the `accumulator` rule to a sum that
//      starts at 0; max: the largest value;
//   3. sum: the `output` chain, the layer's bounds included.
// Shapes: input [batch, height, width, channels], output [batch, rows, columns, channels], a place for every window. Units: integers as they are.
// Errors: bad_attribute for a window without a value, shape_mismatch; unsupported_operation where the device has no sum_pool.
// Source: Intel GNA library, convnet_generic-sat.cpp (docs/backends/gna.md).
#pragma once

#include <algorithm>
#include <cstdint>

#include "lastbit/op/conv2d.hpp"

namespace lastbit {

/// The sum of data whose type has so many bits.
[[nodiscard]] constexpr const SumArithmetic& sum_of_windows(const SumPoolArithmetic& rule, int data_bits) noexcept {
  return data_bits == 8 ? rule.i8 : rule.wide;
}

/// Step 1: calls visit(offset of the value) for one channel of the window at output (n, y, x).
template <class Visit>
constexpr void each_window_value(const ConvShape& shape, const ConvIndex& at, WindowOrder order, Visit&& visit) {
  const std::int64_t top = at.y * shape.stride_height - shape.pad_top, left = at.x * shape.stride_width - shape.pad_left;
  const std::int64_t y0 = std::max<std::int64_t>(top, 0), y1 = std::min(top + shape.kernel_height, shape.in_height);
  const std::int64_t x0 = std::max<std::int64_t>(left, 0), x1 = std::min(left + shape.kernel_width, shape.in_width);
  const auto offset = [&](std::int64_t y, std::int64_t x) {
    return static_cast<std::size_t>(((at.n * shape.in_height + y) * shape.in_width + x) * shape.in_channels + at.o);
  };
  if (order == WindowOrder::rows_outermost) {
    for (std::int64_t y = y0; y < y1; ++y) {
      for (std::int64_t x = x0; x < x1; ++x) visit(offset(y, x));
    }
  } else {
    for (std::int64_t x = x0; x < x1; ++x) {
      for (std::int64_t y = y0; y < y1; ++y) visit(offset(y, x));
    }
  }
}

}  // namespace lastbit
