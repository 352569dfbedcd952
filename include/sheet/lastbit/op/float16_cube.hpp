// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// conv2d, depthwise_conv2d, transposed_conv2d, fully_connected and matmul of float16 data.
//
// Contract, for one output:
//   1. terms: input times weight over the kernel and the channels of the group. A position outside the image, or between the pixels that a
//      transposed convolution spreads out, counts as a zero;
//   2. their order: kernel rows, kernel columns, channels; or blocks of 16 channels, kernel rows, kernel columns, the channels of the block,
//      filled up to 16 with zeros times zeros. A transposed convolution walks its kernel backwards, so that it walks the input forwards;
//   3. products and sums are rounded to the precision of the rule and added in its order; the running sum starts at the bias or at +0, or
//      the bias is added at the end;
//   4. the activation's bounds, then one conversion to float16 where the output is float16.
// Shapes: as in op/conv2d.hpp. A bias is of float16 or float32, which takes the precision of the sum.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "lastbit/arith/ordered_sum.hpp"
#include "lastbit/op/conv2d.hpp"
#include "lastbit/op/float16_steps.hpp"

namespace lastbit {

/// A tap of the kernel and a channel of the group; a negative channel fills a block up.
struct CubeTerm {
  std::int64_t tap, channel;
};

/// Step 2.
[[nodiscard]] constexpr std::vector<CubeTerm> cube_terms(TermOrder order, std::int64_t taps, std::int64_t channels, bool backwards) {
  constexpr std::int64_t channels_per_block = 16;
  const std::int64_t width = order == TermOrder::kernel_then_channel ? channels : channels_per_block;
  std::vector<CubeTerm> terms;
  for (std::int64_t first = 0; first < channels; first += width) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t c = first; c < first + width; ++c) terms.push_back({backwards ? taps - 1 - tap : tap, c < channels ? c : -1});
    }
  }
  return terms;
}

/// One layer, independent of the precision.
struct CubeLayer {
  ConvShape shape{};
  bool transposed = false;
  CubeArithmetic rule{};
  RealBounds bounds{};
  std::vector<CubeTerm> terms = cube_terms(rule.terms, shape.kernel_height* shape.kernel_width, shape.group_channels(), transposed);
};

/// Rows of `terms` values times a matrix of so many columns.
[[nodiscard]] constexpr ConvShape cube_rows(std::int64_t rows, std::int64_t terms, std::int64_t columns) {
  return {.in_width = rows, .in_channels = terms, .out_width = rows, .out_channels = columns};
}

/// The input pixel that a tap meets at an output pixel, or nothing.
[[nodiscard]] constexpr std::optional<std::int64_t> cube_pixel(const CubeLayer& layer, const ConvIndex& at, std::int64_t tap) {
  const ConvShape& s = layer.shape;
  std::int64_t y = tap / s.kernel_width, x = tap % s.kernel_width;
  if (layer.transposed) {
    y = at.y + s.pad_top - y;
    x = at.x + s.pad_left - x;
    if (y % s.stride_height != 0 || x % s.stride_width != 0) return std::nullopt;
    y /= s.stride_height;
    x /= s.stride_width;
  } else {
    y = at.y * s.stride_height + y * s.dilation_height - s.pad_top;
    x = at.x * s.stride_width + x * s.dilation_width - s.pad_left;
  }
  if (y < 0 || y >= s.in_height || x < 0 || x >= s.in_width) return std::nullopt;
  return (at.n * s.in_height + y) * s.in_width + x;
}

template <class Steps>
using CubeValues = std::vector<typename Steps::Value>;

template <class Steps>
[[nodiscard]] constexpr CubeValues<Steps> cube_values(const Steps& steps, std::span<const Float16> source) {
  CubeValues<Steps> values(source.size(), typename Steps::Value{});
  std::transform(source.begin(), source.end(), values.begin(), [&](Float16 value) { return steps.from(value); });
  return values;
}
/// Of float32 values.
template <class Steps>
[[nodiscard]] constexpr CubeValues<Steps> cube_values(const Steps& steps, std::span<const float> source) {
  CubeValues<Steps> values(source.size(), typename Steps::Value{});
  std::transform(source.begin(), source.end(), values.begin(), [&](float value) { return steps.rounded(value); });
  return values;
}

/// Weights as [output channel, term]; read(o, tap, channel) is one.
template <class Steps, class Read>
[[nodiscard]] constexpr CubeValues<Steps> cube_packed(const CubeLayer& layer, Read&& read) {
  CubeValues<Steps> weights;
  weights.reserve(static_cast<std::size_t>(layer.shape.out_channels) * layer.terms.size());
  for (std::int64_t o = 0; o < layer.shape.out_channels; ++o) {
    for (const CubeTerm& term : layer.terms)
      weights.push_back(term.channel < 0 ? typename Steps::Value{} : read(o, term.tap, term.channel));
  }
  return weights;
}

