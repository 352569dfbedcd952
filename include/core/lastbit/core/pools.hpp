// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// max_pool2d, average_pool2d, global_average_pool2d. Contract, shapes and units: op/pool.hpp. Two forms of each, as in core/products.hpp.
#pragma once

#include "lastbit/core/products.hpp"
#include "lastbit/op/pool.hpp"

namespace lastbit {

/// Of a pool: scale and zero point of the output (unstated: the input's), stride (unstated: the window), padding, activation.
struct Pool2dOptions {
  double scale = 0;
  std::int64_t zero_point = 0;  ///< read where scale is stated
  Stride stride = 1;
  Padding padding = valid;
  Activation activation = Activation::none;
};

namespace core {

template <Code X>
[[nodiscard]] constexpr OutputOptions pool_output(const View<X>& x, const Pool2dOptions& how) {
  if (how.scale > 0) return {how.scale, how.zero_point, how.activation};
  return {x.scale(), x.zero_point(), how.activation};
}

template <class X>
[[nodiscard]] constexpr ConvShape windows_of(std::string_view operation, const View<X>& x, Extent2d filter, const Pool2dOptions& how) {
  const Extents& in = x.shape();
  if (in.rank() != 4) throw Error(ErrorCode::shape_mismatch, std::string(operation), "images are N, H, W, C: four sizes");
  if (filter.height < 1 || filter.width < 1 || how.stride.height < 1 || how.stride.width < 1)
    throw Error(ErrorCode::shape_mismatch, std::string(operation), "a window or a stride below 1");
  const Extent2d size = window_count(how.padding, {in[1], in[2]}, filter, how.stride);
  const ResolvedPadding padding = resolve_padding(how.padding, {in[1], in[2]}, filter, how.stride);
  if (size.height < 1 || size.width < 1 || padding.top >= filter.height || padding.left >= filter.width ||
      padding.bottom >= filter.height || padding.right >= filter.width)
    throw Error(ErrorCode::shape_mismatch, std::string(operation), "a window without a value of the image");
  return {.batch = in[0],
          .in_height = in[1],
          .in_width = in[2],
          .in_channels = in[3],
          .out_height = size.height,
          .out_width = size.width,
          .out_channels = in[3],
          .kernel_height = filter.height,
          .kernel_width = filter.width,
          .stride_height = how.stride.height,
          .stride_width = how.stride.width,
          .pad_top = padding.top,
          .pad_left = padding.left,
          .groups = in[3]};
}

/// visit(index of the value in the image, whether it lies inside) for every tap of an output's window, row by row; outside it is the nearest one.
template <class Visit>
constexpr void each_value(const ConvShape& s, const ConvIndex& at, Visit&& visit) {
  for (std::int64_t ky = 0; ky < s.kernel_height; ++ky) {
    for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
      const std::int64_t y = at.y * s.stride_height + ky - s.pad_top, x = at.x * s.stride_width + kx - s.pad_left;
      const std::int64_t row = std::clamp<std::int64_t>(y, 0, s.in_height - 1), column = std::clamp<std::int64_t>(x, 0, s.in_width - 1);
      visit(static_cast<std::size_t>(((at.n * s.in_height + row) * s.in_width + column) * s.in_channels + at.o), row == y && column == x);
    }
  }
}

template <class X, class Value>
[[nodiscard]] constexpr Array<X> each_output(const ConvShape& s, const OutputOptions& out, Value&& value) {
  Array<X> y{std::vector<X>(static_cast<std::size_t>(s.out_count()), X{0}),
             {s.batch, s.out_height, s.out_width, s.out_channels},
             out.scale,
             out.zero_point};
  for (std::int64_t i = 0; i < s.out_count(); ++i) {
    const std::int64_t pixel = i / s.out_channels, row = pixel / s.out_width;
    y.values[static_cast<std::size_t>(i)] =
        static_cast<X>(value(ConvIndex{row / s.out_height, row % s.out_height, pixel % s.out_width, i % s.out_channels}));
  }
  return y;
}

template <class Device, Code X>
[[nodiscard]] constexpr Array<X> largest(const Device& device, const View<X>& x, Extent2d filter, const Pool2dOptions& how) {
  constexpr std::string_view operation = "max_pool2d";
  require_coding<X>(device.backend(), operation, x.zero_point());
  require(device.backend().max_pool != MaxPool::absent, operation, "the device has no max_pool2d");
  const OutputOptions out = pool_output(x, how);
  require(out.scale == x.scale() && out.zero_point == x.zero_point(), operation, "input and output must have one quantisation");
  const ConvShape windows = windows_of(operation, x, filter, how);
  const IntegerRange bounds = bounds_of<X>(out);
  return each_output<X>(windows, out, [&](const ConvIndex& at) {
    std::int64_t found = least_code<X>;
    each_value(windows, at, [&](std::size_t i, bool inside) { found = inside ? std::max<std::int64_t>(found, x.values()[i]) : found; });
    return std::clamp(found, bounds.min, bounds.max);
  });
}

/// Averages in float32, value by value.
template <Code X>
[[nodiscard]] constexpr Array<X> averages_in_float(const AveragePoolArithmetic& rule, const View<X>& x, const ConvShape& windows,
                                                   const OutputOptions& out) {
  const auto in_scale = static_cast<float>(x.scale()), out_scale = static_cast<float>(out.scale), zero = static_cast<float>(out.zero_point);
  const IntegerRange bounds = bounds_of<X>(out);
  return each_output<X>(windows, out, [&](const ConvIndex& at) {
    float sum = 0;
    std::int64_t inside_count = 0;
    each_value(windows, at, [&](std::size_t i, bool inside) {
      if (!inside) return;
      ++inside_count;
      sum += in_scale * static_cast<float>(std::int64_t{x.values()[i]} - x.zero_point());
    });
    const auto count =
        static_cast<float>(rule.padding == PaddingCount::excluded ? inside_count : windows.kernel_height * windows.kernel_width);
    return std::clamp(round_to_integer(sum / count / out_scale + zero, rule.in_float.rounding), bounds.min, bounds.max);
  });
}

template <class Rule, Code X>
[[nodiscard]] constexpr Array<X> averages(std::string_view operation, const Rule& held, const View<X>& x, const ConvShape& windows,
                                          const OutputOptions& out) {
  const AveragePoolArithmetic& rule = held();
  const bool in_float = rule.in_float.method != FloatAverageMethod::absent;
  require(in_float || exists(rule.sum), operation, "the device has no average pooling");
  stated(rule.output_scale, "average_pool2d", "output_scale");
  stated(rule.padding, "average_pool2d", "padding");
  require((rule.output_scale == OutputScale::own || out.scale == x.scale()) &&
              (rule.output_scale != OutputScale::of_input || out.zero_point == x.zero_point()),
          operation, "the device's average pooling does not rescale: input and output must have one quantisation");
  if (in_float) return averages_in_float(rule, x, windows, out);
  require_output_chain(rule.sum.output.chain, operation, out.activation);
  const RescaleOperands output = output_operands<X>(out);
  const std::int64_t whole = windows.kernel_height * windows.kernel_width, zero = centred_by(rule.sum.centring, x.zero_point());
  return each_output<X>(windows, out, [&](const ConvIndex& at) {
    std::int64_t inside_count = 0;
    each_value(windows, at, [&](std::size_t, bool inside) { inside_count += inside ? 1 : 0; });
    const std::int64_t count = rule.padding == PaddingCount::excluded ? inside_count : whole;
    const RescaleOperands terms = rule.sum.operand.chain.empty() ? RescaleOperands{} : term_operands(rule.sum, x.scale(), out.scale, count);
    Accumulator sum(rule.sum.accumulator, 0);
    const auto add = [&](std::int64_t code) {
      sum.add(rule.sum.operand.chain.empty() ? code - zero : finish(rule.sum.operand.chain, code - zero, terms));
    };
    each_value(windows, at, [&](std::size_t i, bool inside) {
      if (inside || rule.padding == PaddingCount::edge_repeated) add(x.values()[i]);
    });
    if (rule.padding == PaddingCount::included) {
      for (std::int64_t outside = whole - inside_count; outside > 0; --outside) add(x.zero_point());
    }
    const RescaleOperands operands =
        average_operands(rule, x.scale(), out.scale, count, windows.kernel_width, windows.kernel_height, output);
    require(holds(rule.sum.output.scale, operands.scale), operation,
            "the device can only shift, and the scale is no power of two that it has");
    return finish_by(held, output_chain_of, sum.result(), operands);
  });
}

template <class Device, Code X>
[[nodiscard]] constexpr Array<X> average(const Device& device, const View<X>& x, Extent2d filter, const Pool2dOptions& how, bool global) {
  const std::string_view operation = global ? "global_average_pool2d" : "average_pool2d";
  const OutputOptions out = pool_output(x, how);
  require_coding<X>(device.backend(), operation, x.zero_point());
  require_coding<X>(device.backend(), operation, out.zero_point);
  const ConvShape windows = windows_of(operation, x, filter, how);
  if (global)
    return averages(operation, device.rule([](const Backend& b) -> const auto& { return b.global_average_pool; }), x, windows, out);
  return averages(operation, device.rule([](const Backend& b) -> const auto& { return b.average_pool; }), x, windows, out);
}

template <class X>
[[nodiscard]] constexpr Extent2d whole_image(const View<X>& x) {
  if (x.shape().rank() != 4) throw Error(ErrorCode::shape_mismatch, "global_average_pool2d", "images are N, H, W, C: four sizes");
  return {x.shape()[1], x.shape()[2]};
}

}  // namespace core

