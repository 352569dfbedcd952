// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Transposed convolution.
//
// Contract: output (n, y, x, o) sums input[n, iy, ix, i] * weights[o, ky, kx, i] over every ky, kx for which
// iy = (y + pad_top - ky) / stride and ix = (x + pad_left - kx) / stride are whole and inside the input, in the order iy, ix, i
// (the order in which scattering kernels add). Zero points, accumulator and bias as in op/conv2d.hpp.
// Shapes: input [batch, in_height, in_width, in_channels], weights [out_channels, kernel_height, kernel_width, in_channels], output
//   [batch, out_height, out_width, out_channels], of which a convolution with the same stride and padding would have the input's places.
// Units and errors as in op/conv2d.hpp; bad_attribute for a dilation.
// Source: TFLite reference_integer_ops transpose_conv.h, which scatters; the sum is the same terms.
#pragma once

#include "lastbit/op/conv2d.hpp"

namespace lastbit {

/// Calls visit(input offset, weight offset) for every tap inside the image, in the contract's order.
template <class Visit>
constexpr void each_transposed_tap(const ConvShape& shape, const ConvIndex& at, Visit&& visit) {
  // A larger ky belongs to a smaller iy, so walking the kernel backwards walks the input forwards.
  for (std::int64_t ky = shape.kernel_height - 1; ky >= 0; --ky) {
    const std::int64_t y = at.y + shape.pad_top - ky;
    if (y < 0 || y % shape.stride_height != 0 || y / shape.stride_height >= shape.in_height) continue;
    for (std::int64_t kx = shape.kernel_width - 1; kx >= 0; --kx) {
      const std::int64_t x = at.x + shape.pad_left - kx;
      if (x < 0 || x % shape.stride_width != 0 || x / shape.stride_width >= shape.in_width) continue;
      const auto first_input = static_cast<std::size_t>(
          ((at.n * shape.in_height + y / shape.stride_height) * shape.in_width + x / shape.stride_width) * shape.in_channels);
      const auto first_weight = static_cast<std::size_t>(((at.o * shape.kernel_height + ky) * shape.kernel_width + kx) * shape.in_channels);
      for (std::size_t i = 0; i < static_cast<std::size_t>(shape.in_channels); ++i) visit(first_input + i, first_weight + i);
    }
  }
}

template <class Value>
[[nodiscard]] constexpr Accumulator accumulate_transposed_values(const ConvShape& shape, const ConvIndex& at, std::span<const Value> input,
                                                                 std::span<const std::int16_t> weights, std::span<const std::int64_t> bias,
                                                                 const AccumulatorRule& rule, BiasAt bias_at, std::int64_t multiplier,
                                                                 const TermRule& term) noexcept {
  const std::int64_t offset = bias_at_output(shape, at, bias);
  Accumulator sum(rule, bias_at == BiasAt::accumulator_start ? offset : 0, shape.group_at(at.x), multiplier);
  each_transposed_tap(shape, at, [&](std::size_t i, std::size_t w) { sum.add(term(std::int64_t{input[i]} * weights[w])); });
  if (bias_at == BiasAt::accumulator_end) sum.add_beside(offset);
  return sum;
}

/// Of inputs within 16 bits.
[[nodiscard]] constexpr Accumulator accumulate_transposed(const ConvShape& shape, const ConvIndex& at, std::span<const std::int16_t> input,
                                                          std::span<const std::int16_t> weights, std::span<const std::int64_t> bias,
                                                          const AccumulatorRule& rule, BiasAt bias_at,
                                                          std::int64_t multiplier = 1) noexcept {
  return accumulate_transposed_values(shape, at, input, weights, bias, rule, bias_at, multiplier, {});
}

}  // namespace lastbit