enum class CubeWeights : std::uint8_t { by_output, depthwise };

/// Weights of a convolution [o, ky, kx, i], of a fully connected layer [o, i], of a depthwise convolution [1, ky, kx, o].
template <class Steps>
[[nodiscard]] constexpr CubeValues<Steps> cube_weights(const Steps& steps, const CubeLayer& layer, CubeWeights lie,
                                                       std::span<const Float16> source) {
  const ConvShape& s = layer.shape;
  const std::int64_t taps = s.kernel_height * s.kernel_width, channels = s.group_channels();
  return cube_packed<Steps>(layer, [&](std::int64_t o, std::int64_t tap, std::int64_t channel) {
    const std::int64_t at = lie == CubeWeights::depthwise ? tap * s.out_channels + o : (o * taps + tap) * channels + channel;
    return steps.from(source[static_cast<std::size_t>(at)]);
  });
}

/// Step 3. `terms` is room for the products.
template <class Steps>
[[nodiscard]] constexpr typename Steps::Value cube_sum(const Steps& steps, const CubeArithmetic& rule, const typename Steps::Value* inputs,
                                                       const typename Steps::Value* weights, CubeValues<Steps>& terms,
                                                       typename Steps::Value bias) {
  using Value = typename Steps::Value;
  for (std::size_t k = 0; k < terms.size(); ++k) terms[k] = steps.product(inputs[k], weights[k]);
  const bool at_start = rule.bias == BiasAt::accumulator_start;
  const Value sum = ordered_sum<Value>(terms, rule.sum, at_start ? bias : Value{}, steps);
  return at_start ? sum : steps.sum(sum, bias);
}

/// Step 4. Bounds before the conversion and after it give the same: rounding keeps the order, and the bounds are float16 values or become so.
template <class Steps>
[[nodiscard]] constexpr Float16 cube_output(const Steps& steps, typename Steps::Value sum, const RealBounds& bounds) {
  return steps.delivered(steps.rounded(bounds(steps.real(sum))));
}

/// The inputs of one output pixel, group by group in the order of the terms.
template <class Steps>
constexpr void gather_cube_inputs(const CubeLayer& layer, const ConvIndex& at, const CubeValues<Steps>& input, CubeValues<Steps>& rows) {
  const ConvShape& s = layer.shape;
  std::vector<std::int64_t> first(static_cast<std::size_t>(s.kernel_height * s.kernel_width), -1);
  for (std::size_t tap = 0; tap < first.size(); ++tap) {
    if (const auto pixel = cube_pixel(layer, at, static_cast<std::int64_t>(tap))) first[tap] = *pixel * s.in_channels;
  }
  std::size_t k = 0;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    for (const CubeTerm& term : layer.terms) {
      const std::int64_t pixel = first[static_cast<std::size_t>(term.tap)];
      const std::int64_t channel = g * s.group_channels() + term.channel;
      rows[k++] = pixel < 0 || term.channel < 0 ? typename Steps::Value{} : input[static_cast<std::size_t>(pixel + channel)];
    }
  }
}

/// visit(sum) for every output in turn; one bias per output channel.
template <class Steps, class Visit>
constexpr void each_cube_sum(const Steps& steps, const CubeLayer& layer, const CubeValues<Steps>& input, const CubeValues<Steps>& weights,
                             const CubeValues<Steps>& bias, Visit&& visit) {
  const ConvShape& s = layer.shape;
  const std::size_t count = layer.terms.size();
  const std::int64_t columns = s.out_channels / s.groups;
  CubeValues<Steps> rows(count * static_cast<std::size_t>(s.groups), typename Steps::Value{}), terms(count, typename Steps::Value{});
  ConvIndex at;
  for (at.n = 0; at.n < s.batch; ++at.n) {
    for (at.y = 0; at.y < s.out_height; ++at.y) {
      for (at.x = 0; at.x < s.out_width; ++at.x) {
        gather_cube_inputs<Steps>(layer, at, input, rows);
        for (std::int64_t o = 0; o < s.out_channels; ++o) {
          const auto channel = static_cast<std::size_t>(o);
          visit(cube_sum(steps, layer.rule, rows.data() + static_cast<std::size_t>(o / columns) * count, weights.data() + channel * count,
                         terms, bias[channel]));
        }
      }
    }
  }
}

}  // namespace lastbit