/// The largest code of every window.
template <const Backend& device, Code X>
[[nodiscard]] constexpr Array<X> max_pool2d(const View<X>& x, Stride filter, const Pool2dOptions& how = {}) {
  return core::largest(core::KnownDevice<device>{}, x, filter, how);
}
template <Code X>
[[nodiscard]] constexpr Array<X> max_pool2d(const Backend& device, const View<X>& x, Stride filter, const Pool2dOptions& how = {}) {
  return core::largest(core::GivenDevice{&device}, x, filter, how);
}

/// The average of every window.
template <const Backend& device, Code X>
[[nodiscard]] constexpr Array<X> average_pool2d(const View<X>& x, Stride filter, const Pool2dOptions& how = {}) {
  return core::average(core::KnownDevice<device>{}, x, filter, how, false);
}
template <Code X>
[[nodiscard]] constexpr Array<X> average_pool2d(const Backend& device, const View<X>& x, Stride filter, const Pool2dOptions& how = {}) {
  return core::average(core::GivenDevice{&device}, x, filter, how, false);
}

/// The average of every channel: [batch, 1, 1, channels].
template <const Backend& device, Code X>
[[nodiscard]] constexpr Array<X> global_average_pool2d(const View<X>& x, const Pool2dOptions& how = {}) {
  return core::average(core::KnownDevice<device>{}, x, core::whole_image(x), how, true);
}
template <Code X>
[[nodiscard]] constexpr Array<X> global_average_pool2d(const Backend& device, const View<X>& x, const Pool2dOptions& how = {}) {
  return core::average(core::GivenDevice{&device}, x, core::whole_image(x), how, true);
}

}  // namespace lastbit
