// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The golden float path: the same layers on the real values that the codes stand for, in double, bounded by what the output's codes can say.
#pragma once

#include "lastbit/core/elementwise.hpp"
#include "lastbit/core/pools.hpp"
#include "lastbit/core/products.hpp"

/// The calls of lastbit/core.hpp without a device: real values, which no rule rounds.
namespace lastbit::golden {

/// What the codes stand for.
template <Code X>
[[nodiscard]] constexpr Array<double> real(const View<X>& x) {
  Array<double> y{std::vector<double>(x.values().size(), 0.0), x.shape()};
  std::transform(x.values().begin(), x.values().end(), y.values.begin(),
                 [&](X code) { return x.scale() * static_cast<double>(std::int64_t{code} - x.zero_point()); });
  return y;
}

namespace detail {

inline constexpr Backend any_device{};

/// A value within an activation, and within what the codes of the output can say where that has a scale.
template <Code Y>
[[nodiscard]] constexpr double bounded(double value, const OutputOptions& out) {
  const bool from_zero = out.activation == Activation::relu || out.activation == Activation::relu6;
  if (out.activation == Activation::absolute) value = value < 0 ? -value : value;
  if (from_zero) value = std::max(value, 0.0);
  if (out.activation == Activation::relu6) value = std::min(value, 6.0);
  if (out.activation == Activation::relu_n1_to_1) value = std::clamp(value, -1.0, 1.0);
  if (!(out.scale > 0)) return value;
  const auto of = [&out](std::int64_t code) { return out.scale * static_cast<double>(code - out.zero_point); };
  return std::clamp(value, of(core::least_code<Y>), of(core::largest_code<Y>));
}

template <core::ConvKind kind, Code X, Code W>
[[nodiscard]] constexpr Array<double> convolution(std::string_view operation, const View<X>& x, const View<W>& w,
                                                  std::span<const std::int32_t> bias, const Conv2dOptions& how,
                                                  std::optional<Extent2d> size = {}) {
  core::require_coding<X>(any_device, operation, x.zero_point());
  core::require_coding<W>(any_device, operation, w.zero_point());
  const ConvShape s = core::conv_shape(kind, {operation, x.shape(), w.shape(), bias.size(), w.scale_count(), size}, how);
  Array<double> y{std::vector<double>(static_cast<std::size_t>(s.out_count()), 0.0), {s.batch, s.out_height, s.out_width, s.out_channels}};
  for (std::int64_t i = 0; i < s.out_count(); ++i) {
    const std::int64_t pixel = i / s.out_channels, row = pixel / s.out_width, o = i % s.out_channels;
    const ConvIndex at{row / s.out_height, row % s.out_height, pixel % s.out_width, o};
    std::int64_t sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(o)];
    const auto add = [&](std::size_t from, std::size_t weight) {
      if (kind == core::ConvKind::depthwise)
        weight = weight % static_cast<std::size_t>(s.taps()) * static_cast<std::size_t>(s.out_channels) + static_cast<std::size_t>(o);
      sum += (std::int64_t{x.values()[from]} - x.zero_point()) * (std::int64_t{w.values()[weight]} - w.zero_point());
    };
    if (kind == core::ConvKind::transposed) each_transposed_tap(s, at, add);
    else each_tap(s, at, add);
    y.values[static_cast<std::size_t>(i)] = bounded<X>(x.scale() * w.scale(static_cast<std::size_t>(o)) * static_cast<double>(sum),
                                                       {how.scale, how.zero_point, how.activation});
  }
  return y;
}

template <Code X, class Function>
[[nodiscard]] constexpr Array<double> pairs(std::string_view operation, const View<X>& a, const View<X>& b, const OutputOptions& out,
                                            Function&& function) {
  const Extents shape = core::broadcast(operation, a.shape(), b.shape());
  const Array<double> real_a = real(a), real_b = real(b);
  Array<double> y{std::vector<double>(static_cast<std::size_t>(shape.count()), 0.0), shape};
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] =
        bounded<X>(function(real_a.values[core::met_by(i, shape, a.shape())], real_b.values[core::met_by(i, shape, b.shape())]), out);
  return y;
}

}  // namespace detail

// Without a scale in the options only the activation bounds the values.

