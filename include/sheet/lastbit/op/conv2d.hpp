// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Convolution: conv2d, depthwise_conv2d, fully_connected and matmul are all this one sum.
//
// Contract of `accumulate`, for output (n, y, x, o) of group g = o / (out_channels / groups):
//   1. terms: input[n, y*stride + ky*dilation - pad, x*stride + kx*dilation - pad, g*I + i] * weights[o, ky, kx, i] in the order ky, kx, i,
//      I = in_channels / groups. Input and weights have had their zero points subtracted, so a tap in the padding contributes nothing;
//      The terms of one ky are one run; so are the terms of a fully connected row. Where partial sums are of codes those of one (ky, kx) are,
//      and the weights' zero points are 0; where they are of the codes of the kernel all taps are, those in the padding too (accumulator.hpp);
//      A term is the product itself, or what the `operand` chain makes of it with the operands of channel o; with `centring` nothing no zero
//      point is subtracted;
//   2. with `bias_bits` given, the bias is kept as b' of that width, b = b' * 2^k with the smallest k >= 0 for which b' fits, what the shift
//      drops rounded by `bias_rounding`. There is one bias per channel, or one per output position [y, x, o];
//   3. the running sum follows the accumulator rule (arith/accumulator.hpp), with the multiplier of channel o; it starts at the bias, or the
//      bias is added last.
// `finish` is the `output` chain of arith/rescale.hpp with the operands of output channel o.
// Shapes: input [batch, in_height, in_width, in_channels], weights [out_channels, kernel_height, kernel_width, I], depthwise in the model
//   [1, kernel_height, kernel_width, out_channels]; output [batch, out_height, out_width, out_channels]. fully_connected: rows of weights
//   [out_channels, length], the input any whole number of rows; matmul: the last two axes, those before them broadcast.
// Units: a sum counts in input scale * weight scale, as the bias does; the output has a scale of its own, or none and is the sum.
// Errors: shape_mismatch, type_mismatch; unsupported_operation where the device has no arithmetic for the types, no encoding for the scale, or
//   has symmetric codes alone and a zero point is given.
// Centred values lie in [-2^15, 2^15]: 8-bit values minus an 8-bit zero point, or int16 values with zero point 0; inputs may also be uint16
// values with zero point 0, held in int32.
// Source: the definition of convolution; orders and widths are the backend's (docs/backends).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "lastbit/arith/accumulator.hpp"
#include "lastbit/arith/rounding.hpp"
#include "lastbit/backend.hpp"

namespace lastbit {

/// The sizes of a convolution.
struct ConvShape {
  std::int64_t batch = 1, in_height = 1, in_width = 1, in_channels = 1;
  std::int64_t out_height = 1, out_width = 1, out_channels = 1;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_height = 1, stride_width = 1, dilation_height = 1, dilation_width = 1;
  std::int64_t pad_top = 0, pad_left = 0;
  std::int64_t groups = 1;
  std::int64_t together = 1;  ///< columns of the output that the device processes together; the last ones may be fewer

