// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers of products: conv2d, depthwise_conv2d, transposed_conv2d, fully_connected, matmul. Contract, shapes and units: op/conv2d.hpp.
// Every call has two forms: conv2d<device>(x, …) of a constant, and conv2d(device, x, …) of any Backend. Both throw Error(unsupported_operation) for what
// the device has no arithmetic for, Error(shape_mismatch) for shapes that do not fit.
#pragma once

#include <numeric>
#include <optional>

#include "lastbit/core/rule.hpp"
#include "lastbit/op/arithmetic_by_type.hpp"
#include "lastbit/op/conv2d.hpp"
#include "lastbit/op/per_channel.hpp"
#include "lastbit/op/transposed_conv2d.hpp"

namespace lastbit {

/// A number for both axes, or rows and columns.
struct Stride : Extent2d {
  constexpr Stride(std::int64_t both = 1) : Extent2d{both, both} {}  // NOLINT(google-explicit-constructor): {.stride = 2}
  constexpr Stride(std::int64_t rows, std::int64_t columns) : Extent2d{rows, columns} {}
};
/// {.padding = same}, {.padding = valid}, {.padding = {top, bottom, left, right}}, {.padding = 1}.
struct Padding : Padding2d {
  constexpr Padding(PaddingMode how = PaddingMode::valid) : Padding2d{how} {}  // NOLINT(google-explicit-constructor)
  constexpr Padding(std::int64_t all)
      : Padding2d{PaddingMode::explicit_sizes, all, all, all, all} {}  // NOLINT(google-explicit-constructor)
  constexpr Padding(std::int64_t above, std::int64_t below, std::int64_t before, std::int64_t behind)
      : Padding2d{PaddingMode::explicit_sizes, above, below, before, behind} {}
};
inline constexpr PaddingMode same = PaddingMode::same, valid = PaddingMode::valid;

/// Of conv2d, depthwise_conv2d, transposed_conv2d: the output's scale and zero point, and how the kernel moves.
struct Conv2dOptions {
  double scale = 0;  ///< of the output; must be stated
  std::int64_t zero_point = 0;
  Stride stride = 1, dilation = 1;
  Padding padding = valid;
  Activation activation = Activation::none;
};

namespace core {

template <class T>
[[nodiscard]] constexpr ProductTypes product_types(bool weights_16bit, bool weights_unsigned, bool per_channel) {
  return {.data_16bit = sizeof(T) == 2,
          .data_unsigned = std::is_same_v<T, std::uint8_t>,
          .weights_16bit = weights_16bit,
          .weights_unsigned = weights_unsigned,
          .per_channel = per_channel};
}

/// Calls body(rule) of the arithmetic that a layer of these types reads; `get` returns the device's ConvByType. Of a constant no code is made for what it
/// lacks.
template <class Result, class Device, class Get, class Body>
constexpr Result with_conv(const Device& device, Get get, std::string_view operation, const ProductTypes& types, Body&& body) {
  if constexpr (std::is_same_v<Device, GivenDevice>) {
    const ConvArithmetic& rule = get(device.backend()).*conv_members[conv_member_of(get(device.backend()), types)].member;
    require(exists(rule.sum), operation, "the device has no arithmetic for these types");
    return body(GivenRule<ConvArithmetic>{&rule});
  } else {
    const std::size_t place = conv_member_of(get(device.backend()), types);
    std::optional<Result> result;
    const auto try_member = [&]<std::size_t at>(std::integral_constant<std::size_t, at>) {
      constexpr auto member = [](const Backend& b) -> const auto& { return Get{}(b).*conv_members[at].member; };
      if constexpr (exists(member(Device::backend()).sum)) {
        if (at == place) result.emplace(body(device.rule(member)));
      }
    };
    [&]<std::size_t... at>(std::index_sequence<at...>) { (try_member(std::integral_constant<std::size_t, at>{}), ...); }
    (std::make_index_sequence<conv_members.size()>{});
    require(result.has_value(), operation, "the device has no arithmetic for these types");
    return *std::move(result);
  }
}

/// A layer's numbers, whatever the device.
template <Code X, Code W>
struct ProductLayer {
  std::string_view operation;
  ConvShape shape;
  Extents out_shape;
  View<X> x;
  View<W> w;
  std::vector<std::int16_t> weights;  ///< in the order of ConvShape, less their zero point
  std::vector<std::int64_t> bias;
  bool transposed = false;
};

inline constexpr auto output_chain_of = [](const auto& rule) -> const Chain& { return rule.sum.output.chain; };

/// Every sum of the layer, and visit(output index, channel, sum).
template <class Rule, Code X, Code W, class Visit>
constexpr void for_each_sum(const Rule& rule, const ProductLayer<X, W>& layer, const LayerValues& values,
                            std::span<const RescaleOperands> terms, BiasAt bias_at, Visit&& visit) {
  const ConvShape& s = layer.shape;
  const SumArithmetic& sum = rule().sum;
  const auto zero = centred_by(sum.centring, layer.x.zero_point());
  std::vector<std::int32_t> input(layer.x.values().size(), 0);
  std::transform(layer.x.values().begin(), layer.x.values().end(), input.begin(),
                 [zero](X code) { return static_cast<std::int32_t>(code - zero); });
  const std::int64_t weight_zero = centred_by(sum.centring, layer.w.zero_point());
  const bool plain = is_order_independent(sum.accumulator) && sum.operand.chain.empty();
  const AccumulatorRule& accumulator = sum.accumulator;
  ConvIndex at;
  for (std::int64_t i = 0; i < s.out_count(); ++i) {
    const std::int64_t pixel = i / s.out_channels, row = pixel / s.out_width;
    at = {row / s.out_height, row % s.out_height, pixel % s.out_width, i % s.out_channels};
    std::int64_t total = 0;
    if (plain) {  // the order cannot matter, and 64 bits hold it
      total = bias_at_output(s, at, values.bias);
      const auto add = [&](std::size_t from, std::size_t weight) { total += std::int64_t{input[from]} * values.weights[weight]; };
      if (layer.transposed) each_transposed_tap(s, at, add);
      else each_tap(s, at, add);
      if (accumulator.overflow != Overflow::exact) total = narrow(total, accumulator.bits, accumulator.overflow);
    } else {
      TermRule term = sums_codes(accumulator) ? TermRule{.code_zero = zero, .weight_zero = weight_zero} : TermRule{};
      if (!terms.empty()) {
        term.chain = &sum.operand.chain;
        term.operands = &terms[terms.size() == 1 ? 0 : static_cast<std::size_t>(at.o)];
      }
      const std::span<const std::int32_t> codes(input);
      total = (layer.transposed
                   ? accumulate_transposed_values<std::int32_t>(s, at, codes, values.weights, values.bias, accumulator, bias_at, 1, term)
                   : accumulate_values<std::int32_t>(s, at, codes, values.weights, values.bias, accumulator, bias_at, 1, term))
                  .result();
    }
    visit(static_cast<std::size_t>(i), static_cast<std::size_t>(at.o), total);
  }
}

/// Vectors whose last half the device reads beyond the end of a row.
constexpr void require_whole_vectors(const AccumulatorRule& rule, std::string_view operation, std::int64_t run) {
  const PartialSums& partial = rule.partial;
  if (!has_partial_sums(rule) || partial.vector == 0 || partial.tail != PartialTail::one_sum) return;
  const std::int64_t tail = run % partial.vector;
  require(tail == 0 || tail == partial.vector / 2, operation, "the device reads whole or half vectors, here beyond the end of a row");
}

/// The operands of a chain, one for all channels or one for each.
template <Code Y, Code X>
[[nodiscard]] constexpr std::vector<RescaleOperands> operands_of(const RescaleRule& rule, std::string_view operation, const View<X>& x,
                                                                 const Quantization& weights, const OutputOptions& out) {
  std::vector<double> scales;
  for (std::size_t o = 0; o < std::max<std::size_t>(1, weights.scales.size()); ++o)
    scales.push_back(effective_scale(rule, one_operand(x.scale(), weights.scale(o), out.scale)));
  const double largest = *std::max_element(scales.begin(), scales.end());
  std::vector<RescaleOperands> operands;
  for (const double real : scales) {
    operands.push_back(output_operands<Y>(out));
    operands.back().scale = held_scale(rule.scale, operation, real, largest);
  }
  return operands;
}

/// A layer by the rule that it reads.
template <Code Y, class Rule, Code X, Code W>
[[nodiscard]] constexpr Array<Y> products(const Rule& rule, ProductLayer<X, W> layer, const OutputOptions& out) {
  const auto& arithmetic = rule();
  const SumArithmetic& sum = arithmetic.sum;
  require(exists(sum), layer.operation, "the device has no arithmetic for these types");
  require(applies_scale(sum), layer.operation, "the device delivers sums and rescales nothing: call …_sums");
  require_output_chain(sum.output.chain, layer.operation, out.activation);
  require_scale(out, layer.operation);
  require_whole_vectors(sum.accumulator, layer.operation, layer.shape.kernel_width * layer.shape.group_channels());
  require(!sums_codes(sum.accumulator) || sums_kernels(sum.accumulator) || layer.w.zero_point() == 0, layer.operation,
          "the device's partial sums of codes need weights with zero point 0");
  LayerValues values{std::move(layer.weights), std::move(layer.bias), {}};
  for (std::size_t o = 0; o < layer.w.scale_count(); ++o) values.quantization.scales.push_back(layer.w.scale(o));
  BiasAt bias_at = BiasAt::accumulator_start;
  RescaleRule output = sum.output;
  bool in_float = false;
  Chain float_chain;  // of a layer whose weights have a scale per channel, on a device that scales such a layer in float
  if constexpr (requires { arithmetic.per_channel; }) {
    bias_at = arithmetic.bias;
    if (layer.w.per_channel()) {
      require(arithmetic.per_channel != PerChannelLowering::refused, layer.operation,
              "the device states no arithmetic for a scale per channel");
      LoweredLayer lowered = lower_per_channel(arithmetic, std::move(values), layer.x.scale());
      values = std::move(lowered.values);
      output = lowered.arithmetic.sum.output;
      in_float = arithmetic.per_channel == PerChannelLowering::float_scale;
      float_chain = output.chain;
    }
    for (auto& bias : values.bias) bias = stored_bias(bias, arithmetic.bias_bits, arithmetic.bias_rounding);
  }
  const auto operands = operands_of<Y>(output, layer.operation, layer.x, values.quantization, out);
  std::vector<RescaleOperands> terms;
  if (!sum.operand.chain.empty()) terms = operands_of<Y>(sum.operand, layer.operation, layer.x, values.quantization, out);
  Array<Y> y{std::vector<Y>(static_cast<std::size_t>(layer.out_shape.count()), Y{0}), layer.out_shape, out.scale, out.zero_point};
  for_each_sum(rule, layer, values, terms, bias_at, [&](std::size_t i, std::size_t channel, std::int64_t total) {
    const RescaleOperands& of = operands[operands.size() == 1 ? 0 : channel];
    y.values[i] = static_cast<Y>(in_float ? finish(float_chain, total, of) : finish_by(rule, output_chain_of, total, of));
  });
  return y;
}

/// The sums themselves, as int32.
template <class Rule, Code X, Code W>
[[nodiscard]] constexpr Array<std::int32_t> sums(const Rule& rule, ProductLayer<X, W> layer) {
  const auto& arithmetic = rule();
  const SumArithmetic& sum = arithmetic.sum;
  require(exists(sum), layer.operation, "the device has no arithmetic for these types");
  require(sum.operand.chain.empty(), layer.operation, "the device scales its terms: there are no sums of codes");
  require_whole_vectors(sum.accumulator, layer.operation, layer.shape.kernel_width * layer.shape.group_channels());
  LayerValues values{std::move(layer.weights), std::move(layer.bias), {}};
  for (std::size_t o = 0; o < layer.w.scale_count(); ++o) values.quantization.scales.push_back(layer.w.scale(o));
  BiasAt bias_at = BiasAt::accumulator_start;
  if constexpr (requires { arithmetic.per_channel; }) {
    bias_at = arithmetic.bias;
    if (layer.w.per_channel()) values = lower_per_channel(arithmetic, std::move(values), layer.x.scale()).values;
    for (auto& bias : values.bias) bias = stored_bias(bias, arithmetic.bias_bits, arithmetic.bias_rounding);
  }
  Array<std::int32_t> y{std::vector<std::int32_t>(static_cast<std::size_t>(layer.out_shape.count()), 0), layer.out_shape,
                        layer.x.scale() * values.quantization.scale(), 0};
  for_each_sum(rule, layer, values, {}, bias_at, [&](std::size_t i, std::size_t, std::int64_t total) {
    require(fits_width(total, 32), layer.operation, "a sum does not fit in the int32 that it goes on as");
    y.values[i] = static_cast<std::int32_t>(total);
  });
  return y;
}

enum class ConvKind : std::uint8_t { plain, depthwise, transposed };

/// Shapes and centred weights of a convolution.
template <Code X, Code W, class Bias>
[[nodiscard]] constexpr ProductLayer<X, W> conv_layer(ConvKind kind, std::string_view operation, const Backend& device, const View<X>& x,
                                                      const View<W>& w, std::span<const Bias> bias, const Conv2dOptions& how,
                                                      std::optional<Extent2d> transposed_size = {}) {
  require_coding<X>(device, operation, x.zero_point());
  require_coding<W>(device, operation, w.zero_point());
  const auto shape_error = [operation](const char* what) { throw Error(ErrorCode::shape_mismatch, std::string(operation), what); };
  if (x.shape().rank() != 4 || w.shape().rank() != 4) shape_error("images are N, H, W, C and weights O, H, W, I: four sizes each");
  const Extents &in = x.shape(), &k = w.shape();
  const bool depthwise = kind == ConvKind::depthwise;
  const std::int64_t channels = depthwise ? k[3] : k[0];
  if (depthwise && (k[0] != 1 || k[3] % in[3] != 0))
    shape_error("depthwise weights are 1, H, W, C with C a multiple of the image's channels");
  if (!depthwise && (in[3] % k[3] != 0 || k[0] % (in[3] / k[3]) != 0))
    shape_error("the weights' inputs do not divide the image's channels");
  if (kind == ConvKind::transposed && in[3] != k[3]) shape_error("the weights' inputs are not the image's channels");
  const Extent2d filter{k[1], k[2]};
  const Extent2d image = transposed_size.value_or(Extent2d{in[1], in[2]});
  if (how.stride.height < 1 || how.stride.width < 1 || how.dilation.height < 1 || how.dilation.width < 1)
    shape_error("a stride or dilation below 1");
  const Extent2d windows = window_count(how.padding, image, filter, how.stride, how.dilation);
  if (windows.height < 1 || windows.width < 1) shape_error("the kernel does not fit the image");
  const Extent2d size = transposed_size ? *transposed_size : windows;
  const ResolvedPadding padding = resolve_padding(how.padding, image, filter, how.stride, how.dilation);
  if (!bias.empty() && static_cast<std::int64_t>(bias.size()) != channels) shape_error("there is one bias per output channel");
  if (w.per_channel() && static_cast<std::int64_t>(w.scale_count()) != channels)
    shape_error("there is one scale of the weights, or one per output channel");
  const ConvShape shape{.batch = in[0],
                        .in_height = in[1],
                        .in_width = in[2],
                        .in_channels = in[3],
                        .out_height = size.height,
                        .out_width = size.width,
                        .out_channels = channels,
                        .kernel_height = k[1],
                        .kernel_width = k[2],
                        .stride_height = how.stride.height,
                        .stride_width = how.stride.width,
                        .dilation_height = how.dilation.height,
                        .dilation_width = how.dilation.width,
                        .pad_top = padding.top,
                        .pad_left = padding.left,
                        .groups = depthwise                      ? in[3]
                                  : kind == ConvKind::transposed ? 1
                                                                 : in[3] / k[3]};
  ProductLayer<X, W> layer{operation, shape, {in[0], size.height, size.width, channels}, x, w, {}, {}, kind == ConvKind::transposed};
  layer.bias.assign(bias.begin(), bias.end());
  return layer;
}

/// Weights less their zero point, of a depthwise layer channel by channel.
template <Code X, Code W>
constexpr void centre_weights(ProductLayer<X, W>& layer, const SumArithmetic& sum, bool depthwise) {
  const std::int64_t zero = centred_by(sum.centring, layer.w.zero_point());
  const auto values = layer.w.values();
  layer.weights.assign(values.size(), 0);
  const std::size_t channels = depthwise ? static_cast<std::size_t>(layer.shape.out_channels) : 1, taps = values.size() / channels;
  for (std::size_t t = 0; t < taps; ++t) {
    for (std::size_t c = 0; c < channels; ++c) layer.weights[c * taps + t] = static_cast<std::int16_t>(values[t * channels + c] - zero);
  }
}

/// The arithmetics of a kind of convolution.
template <ConvKind kind>
inline constexpr auto conv_rules = [](const Backend& device) -> const ConvByType& {
  return kind == ConvKind::depthwise ? device.depthwise_conv : kind == ConvKind::transposed ? device.transposed_conv : device.conv;
};

template <ConvKind kind, Code Y, class Device, Code X, Code W, class Bias>
[[nodiscard]] constexpr Array<Y> convolution(const Device& device, std::string_view operation, const View<X>& x, const View<W>& w,
                                             std::span<const Bias> bias, const Conv2dOptions& how, std::optional<Extent2d> size = {}) {
  constexpr bool delivers_sums = std::is_same_v<Y, std::int32_t>;
  auto layer = conv_layer(kind, operation, device.backend(), x, w, bias, how, size);
  if constexpr (!delivers_sums) require_coding<Y>(device.backend(), operation, how.zero_point);
  ProductTypes types = product_types<X>(sizeof(W) == 2, std::is_same_v<W, std::uint8_t>, w.per_channel());
  types.has_bias = !bias.empty();
  types.bias_64bit = std::is_same_v<Bias, std::int64_t> && types.has_bias;
  if (kind != ConvKind::transposed) {
    types.delivers_sums = delivers_sums;
    types.one_to_one = (kind == ConvKind::depthwise || w.shape().back() == 1) && x.shape().back() == layer.shape.out_channels;
  }
  return with_conv<Array<Y>>(device, conv_rules<kind>, operation, types, [&](const auto& rule) {
    centre_weights(layer, rule().sum, kind == ConvKind::depthwise);
    if constexpr (delivers_sums) return sums(rule, layer);
    else return products<Y>(rule, layer, {how.scale, how.zero_point, how.activation});
  });
}

}  // namespace core

// Bias: none ({}), or int32, of 16-bit data also int64, one per output channel, in units of x's scale times that of the weights.

/// A convolution: x N, H, W, C; w O, H, W, I, where I divides C (groups).
template <const Backend& device, Code X, Code W>
[[nodiscard]] constexpr Array<X> conv2d(const View<X>& x, const View<W>& w, std::span<const std::int32_t> bias, const Conv2dOptions& how) {
  return core::convolution<core::ConvKind::plain, X>(core::KnownDevice<device>{}, "conv2d", x, w, bias, how);
}
template <Code X, Code W>
[[nodiscard]] constexpr Array<X> conv2d(const Backend& device, const View<X>& x, const View<W>& w, std::span<const std::int32_t> bias,
                                        const Conv2dOptions& how) {
  return core::convolution<core::ConvKind::plain, X>(core::GivenDevice{&device}, "conv2d", x, w, bias, how);
}
/// The sums of a convolution, in units of x's scale times that of the weights.
template <const Backend& device, Code X, Code W>
[[nodiscard]] constexpr Array<std::int32_t> conv2d_sums(const View<X>& x, const View<W>& w, std::span<const std::int32_t> bias,
                                                        const Conv2dOptions& how = {}) {
  return core::convolution<core::ConvKind::plain, std::int32_t>(core::KnownDevice<device>{}, "conv2d", x, w, bias, how);
}
template <Code X, Code W>
[[nodiscard]] constexpr Array<std::int32_t> conv2d_sums(const Backend& device, const View<X>& x, const View<W>& w,
                                                        std::span<const std::int32_t> bias, const Conv2dOptions& how = {}) {
  return core::convolution<core::ConvKind::plain, std::int32_t>(core::GivenDevice{&device}, "conv2d", x, w, bias, how);
}

/// A convolution channel by channel: w 1, H, W, C * multiplier.
template <const Backend& device, Code X, Code W>
[[nodiscard]] constexpr Array<X> depthwise_conv2d(const View<X>& x, const View<W>& w, std::span<const std::int32_t> bias,
                                                  const Conv2dOptions& how) {
  return core::convolution<core::ConvKind::depthwise, X>(core::KnownDevice<device>{}, "depthwise_conv2d", x, w, bias, how);
}
template <Code X, Code W>
[[nodiscard]] constexpr Array<X> depthwise_conv2d(const Backend& device, const View<X>& x, const View<W>& w,
                                                  std::span<const std::int32_t> bias, const Conv2dOptions& how) {
  return core::convolution<core::ConvKind::depthwise, X>(core::GivenDevice{&device}, "depthwise_conv2d", x, w, bias, how);
}

/// A transposed convolution to an image of `size`: w O, H, W, I.
template <const Backend& device, Code X, Code W>
[[nodiscard]] constexpr Array<X> transposed_conv2d(const View<X>& x, const View<W>& w, std::span<const std::int32_t> bias, Extent2d size,
                                                   const Conv2dOptions& how) {
  return core::convolution<core::ConvKind::transposed, X>(core::KnownDevice<device>{}, "transposed_conv2d", x, w, bias, how, size);
}
template <Code X, Code W>
[[nodiscard]] constexpr Array<X> transposed_conv2d(const Backend& device, const View<X>& x, const View<W>& w,
                                                   std::span<const std::int32_t> bias, Extent2d size, const Conv2dOptions& how) {
  return core::convolution<core::ConvKind::transposed, X>(core::GivenDevice{&device}, "transposed_conv2d", x, w, bias, how, size);
}

namespace core {

inline constexpr auto dense_rules = [](const Backend& device) -> const ConvByType& { return device.fully_connected; };

template <class Device, Code X, Code W>
[[nodiscard]] constexpr Array<X> dense(const Device& device, const View<X>& x, const View<W>& w, std::span<const std::int32_t> bias,
                                       const OutputOptions& out) {
  constexpr std::string_view operation = "fully_connected";
  require_coding<X>(device.backend(), operation, x.zero_point());
  require_coding<W>(device.backend(), operation, w.zero_point());
  require_coding<X>(device.backend(), operation, out.zero_point);
  if (x.shape().rank() != 2 || w.shape().rank() != 2 || x.shape()[1] != w.shape()[1])
    throw Error(ErrorCode::shape_mismatch, std::string(operation), "x is [rows, inputs] and the weights are [outputs, inputs]");
  const std::int64_t rows = x.shape()[0], outputs = w.shape()[0];
  if (!bias.empty() && static_cast<std::int64_t>(bias.size()) != outputs)
    throw Error(ErrorCode::shape_mismatch, std::string(operation), "there is one bias per output");
  ProductLayer<X, W> layer{
      operation,
      {.in_width = rows, .in_channels = x.shape()[1], .out_width = rows, .out_channels = outputs, .together = largest_group},
      {rows, outputs},
      x,
      w,
      {},
      {}};
  layer.bias.assign(bias.begin(), bias.end());
  ProductTypes types = product_types<X>(sizeof(W) == 2, std::is_same_v<W, std::uint8_t>, w.per_channel());
  types.has_bias = !bias.empty();
  return with_conv<Array<X>>(device, dense_rules, operation, types, [&](const auto& rule) {
    centre_weights(layer, rule().sum, false);
    return products<X>(rule, layer, out);
  });
}

}  // namespace core

/// x [rows, inputs], w [outputs, inputs].
template <const Backend& device, Code X, Code W>
[[nodiscard]] constexpr Array<X> fully_connected(const View<X>& x, const View<W>& w, std::span<const std::int32_t> bias,
                                                 const OutputOptions& out) {
  return core::dense(core::KnownDevice<device>{}, x, w, bias, out);
}
template <Code X, Code W>
[[nodiscard]] constexpr Array<X> fully_connected(const Backend& device, const View<X>& x, const View<W>& w,
                                                 std::span<const std::int32_t> bias, const OutputOptions& out) {
  return core::dense(core::GivenDevice{&device}, x, w, bias, out);
}

namespace core {

/// Calls body(rule) of the arithmetic that a product of two matrices reads.
template <class Device, class Body>
constexpr auto with_matmul(const Device& device, const ProductTypes& types, Body&& body) {
  const std::size_t place = matmul_member_of(device.backend().matmul, types);
  if (place == 0) return body(device.rule([](const Backend& b) -> const auto& { return b.matmul.i8; }));
  if (place == 1) return body(device.rule([](const Backend& b) -> const auto& { return b.matmul.u8; }));
  return body(device.rule([](const Backend& b) -> const auto& { return b.matmul.i16; }));
}

template <class Device, Code X, Code W>
[[nodiscard]] constexpr Array<X> matrix_product(const Device& device, const View<X>& a, const View<W>& b, const OutputOptions& out) {
  constexpr std::string_view operation = "matmul";
  require_coding<X>(device.backend(), operation, a.zero_point());
  require_coding<W>(device.backend(), operation, b.zero_point());
  require_coding<X>(device.backend(), operation, out.zero_point);
  if (a.shape().rank() != 2 || b.shape().rank() != 2 || a.shape()[1] != b.shape()[0])
    throw Error(ErrorCode::shape_mismatch, std::string(operation), "a is [rows, length] and b is [length, columns]");
  require(!b.per_channel(), operation, "both operands have one scale");
  const std::int64_t rows = a.shape()[0], length = a.shape()[1], columns = b.shape()[1];
  ProductLayer<X, W> layer{
      operation, {.in_width = rows, .in_channels = length, .out_width = rows, .out_channels = columns}, {rows, columns}, a, b, {}, {}};
  const ProductTypes types = product_types<X>(sizeof(W) == 2, std::is_same_v<W, std::uint8_t>, false);
  return with_matmul(device, types, [&](const auto& rule) {
    const std::int64_t zero = centred_by(rule().sum.centring, b.zero_point());
    layer.weights.assign(b.values().size(), 0);
    for (std::size_t i = 0; i < layer.weights.size(); ++i)
      layer.weights[i % static_cast<std::size_t>(columns) * static_cast<std::size_t>(length) + i / static_cast<std::size_t>(columns)] =
          static_cast<std::int16_t>(b.values()[i] - zero);
    return products<X>(rule, layer, out);
  });
}

}  // namespace core

/// a [rows, length] times b [length, columns].
template <const Backend& device, Code X, Code W>
[[nodiscard]] constexpr Array<X> matmul(const View<X>& a, const View<W>& b, const OutputOptions& out) {
  return core::matrix_product(core::KnownDevice<device>{}, a, b, out);
}
template <Code X, Code W>
[[nodiscard]] constexpr Array<X> matmul(const Backend& device, const View<X>& a, const View<W>& b, const OutputOptions& out) {
  return core::matrix_product(core::GivenDevice{&device}, a, b, out);
}

/// An accumulator as an output code, by the rule of a convolution: requantize(vipnano_v8.conv.i8, 1000, {.in = …, .weight = …, .out = …}).
struct Requantization {
  double in = 1, weight = 1, out = 1;  ///< scales
  std::int64_t zero_point = 0;         ///< of the output
  Activation activation = Activation::none;
};
template <Code Y = std::int8_t>
[[nodiscard]] constexpr Y requantize(const RescaleRule& rule, std::int64_t accumulator, const Requantization& layer) {
  const OutputOptions out{layer.out, layer.zero_point, layer.activation};
  core::require_output_chain(rule.chain, "requantize", layer.activation);
  RescaleOperands operands = core::output_operands<Y>(out);
  const double real = effective_scale(rule, one_operand(layer.in, layer.weight, layer.out));
  operands.scale = core::held_scale(rule.scale, "requantize", real, real);
  return static_cast<Y>(finish(rule.chain, accumulator, operands));
}
template <Code Y = std::int8_t>
[[nodiscard]] constexpr Y requantize(const ConvArithmetic& rule, std::int64_t accumulator, const Requantization& layer) {
  core::require(applies_scale(rule.sum), "requantize", "the device rescales nothing");
  return requantize<Y>(rule.sum.output, accumulator, layer);
}

}  // namespace lastbit