template <Code X, Code W>
[[nodiscard]] constexpr Array<double> conv2d(const View<X>& x, const View<W>& w, std::span<const std::int32_t> bias,
                                             const Conv2dOptions& how = {}) {
  return detail::convolution<core::ConvKind::plain>("conv2d", x, w, bias, how);
}
template <Code X, Code W>
[[nodiscard]] constexpr Array<double> depthwise_conv2d(const View<X>& x, const View<W>& w, std::span<const std::int32_t> bias,
                                                       const Conv2dOptions& how = {}) {
  return detail::convolution<core::ConvKind::depthwise>("depthwise_conv2d", x, w, bias, how);
}
template <Code X, Code W>
[[nodiscard]] constexpr Array<double> transposed_conv2d(const View<X>& x, const View<W>& w, std::span<const std::int32_t> bias,
                                                        Extent2d size, const Conv2dOptions& how = {}) {
  return detail::convolution<core::ConvKind::transposed>("transposed_conv2d", x, w, bias, how, size);
}
/// x [rows, inputs], w [outputs, inputs].
template <Code X, Code W>
[[nodiscard]] constexpr Array<double> fully_connected(const View<X>& x, const View<W>& w, std::span<const std::int32_t> bias,
                                                      const OutputOptions& out = {}) {
  if (x.shape().rank() != 2 || w.shape().rank() != 2 || x.shape()[1] != w.shape()[1] ||
      (!bias.empty() && static_cast<std::int64_t>(bias.size()) != w.shape()[0]))
    throw Error(ErrorCode::shape_mismatch, "fully_connected",
                "x is [rows, inputs], the weights are [outputs, inputs], one bias per output");
  const auto rows = static_cast<std::size_t>(x.shape()[0]), outputs = static_cast<std::size_t>(w.shape()[0]);
  const auto length = static_cast<std::size_t>(x.shape()[1]);
  Array<double> y{std::vector<double>(rows * outputs, 0.0), {x.shape()[0], w.shape()[0]}};
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const std::size_t row = i / outputs, o = i % outputs;
    std::int64_t sum = bias.empty() ? 0 : bias[o];
    for (std::size_t t = 0; t < length; ++t)
      sum += (std::int64_t{x.values()[row * length + t]} - x.zero_point()) * (std::int64_t{w.values()[o * length + t]} - w.zero_point());
    y.values[i] = detail::bounded<X>(x.scale() * w.scale(o) * static_cast<double>(sum), out);
  }
  return y;
}
template <Code X>
[[nodiscard]] constexpr Array<double> add(const View<X>& a, const View<X>& b, const OutputOptions& out = {}) {
  return detail::pairs("add", a, b, out, [](double first, double second) { return first + second; });
}
template <Code X>
[[nodiscard]] constexpr Array<double> sub(const View<X>& a, const View<X>& b, const OutputOptions& out = {}) {
  return detail::pairs("sub", a, b, out, [](double first, double second) { return first - second; });
}
template <Code X>
[[nodiscard]] constexpr Array<double> mul(const View<X>& a, const View<X>& b, const OutputOptions& out = {}) {
  return detail::pairs("mul", a, b, out, [](double first, double second) { return first * second; });
}
template <Code X>
[[nodiscard]] constexpr Array<double> max_pool2d(const View<X>& x, Stride filter, const Pool2dOptions& how = {}) {
  const ConvShape windows = core::windows_of("max_pool2d", x, filter, how);
  const Array<double> values = real(x);
  Array<double> y{std::vector<double>(static_cast<std::size_t>(windows.out_count()), 0.0),
                  {windows.batch, windows.out_height, windows.out_width, windows.out_channels}};
  for (std::int64_t i = 0; i < windows.out_count(); ++i) {
    const std::int64_t pixel = i / windows.out_channels, row = pixel / windows.out_width;
    double largest = -std::numeric_limits<double>::infinity();
    core::each_value(windows, {row / windows.out_height, row % windows.out_height, pixel % windows.out_width, i % windows.out_channels},
                     [&](std::size_t at, bool inside) { largest = inside ? std::max(largest, values.values[at]) : largest; });
    y.values[static_cast<std::size_t>(i)] = detail::bounded<X>(largest, core::pool_output(x, how));
  }
  return y;
}
/// The average of the values inside the image.
template <Code X>
[[nodiscard]] constexpr Array<double> average_pool2d(const View<X>& x, Stride filter, const Pool2dOptions& how = {}) {
  const ConvShape windows = core::windows_of("average_pool2d", x, filter, how);
  Array<double> y{std::vector<double>(static_cast<std::size_t>(windows.out_count()), 0.0),
                  {windows.batch, windows.out_height, windows.out_width, windows.out_channels}};
  for (std::int64_t i = 0; i < windows.out_count(); ++i) {
    const std::int64_t pixel = i / windows.out_channels, row = pixel / windows.out_width;
    std::int64_t sum = 0, count = 0;
    core::each_value(windows, {row / windows.out_height, row % windows.out_height, pixel % windows.out_width, i % windows.out_channels},
                     [&](std::size_t at, bool inside) {
                       if (inside) sum += std::int64_t{x.values()[at]} - x.zero_point(), ++count;
                     });
    y.values[static_cast<std::size_t>(i)] =
        detail::bounded<X>(x.scale() * static_cast<double>(sum) / static_cast<double>(count), core::pool_output(x, how));
  }
  return y;
}
template <Code X>
[[nodiscard]] constexpr Array<double> global_average_pool2d(const View<X>& x, const Pool2dOptions& how = {}) {
  return average_pool2d(x, Stride(core::whole_image(x).height, core::whole_image(x).width), how);
}

}  // namespace lastbit::golden

namespace lastbit {

/// How far codes lie from real values, in codes of their own scale: each real value counts as the code nearest to it, half away from zero.
template <Code X>
[[nodiscard]] Difference difference(const Array<double>& real, const View<X>& codes) {
  if (real.shape != codes.shape())
    throw Error(ErrorCode::shape_mismatch, "difference", real.shape.text() + " against " + codes.shape().text());
  Array<X> nearest{std::vector<X>(real.values.size(), X{0}), real.shape, codes.scale(), codes.zero_point()};
  std::transform(real.values.begin(), real.values.end(), nearest.values.begin(), [&](double value) {
    return static_cast<X>(std::clamp(round_to_integer(value / codes.scale(), Rounding::half_away) + codes.zero_point(), core::least_code<X>,
                                     core::largest_code<X>));
  });
  return difference(nearest.view(), codes);
}
template <Code X>
[[nodiscard]] Difference difference(const Array<double>& real, const Array<X>& codes) {
  return difference(real, codes.view());
}

}  // namespace lastbit
