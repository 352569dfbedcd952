// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers of binary16 values on the devices that have them, by the rules of Backend::float16: op/float16_cube.hpp, op/float16_reduce.hpp,
// op/float16_quantize.hpp. Two forms of each, as in core/products.hpp. Views and options state no scale: a binary16 value is its own.
// Throws Error(unsupported_operation) for a device without float16 arithmetic, or that leaves a rule of it unstated; a constant of such a device does not
// compile.
#pragma once

#include "lastbit/core/elementwise.hpp"
#include "lastbit/core/pools.hpp"
#include "lastbit/core/products.hpp"
#include "lastbit/op/float16_cube.hpp"
#include "lastbit/op/float16_quantize.hpp"
#include "lastbit/op/float16_reduce.hpp"

namespace lastbit {

template <class T>
concept Binary16 = std::same_as<T, Float16>;

/// Of a layer of binary16 values: none ({}), or one per output channel, of binary16 or float32, which the caller keeps.
class Float16Bias {
 public:
  constexpr Float16Bias() = default;
  template <std::ranges::contiguous_range Range>
  requires std::same_as<std::remove_cv_t<std::ranges::range_value_t<Range>>, Float16>
  constexpr Float16Bias(const Range& values)  // NOLINT(google-explicit-constructor): a bias is an argument of a layer
      : halves_(std::ranges::data(values), std::ranges::size(values)) {}
  template <std::ranges::contiguous_range Range>
  requires std::same_as < std::remove_cv_t<std::ranges::range_value_t<Range>>,
  float > constexpr Float16Bias(const Range& values)  // NOLINT(google-explicit-constructor)
      : floats_(std::ranges::data(values), std::ranges::size(values)) {}

  [[nodiscard]] constexpr std::size_t size() const { return halves_.size() + floats_.size(); }
  /// In the precision of a sum, so many; none: zeros.
  template <class Steps>
  [[nodiscard]] constexpr CubeValues<Steps> values(const Steps& steps, std::int64_t channels) const {
    if (!halves_.empty()) return cube_values(steps, halves_);
    if (!floats_.empty()) return cube_values(steps, floats_);
    return CubeValues<Steps>(static_cast<std::size_t>(channels), typename Steps::Value{});
  }