  [[nodiscard]] constexpr std::int64_t group_channels() const { return in_channels / groups; }
  /// Terms of one sum.
  [[nodiscard]] constexpr std::int64_t taps() const { return kernel_height * kernel_width * group_channels(); }
  [[nodiscard]] constexpr std::int64_t out_count() const { return batch * out_height * out_width * out_channels; }
  /// How many columns are processed together with column x, itself counted.
  [[nodiscard]] constexpr std::size_t group_at(std::int64_t x) const {
    return static_cast<std::size_t>(std::min(together, out_width - x / together * together));
  }
};

/// Step 2: the bias that the device adds.
[[nodiscard]] constexpr std::int64_t stored_bias(std::int64_t bias, int bits, Rounding rounding) noexcept {
  if (bits == 0) return bias;
  int shift = 0;
  while (shift < 62 && !fits_width(shift_right(bias, shift, rounding), bits)) ++shift;
  return narrow_saturate(static_cast<Int128>(shift_right(bias, shift, rounding)) << shift, 64);
}

/// An output: image, row, column, channel.
struct ConvIndex {
  std::int64_t n = 0, y = 0, x = 0, o = 0;
};

/// Which terms are one run. kernel: all of them, with those in the padding.
enum class Runs : std::uint8_t { rows, positions, kernel };
[[nodiscard]] constexpr Runs runs_of(const AccumulatorRule& rule) noexcept {
  return sums_kernels(rule) ? Runs::kernel : sums_codes(rule) ? Runs::positions : Runs::rows;
}
/// The input offset of a tap in the padding.
inline constexpr std::size_t in_padding = std::numeric_limits<std::size_t>::max();

/// The taps of a kernel as one run, those in the padding among them.
template <class Visit, class BeginRun>
constexpr void each_tap_of_kernel(const ConvShape& shape, const ConvIndex& at, Visit&& visit, BeginRun&& begin_run) {
  const std::int64_t per_tap = shape.group_channels();
  const std::int64_t first_channel = at.o / (shape.out_channels / shape.groups) * per_tap;
  begin_run(shape.taps());
  std::int64_t weight = at.o * shape.taps();
  for (std::int64_t ky = 0; ky < shape.kernel_height; ++ky) {
    for (std::int64_t kx = 0; kx < shape.kernel_width; ++kx) {
      const std::int64_t y = at.y * shape.stride_height + ky * shape.dilation_height - shape.pad_top;
      const std::int64_t x = at.x * shape.stride_width + kx * shape.dilation_width - shape.pad_left;
      const bool is_inside = y >= 0 && y < shape.in_height && x >= 0 && x < shape.in_width;
      const std::int64_t input = ((at.n * shape.in_height + y) * shape.in_width + x) * shape.in_channels + first_channel;
      for (std::int64_t i = 0; i < per_tap; ++i)
        visit(is_inside ? static_cast<std::size_t>(input + i) : in_padding, static_cast<std::size_t>(weight++));
    }
  }
}

/// Calls begin_run(terms) for every run inside the image and visit(input offset, weight offset) for every tap of it, in the contract's order.
template <class Visit, class BeginRun>
constexpr void each_tap(const ConvShape& shape, const ConvIndex& at, Runs runs, Visit&& visit, BeginRun&& begin_run) {
  if (runs == Runs::kernel) return each_tap_of_kernel(shape, at, visit, begin_run);
  const std::int64_t per_tap = shape.group_channels();
  const std::int64_t first_channel = at.o / (shape.out_channels / shape.groups) * per_tap;
  const std::int64_t left = at.x * shape.stride_width - shape.pad_left;
  const auto is_inside = [&](std::int64_t kx) {
    const std::int64_t x = left + kx * shape.dilation_width;
    return x >= 0 && x < shape.in_width;
  };
  std::int64_t first = 0, last = shape.kernel_width;  // the columns of the kernel inside the image
  while (first < last && !is_inside(first)) ++first;
  while (last > first && !is_inside(last - 1)) --last;
  for (std::int64_t ky = 0; ky < shape.kernel_height; ++ky) {
    const std::int64_t y = at.y * shape.stride_height + ky * shape.dilation_height - shape.pad_top;
    if (y < 0 || y >= shape.in_height) continue;
    if (runs == Runs::rows) begin_run((last - first) * per_tap);
    for (std::int64_t kx = first; kx < last; ++kx) {
      if (runs == Runs::positions) begin_run(per_tap);
      const std::int64_t x = left + kx * shape.dilation_width;
      const std::int64_t input = ((at.n * shape.in_height + y) * shape.in_width + x) * shape.in_channels + first_channel;
      const std::int64_t weight = ((at.o * shape.kernel_height + ky) * shape.kernel_width + kx) * per_tap;
      for (std::int64_t i = 0; i < per_tap; ++i) visit(static_cast<std::size_t>(input + i), static_cast<std::size_t>(weight + i));
    }
  }
}
template <class Visit>
constexpr void each_tap(const ConvShape& shape, const ConvIndex& at, Visit&& visit) {
  each_tap(shape, at, Runs::rows, visit, [](std::int64_t) {});
}

/// The bias of one output: `bias` is empty (none), one per channel, or one per output position.
[[nodiscard]] constexpr std::int64_t bias_at_output(const ConvShape& shape, const ConvIndex& at, std::span<const std::int64_t> bias) {
  if (bias.empty()) return 0;
  const bool per_channel = bias.size() == static_cast<std::size_t>(shape.out_channels);
  return bias[static_cast<std::size_t>(per_channel ? at.o : (at.y * shape.out_width + at.x) * shape.out_channels + at.o)];
}

/// What makes codes of centred values: the zero point of the input, and those of the weights: none (0), one, or one per channel.
struct CodeZeros {
  std::int64_t input = 0;
  std::vector<std::int64_t> weights{};
  [[nodiscard]] std::int64_t of_weights(std::int64_t channel) const {
    return weights.empty() ? 0 : weights[weights.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  }
};

/// What a product becomes on its way into the sum.
struct TermRule {
  const Chain* chain = nullptr;  ///< null: it is the term
  const RescaleOperands* operands = nullptr;
  std::int64_t code_zero = 0;    ///< the input's zero point where partial sums are of codes
  std::int64_t weight_zero = 0;  ///< the weights', likewise
  /// What the product of the codes has more than that of the centred values.
  [[nodiscard]] constexpr std::int64_t beyond(std::int64_t input, std::int64_t weight) const noexcept {
    return code_zero * (weight + weight_zero) + input * weight_zero;
  }
  [[nodiscard]] constexpr std::int64_t operator()(std::int64_t product) const noexcept {
    return chain == nullptr ? product : finish(*chain, product, *operands);
  }
};

/// Of terms that are products: the zero points matter where partial sums are of codes.
[[nodiscard]] inline TermRule term_rule_of(const AccumulatorRule& rule, const CodeZeros& zeros, std::int64_t channel) {
  return sums_codes(rule) ? TermRule{.code_zero = zeros.input, .weight_zero = zeros.of_weights(channel)} : TermRule{};
}

/// One accumulator, step by step: the specification. `Value` holds every centred input.
template <class Value>
[[nodiscard]] constexpr Accumulator accumulate_values(const ConvShape& shape, const ConvIndex& at, std::span<const Value> input,
                                                      std::span<const std::int16_t> weights, std::span<const std::int64_t> bias,
                                                      const AccumulatorRule& rule, BiasAt bias_at, std::int64_t multiplier,
                                                      const TermRule& term) noexcept {
  const std::int64_t offset = bias_at_output(shape, at, bias);
  Accumulator sum(rule, bias_at == BiasAt::accumulator_start ? offset : 0, shape.group_at(at.x), multiplier);
  each_tap(
      shape, at, runs_of(rule),
      [&](std::size_t i, std::size_t w) {
        const std::int64_t value = i == in_padding ? 0 : std::int64_t{input[i]};
        sum.add(term(value * weights[w]), term.beyond(value, weights[w]));
      },
      [&](std::int64_t terms) { sum.begin_run(terms); });
  if (bias_at == BiasAt::accumulator_end) sum.add_beside(offset);
  return sum;
}

/// Of inputs within 16 bits.
[[nodiscard]] constexpr Accumulator accumulate(const ConvShape& shape, const ConvIndex& at, std::span<const std::int16_t> input,
                                               std::span<const std::int16_t> weights, std::span<const std::int64_t> bias,
                                               const AccumulatorRule& rule, BiasAt bias_at, std::int64_t multiplier = 1) noexcept {
  return accumulate_values(shape, at, input, weights, bias, rule, bias_at, multiplier, {});
}

}  // namespace lastbit