 private:
  std::span<const Float16> halves_{};
  std::span<const float> floats_{};
};

namespace core {

template <class... Rules>
[[nodiscard]] constexpr bool are_stated(Rules... rules) {
  return ((rules != unstated<Rules>)&&...);
}
[[nodiscard]] constexpr bool is_stated(const Float16Rules& rule) { return are_stated(rule.rounding, rule.overflow, rule.top_exponent); }
[[nodiscard]] constexpr bool is_stated(const SumRule& rule) { return are_stated(rule.precision, rule.order) && rule.block > 0; }
[[nodiscard]] constexpr bool is_stated(const CubeArithmetic& rule) { return is_stated(rule.sum) && are_stated(rule.terms, rule.bias); }
[[nodiscard]] constexpr bool is_stated(const Float16Mean& rule) { return is_stated(rule.sum) && are_stated(rule.scaling); }
[[nodiscard]] constexpr bool is_stated(const Float16Quantize& rule) { return are_stated(rule.steps, rule.factor, rule.rounding); }
[[nodiscard]] constexpr bool is_stated(const Float16Dequantize& rule) { return rule.scale_bits > 0 && rule.scale_bits <= 24; }

/// The device's float16 rules, of which these have been read.
template <class Device, class... Rules>
[[nodiscard]] constexpr const Float16Arithmetic& float16_rules(const Device& device, std::string_view operation,
                                                               Rules Float16Arithmetic::*... read) {
  if constexpr (!std::is_same_v<Device, GivenDevice>)
    static_assert(Device::backend().float16.method != Float16Method::absent, "the device has no float16 arithmetic");
  const Float16Arithmetic& rules = device.backend().float16;
  require(rules.method != Float16Method::absent, operation, "the device has no float16 arithmetic");
  require(is_stated(rules.conversion) && (is_stated(rules.*read) && ...), operation,
          "a rule of the device's float16 arithmetic is not stated");
  return rules;
}

template <Binary16 X>
constexpr void require_no_scale(std::string_view operation, const View<X>& x) {
  if (x.per_channel() || x.scale() != 1 || x.zero_point() != 0)
    throw Error(ErrorCode::bad_quantization, std::string(operation), "binary16 values have no scale");
}
/// Of an output.
constexpr void require_no_scale(std::string_view operation, const OutputOptions& out) {
  if (out.scale != 0 || out.zero_point != 0)
    throw Error(ErrorCode::bad_quantization, std::string(operation), "a binary16 output has no scale and no zero point");
  require(out.activation != Activation::absolute, operation, "there is no activation absolute of binary16 values");
}

/// The sums of a layer as its outputs; weights(steps) and bias(steps) are in the precision of the sum.
template <Binary16 X, class Weights>
[[nodiscard]] constexpr Array<X> cube_outputs(const Float16Arithmetic& rules, const CubeLayer& layer, const Extents& shape,
                                              const View<X>& x, Weights&& weights, const Float16Bias& bias) {
  Array<X> y{std::vector<X>(static_cast<std::size_t>(shape.count()), X{}), shape};
  Float16Rounder rounder(rules);
  with_steps(rules.cube.sum.precision, rounder, [&]<class Steps>(const Steps& steps) {
    std::size_t at = 0;
    each_cube_sum(steps, layer, cube_values(steps, x.values()), weights(steps), bias.values(steps, layer.shape.out_channels),
                  [&](typename Steps::Value sum) { y.values[at++] = cube_output(steps, sum, layer.bounds); });
  });
  return y;
}

template <ConvKind kind, class Device, Binary16 X>
[[nodiscard]] constexpr Array<X> float16_convolution(const Device& device, std::string_view operation, const View<X>& x, const View<X>& w,
                                                     const Float16Bias& bias, const Conv2dOptions& how, std::optional<Extent2d> size = {}) {
  const Float16Arithmetic& rules = float16_rules(device, operation, &Float16Arithmetic::cube, &Float16Arithmetic::product);
  require_no_scale(operation, x);
  require_no_scale(operation, w);
  require_no_scale(operation, OutputOptions{how.scale, how.zero_point, how.activation});
  const CubeLayer layer{.shape = conv_shape(kind, {operation, x.shape(), w.shape(), bias.size(), w.scale_count(), size}, how),
                        .transposed = kind == ConvKind::transposed,
                        .rule = rules.cube,
                        .bounds = real_bounds(how.activation)};
  constexpr CubeWeights lie = kind == ConvKind::depthwise ? CubeWeights::depthwise : CubeWeights::by_output;
  return cube_outputs(
      rules, layer, outputs_of(layer.shape), x, [&](const auto& steps) { return cube_weights(steps, layer, lie, w.values()); }, bias);
}

template <class Device, Binary16 X>
[[nodiscard]] constexpr Array<X> float16_dense(const Device& device, const View<X>& x, const View<X>& w, const Float16Bias& bias,
                                               const OutputOptions& out) {
  constexpr std::string_view operation = "fully_connected";
  const Float16Arithmetic& rules = float16_rules(device, operation, &Float16Arithmetic::cube, &Float16Arithmetic::product);
  require_no_scale(operation, x);
  require_no_scale(operation, w);
  require_no_scale(operation, out);
  if (x.shape().rank() != 2 || w.shape().rank() != 2 || x.shape()[1] != w.shape()[1])
    throw Error(ErrorCode::shape_mismatch, std::string(operation), "x is [rows, inputs] and the weights are [outputs, inputs]");
  const std::int64_t rows = x.shape()[0], outputs = w.shape()[0];
  if (bias.size() != 0 && static_cast<std::int64_t>(bias.size()) != outputs)
    throw Error(ErrorCode::shape_mismatch, std::string(operation), "there is one bias per output");
  const CubeLayer layer{.shape = cube_rows(rows, x.shape()[1], outputs), .rule = rules.cube, .bounds = real_bounds(out.activation)};
  return cube_outputs(
      rules, layer, {rows, outputs}, x, [&](const auto& steps) { return cube_weights(steps, layer, CubeWeights::by_output, w.values()); },
      bias);
}

template <class Device, Binary16 X>
[[nodiscard]] constexpr Array<X> float16_matrix_product(const Device& device, const View<X>& a, const View<X>& b,
                                                        const OutputOptions& out) {
  constexpr std::string_view operation = "matmul";
  const Float16Arithmetic& rules = float16_rules(device, operation, &Float16Arithmetic::cube, &Float16Arithmetic::product);
  require_no_scale(operation, a);
  require_no_scale(operation, b);
  require_no_scale(operation, out);
  if (a.shape().rank() != 2 || b.shape().rank() != 2 || a.shape()[1] != b.shape()[0])
    throw Error(ErrorCode::shape_mismatch, std::string(operation), "a is [rows, length] and b is [length, columns]");
  const std::int64_t rows = a.shape()[0], columns = b.shape()[1];
  const CubeLayer layer{.shape = cube_rows(rows, a.shape()[1], columns), .rule = rules.cube, .bounds = real_bounds(out.activation)};
  const auto weights = [&]<class Steps>(const Steps& steps) {
    return cube_packed<Steps>(layer, [&](std::int64_t o, std::int64_t, std::int64_t channel) {
      return steps.from(b.values()[static_cast<std::size_t>(channel * columns + o)]);
    });
  };
  return cube_outputs(rules, layer, {rows, columns}, a, weights, {});
}

/// value(rounder, a, b) within the activation.
template <Binary16 X, class Value>
[[nodiscard]] constexpr Array<X> float16_pairs(std::string_view operation, const Float16Arithmetic& rules, const View<X>& a,
                                               const View<X>& b, const OutputOptions& out, Value&& value) {
  require_no_scale(operation, a);
  require_no_scale(operation, b);
  require_no_scale(operation, out);
  Float16Rounder rounder(rules);
  const Float16Bounds bounded(real_bounds(out.activation), rounder);
  Array<X> y = each_pair<X>(broadcast(operation, a.shape(), b.shape()), out, a.shape(), b.shape(),
                            [&](std::size_t i, std::size_t j) { return bounded(value(rounder, a.values()[i], b.values()[j])); });
  y.scale = 1;
  return y;
}

template <SumKind kind, class Device, Binary16 X>
[[nodiscard]] constexpr Array<X> float16_sum(const Device& device, const View<X>& a, const View<X>& b, const OutputOptions& out) {
  constexpr std::string_view operation = kind == SumKind::sub ? "sub" : "add";
  return float16_pairs(operation, float16_rules(device, operation, &Float16Arithmetic::sum), a, b, out,
                       [](Float16Rounder& rounder, Float16 first, Float16 second) {
                         return kind == SumKind::sub ? rounder.difference(first, second) : rounder.sum(first, second);
                       });
}

template <class Device, Binary16 X>
[[nodiscard]] constexpr Array<X> float16_product(const Device& device, const View<X>& a, const View<X>& b, const OutputOptions& out) {
  return float16_pairs("mul", float16_rules(device, "mul", &Float16Arithmetic::product), a, b, out,
                       [](Float16Rounder& rounder, Float16 first, Float16 second) { return rounder.product(first, second); });
}

/// value(rounder, the values of a window inside the image) within the activation.
template <Binary16 X, class Value>
[[nodiscard]] constexpr Array<X> float16_windows(std::string_view operation, const Float16Arithmetic& rules, const View<X>& x,
                                                 Extent2d filter, const Pool2dOptions& how, Value&& value) {
  require_no_scale(operation, x);
  require_no_scale(operation, OutputOptions{how.scale, how.zero_point, how.activation});
  const ConvShape windows = windows_of(operation, x, filter, how);
  Float16Rounder rounder(rules);
  const Float16Bounds bounded(real_bounds(how.activation), rounder);
  std::vector<Float16> values;
  Array<X> y = each_output<X>(windows, {}, [&](const ConvIndex& at) {
    values.clear();
    each_value(windows, at, [&](std::size_t i, bool inside) {
      if (inside) values.push_back(x.values()[i]);
    });
    return bounded(value(rounder, std::span<const Float16>(values)));
  });
  y.scale = 1;
  return y;
}

template <class Device, Binary16 X>
[[nodiscard]] constexpr Array<X> float16_largest_of(const Device& device, const View<X>& x, Extent2d filter, const Pool2dOptions& how) {
  return float16_windows("max_pool2d", float16_rules(device, "max_pool2d"), x, filter, how,
                         [](Float16Rounder& rounder, std::span<const Float16> values) { return float16_largest(rounder, values); });
}

enum class Averaged : std::uint8_t { windows, image };

template <class Device, Binary16 X>
[[nodiscard]] constexpr Array<X> float16_average(const Device& device, const View<X>& x, Extent2d filter, const Pool2dOptions& how,
                                                 Averaged what) {
  const std::string_view operation = what == Averaged::image ? "global_average_pool2d" : "average_pool2d";
  const auto member = what == Averaged::image ? &Float16Arithmetic::mean : &Float16Arithmetic::average_pool;
  const Float16Arithmetic& rules = float16_rules(device, operation, member, &Float16Arithmetic::sum, &Float16Arithmetic::product);
  return float16_windows(operation, rules, x, filter, how, [&](Float16Rounder& rounder, std::span<const Float16> values) {
    return float16_mean(rules.*member, rounder, values);
  });
}

/// float32 as binary16.
template <class Device>
[[nodiscard]] constexpr Array<Float16> float16_cast(const Device& device, std::span<const float> values, const Extents& shape) {
  const View<float> x(values, shape);
  Float16Rounder rounder(float16_rules(device, "quantize"));
  Array<Float16> y{std::vector<Float16>(values.size(), Float16{}), shape};
  std::transform(values.begin(), values.end(), y.values.begin(), [&](float value) { return rounder.cast(value); });
  return y;
}

template <class Device, Binary16 X>
[[nodiscard]] constexpr Array<float> float16_real(const Device& device, const View<X>& x) {
  require_no_scale("dequantize", x);
  const Float16Rounder rounder(float16_rules(device, "dequantize"));
  Array<float> y{std::vector<float>(x.values().size(), 0.0F), x.shape()};
  std::transform(x.values().begin(), x.values().end(), y.values.begin(), [&](X value) { return rounder.real(value); });
  return y;
}

/// Codes as binary16.
template <class Device, Code X>
[[nodiscard]] constexpr Array<Float16> float16_dequantized(const Device& device, const View<X>& x) {
  const Float16Arithmetic& rules = float16_rules(device, "dequantize", &Float16Arithmetic::dequantize);
  require(!x.per_channel(), "dequantize", "the codes have one scale");
  Float16Rounder rounder(rules);
  Array<Float16> y{std::vector<Float16>(x.values().size(), Float16{}), x.shape()};
  std::transform(x.values().begin(), x.values().end(), y.values.begin(),
                 [&](X code) { return float16_dequantize(rounder, rules.dequantize, std::int64_t{code} - x.zero_point(), x.scale()); });
  return y;
}

/// The place of a pattern among all of them in the order of their values: -0 lies one below +0, infinities and NaN beyond 65504.
[[nodiscard]] constexpr std::int64_t place_of(Float16 value) {
  const std::int64_t magnitude = value.bits & 0x7FFF;
  return (value.bits & 0x8000) != 0 ? -magnitude - 1 : magnitude;
}

}  // namespace core

/// A convolution of binary16 values: x N, H, W, C; w O, H, W, I, where I divides C (groups).
template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<X> conv2d(const View<X>& x, const View<X>& w, const Float16Bias& bias, const Conv2dOptions& how = {}) {
  return core::float16_convolution<core::ConvKind::plain>(core::KnownDevice<device>{}, "conv2d", x, w, bias, how);
}
template <Binary16 X>
[[nodiscard]] constexpr Array<X> conv2d(const Backend& device, const View<X>& x, const View<X>& w, const Float16Bias& bias,
                                        const Conv2dOptions& how = {}) {
  return core::float16_convolution<core::ConvKind::plain>(core::GivenDevice{&device}, "conv2d", x, w, bias, how);
}

/// Channel by channel: w 1, H, W, C * multiplier.
template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<X> depthwise_conv2d(const View<X>& x, const View<X>& w, const Float16Bias& bias,
                                                  const Conv2dOptions& how = {}) {
  return core::float16_convolution<core::ConvKind::depthwise>(core::KnownDevice<device>{}, "depthwise_conv2d", x, w, bias, how);
}
template <Binary16 X>
[[nodiscard]] constexpr Array<X> depthwise_conv2d(const Backend& device, const View<X>& x, const View<X>& w, const Float16Bias& bias,
                                                  const Conv2dOptions& how = {}) {
  return core::float16_convolution<core::ConvKind::depthwise>(core::GivenDevice{&device}, "depthwise_conv2d", x, w, bias, how);
}

/// Transposed, to an image of `size`: w O, H, W, I.
template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<X> transposed_conv2d(const View<X>& x, const View<X>& w, const Float16Bias& bias, Extent2d size,
                                                   const Conv2dOptions& how = {}) {
  return core::float16_convolution<core::ConvKind::transposed>(core::KnownDevice<device>{}, "transposed_conv2d", x, w, bias, how, size);
}
template <Binary16 X>
[[nodiscard]] constexpr Array<X> transposed_conv2d(const Backend& device, const View<X>& x, const View<X>& w, const Float16Bias& bias,
                                                   Extent2d size, const Conv2dOptions& how = {}) {
  return core::float16_convolution<core::ConvKind::transposed>(core::GivenDevice{&device}, "transposed_conv2d", x, w, bias, how, size);
}

/// x [rows, inputs], w [outputs, inputs].
template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<X> fully_connected(const View<X>& x, const View<X>& w, const Float16Bias& bias,
                                                 const OutputOptions& out = {}) {
  return core::float16_dense(core::KnownDevice<device>{}, x, w, bias, out);
}
template <Binary16 X>
[[nodiscard]] constexpr Array<X> fully_connected(const Backend& device, const View<X>& x, const View<X>& w, const Float16Bias& bias,
                                                 const OutputOptions& out = {}) {
  return core::float16_dense(core::GivenDevice{&device}, x, w, bias, out);
}

/// a [rows, length] times b [length, columns].
template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<X> matmul(const View<X>& a, const View<X>& b, const OutputOptions& out = {}) {
  return core::float16_matrix_product(core::KnownDevice<device>{}, a, b, out);
}
template <Binary16 X>
[[nodiscard]] constexpr Array<X> matmul(const Backend& device, const View<X>& a, const View<X>& b, const OutputOptions& out = {}) {
  return core::float16_matrix_product(core::GivenDevice{&device}, a, b, out);
}

/// Two arrays, which broadcast as numpy's do.
template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<X> add(const View<X>& a, const View<X>& b, const OutputOptions& out = {}) {
  return core::float16_sum<core::SumKind::add>(core::KnownDevice<device>{}, a, b, out);
}
template <Binary16 X>
[[nodiscard]] constexpr Array<X> add(const Backend& device, const View<X>& a, const View<X>& b, const OutputOptions& out = {}) {
  return core::float16_sum<core::SumKind::add>(core::GivenDevice{&device}, a, b, out);
}
template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<X> sub(const View<X>& a, const View<X>& b, const OutputOptions& out = {}) {
  return core::float16_sum<core::SumKind::sub>(core::KnownDevice<device>{}, a, b, out);
}
template <Binary16 X>
[[nodiscard]] constexpr Array<X> sub(const Backend& device, const View<X>& a, const View<X>& b, const OutputOptions& out = {}) {
  return core::float16_sum<core::SumKind::sub>(core::GivenDevice{&device}, a, b, out);
}
template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<X> mul(const View<X>& a, const View<X>& b, const OutputOptions& out = {}) {
  return core::float16_product(core::KnownDevice<device>{}, a, b, out);
}
template <Binary16 X>
[[nodiscard]] constexpr Array<X> mul(const Backend& device, const View<X>& a, const View<X>& b, const OutputOptions& out = {}) {
  return core::float16_product(core::GivenDevice{&device}, a, b, out);
}

template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<X> max_pool2d(const View<X>& x, Stride filter, const Pool2dOptions& how = {}) {
  return core::float16_largest_of(core::KnownDevice<device>{}, x, filter, how);
}
template <Binary16 X>
[[nodiscard]] constexpr Array<X> max_pool2d(const Backend& device, const View<X>& x, Stride filter, const Pool2dOptions& how = {}) {
  return core::float16_largest_of(core::GivenDevice{&device}, x, filter, how);
}
template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<X> average_pool2d(const View<X>& x, Stride filter, const Pool2dOptions& how = {}) {
  return core::float16_average(core::KnownDevice<device>{}, x, filter, how, core::Averaged::windows);
}
template <Binary16 X>
[[nodiscard]] constexpr Array<X> average_pool2d(const Backend& device, const View<X>& x, Stride filter, const Pool2dOptions& how = {}) {
  return core::float16_average(core::GivenDevice{&device}, x, filter, how, core::Averaged::windows);
}
template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<X> global_average_pool2d(const View<X>& x, const Pool2dOptions& how = {}) {
  return core::float16_average(core::KnownDevice<device>{}, x, core::whole_image(x), how, core::Averaged::image);
}
template <Binary16 X>
[[nodiscard]] constexpr Array<X> global_average_pool2d(const Backend& device, const View<X>& x, const Pool2dOptions& how = {}) {
  return core::float16_average(core::GivenDevice{&device}, x, core::whole_image(x), how, core::Averaged::image);
}

/// Real values as binary16: quantize<Float16>(device, values, shape), quantize<ascend310>(values, shape).
template <Binary16 Y>
[[nodiscard]] constexpr Array<Y> quantize(const Backend& device, std::span<const float> values, const Extents& shape) {
  return core::float16_cast(core::GivenDevice{&device}, values, shape);
}
template <const Backend& device, Binary16 Y = Float16>
[[nodiscard]] constexpr Array<Y> quantize(std::span<const float> values, const Extents& shape) {
  return core::float16_cast(core::KnownDevice<device>{}, values, shape);
}
/// binary16 as real values, exactly.
template <Binary16 X>
[[nodiscard]] constexpr Array<float> dequantize(const Backend& device, const View<X>& x) {
  return core::float16_real(core::GivenDevice{&device}, x);
}
template <const Backend& device, Binary16 X>
[[nodiscard]] constexpr Array<float> dequantize(const View<X>& x) {
  return core::float16_real(core::KnownDevice<device>{}, x);
}
/// Codes as binary16: dequantize<Float16>(device, codes), dequantize<ascend310, Float16>(codes).
template <Binary16 Y, Code X>
[[nodiscard]] constexpr Array<Y> dequantize(const Backend& device, const View<X>& x) {
  return core::float16_dequantized(core::GivenDevice{&device}, x);
}
template <const Backend& device, Binary16 Y, Code X>
[[nodiscard]] constexpr Array<Y> dequantize(const View<X>& x) {
  return core::float16_dequantized(core::KnownDevice<device>{}, x);
}
/// binary16 as codes: quantize<std::int8_t>(device, x, {.scale = …}).
template <Code Y, Binary16 X>
[[nodiscard]] constexpr Array<Y> quantize(const Backend& device, const View<X>& x, const OutputOptions& out) {
  core::require_no_scale("quantize", x);
  static_cast<void>(core::float16_rules(core::GivenDevice{&device}, "quantize"));
  return core::quantized<Y>(core::GivenDevice{&device}, x.values(), x.shape(), out);
}

/// b against a, in places of their patterns, which are units in the last place; the cosine is of the pairs that are finite.
template <Binary16 X>
[[nodiscard]] Difference difference(const View<X>& a, const View<X>& b) {
  if (a.shape() != b.shape()) throw Error(ErrorCode::shape_mismatch, "difference", a.shape().text() + " against " + b.shape().text());
  Difference found{.count = a.values().size()};
  double products = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < found.count; ++i) {
    const std::int64_t by = core::place_of(b.values()[i]) - core::place_of(a.values()[i]);
    ++found.histogram[by];
    if (by != 0) ++found.differing;
    found.largest = std::max(found.largest, by < 0 ? -by : by);
    const auto x = static_cast<double>(a.values()[i]), y = static_cast<double>(b.values()[i]);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    products += x * y, first += x * x, second += y * y;
  }
  if (first > 0 || second > 0) found.cosine = first > 0 && second > 0 ? products / (std::sqrt(first) * std::sqrt(second)) : 0;
  return found;
}
template <Binary16 X>
[[nodiscard]] Difference difference(const Array<X>& a, const Array<X>& b) {
  return difference(a.view(), b.view());
}

}  // namespace lastbit
