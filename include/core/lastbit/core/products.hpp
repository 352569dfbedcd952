// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers of products: conv2d, depthwise_conv2d, transposed_conv2d, fully_connected, matmul. Contract, shapes and units: op/conv2d.hpp.
// Every call has two forms: conv2d<device>(x, …) of a constant, and conv2d(device, x, …) of any Backend. Both throw Error(unsupported_operation) for what
// the device has no arithmetic for, Error(shape_mismatch) for shapes that do not fit.
#pragma once

#include <numeric>
#include <optional>

#include "lastbit/core/blocks.hpp"
#include "lastbit/core/rule.hpp"
#include "lastbit/core/words.hpp"
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

/// What a layer's choice of arithmetic goes by, as far as the types of its data say it.
template <Code X, Code W>
inline constexpr ProductTypes types_of{.data_16bit = sizeof(X) == 2,
                                       .data_unsigned = std::is_same_v<X, std::uint8_t>,
                                       .weights_16bit = sizeof(W) == 2,
                                       .weights_unsigned = std::is_same_v<W, std::uint8_t>};

/// Whether a layer of these types may read a member of ConvByType, with or without a bias, a scale per channel and kernels for one channel each way.
[[nodiscard]] constexpr bool may_read(const ConvByType& by_type, ProductTypes types, std::size_t member) {
  const bool bias_64bit = types.bias_64bit;
  for (unsigned which = 0; which < 8; ++which) {
    types.has_bias = (which & 1U) != 0, types.per_channel = (which & 2U) != 0, types.one_to_one = (which & 4U) != 0;
    types.bias_64bit = bias_64bit && types.has_bias;
    if (conv_member_of(by_type, types) == member) return true;
  }
  return false;
}

/// Calls body(rule) of the arithmetic that a layer reads; `get` returns the device's ConvByType. `any` is what is known of the layer's types: of a constant
/// code is made for what such layers read and the device has.
template <class Result, ProductTypes any, class Device, class Get, class Body>
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
      if constexpr (exists(member(Device::backend()).sum) && may_read(Get{}(Device::backend()), any, at)) {
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
struct ProductLayer {
  std::string_view operation;
  ConvShape shape;
  Extents out_shape;
  double in_scale = 1;
  std::int64_t in_zero = 0, weight_zero = 0;
  std::vector<double> weight_scales{};
  std::vector<std::int16_t> input{}, weights{};  ///< less their zero points; the weights in the order of ConvShape
  std::vector<std::int64_t> bias{};
  bool transposed = false;

  [[nodiscard]] constexpr bool per_channel() const { return weight_scales.size() > 1; }
};

/// A layer whose values are not there yet.
template <Code X, Code W>
[[nodiscard]] constexpr ProductLayer layer_of(std::string_view operation, const ConvShape& shape, const Extents& out_shape,
                                              const View<X>& x, const View<W>& w) {
  ProductLayer layer{operation, shape, out_shape, x.scale(), x.zero_point(), w.zero_point()};
  for (std::size_t o = 0; o < w.scale_count(); ++o) layer.weight_scales.push_back(w.scale(o));
  return layer;
}

/// Codes less the zero point that a device subtracts.
template <Code T>
[[nodiscard]] constexpr std::vector<std::int16_t> centred(const View<T>& codes, Centring centring) {
  const std::int64_t zero = centred_by(centring, codes.zero_point());
  std::vector<std::int16_t> values(codes.values().size(), 0);
  std::transform(codes.values().begin(), codes.values().end(), values.begin(),
                 [zero](T code) { return static_cast<std::int16_t>(code - zero); });
  return values;
}

/// [rows, columns] as [columns, rows].
[[nodiscard]] constexpr std::vector<std::int16_t> turned(const std::vector<std::int16_t>& values, std::size_t columns) {
  std::vector<std::int16_t> out(values.size(), 0);
  const std::size_t rows = values.size() / columns;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) out[c * rows + r] = values[r * columns + c];
  }
  return out;
}

inline constexpr auto output_chain_of = [](const auto& rule) -> const Chain& { return rule.sum.output.chain; };

/// How a rule's sums become codes.
template <class Y, class Rule>
[[nodiscard]] constexpr const Finish<Y>& finish_of(const Rule&) {
  if constexpr (is_known<Rule>) return finish_known<output_chain_of(Rule{}()), Y>;
  else return finish_given<Y>;
}

/// Every sum of the layer, and visit(output index, channel, sum): the specification.
template <class Visit>
constexpr void for_each_sum(const SumArithmetic& sum, const ProductLayer& layer, const LayerValues& values,
                            std::span<const RescaleOperands> terms, BiasAt bias_at, Visit&& visit) {
  const ConvShape& s = layer.shape;
  const auto zero = centred_by(sum.centring, layer.in_zero), weight_zero = centred_by(sum.centring, layer.weight_zero);
  const std::span<const std::int16_t> input(layer.input);
  const AccumulatorRule& accumulator = sum.accumulator;
  const bool any_order = is_order_independent(accumulator) && terms.empty();  // and 64 bits hold the sum
  for (std::int64_t i = 0; i < s.out_count(); ++i) {
    const std::int64_t pixel = i / s.out_channels, row = pixel / s.out_width;
    const ConvIndex at{row / s.out_height, row % s.out_height, pixel % s.out_width, i % s.out_channels};
    if (any_order) {
      std::int64_t total = bias_at_output(s, at, values.bias);
      const auto add = [&](std::size_t from, std::size_t weight) { total += std::int64_t{input[from]} * values.weights[weight]; };
      if (layer.transposed) each_transposed_tap(s, at, add);
      else each_tap(s, at, add);
      if (accumulator.overflow != Overflow::exact) total = narrow(total, accumulator.bits, accumulator.overflow);
      visit(static_cast<std::size_t>(i), static_cast<std::size_t>(at.o), total);
      continue;
    }
    TermRule term = sums_codes(accumulator) ? TermRule{.code_zero = zero, .weight_zero = weight_zero} : TermRule{};
    if (!terms.empty()) {
      term.chain = &sum.operand.chain;
      term.operands = &terms[terms.size() == 1 ? 0 : static_cast<std::size_t>(at.o)];
    }
    Accumulator total = layer.transposed
                            ? accumulate_transposed_values(s, at, input, values.weights, values.bias, accumulator, bias_at, 1, term)
                            : accumulate_values(s, at, input, values.weights, values.bias, accumulator, bias_at, 1, term);
    visit(static_cast<std::size_t>(i), static_cast<std::size_t>(at.o), total.result());
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
[[nodiscard]] constexpr std::vector<RescaleOperands> operands_of(const RescaleRule& rule, std::string_view operation, double in_scale,
                                                                 const Quantization& weights, double out_scale,
                                                                 const RescaleOperands& output) {
  std::vector<double> scales;
  for (std::size_t o = 0; o < std::max<std::size_t>(1, weights.scales.size()); ++o)
    scales.push_back(effective_scale(rule, one_operand(in_scale, weights.scale(o), out_scale)));
  const double largest = *std::max_element(scales.begin(), scales.end());
  std::vector<RescaleOperands> operands(scales.size(), output);
  for (std::size_t o = 0; o < scales.size(); ++o) operands[o].scale = held_scale(rule.scale, operation, scales[o], largest);
  return operands;
}

/// A layer by an arithmetic, ready to be summed.
struct ReadyLayer {
  LayerValues values;
  RescaleRule output;
  BiasAt bias_at = BiasAt::accumulator_start;
};

/// `conv` is what states more than the sum: null of a matmul.
[[nodiscard]] constexpr ReadyLayer ready(ProductLayer& layer, const SumArithmetic& sum, const ConvArithmetic* conv) {
  require(exists(sum), layer.operation, "the device has no arithmetic for these types");
  require_stated(sum.accumulator);
  require_whole_vectors(sum.accumulator, layer.operation, layer.shape.kernel_width * layer.shape.group_channels());
  ReadyLayer done{{std::move(layer.weights), std::move(layer.bias), {layer.weight_scales, {}, 0}}, sum.output};
  if (conv == nullptr) return done;
  done.bias_at = stated(conv->bias, "convolution", "bias");
  if (layer.per_channel()) {
    LoweredLayer lowered = lower_per_channel(*conv, std::move(done.values), layer.in_scale);
    done.values = std::move(lowered.values);
    done.output = lowered.arithmetic.sum.output;
  }
  for (auto& bias : done.values.bias) bias = stored_bias(bias, conv->bias_bits, conv->bias_rounding);
  return done;
}

/// Whether the layer's sums are taken in blocks, while a program runs: visit(blocks), else the specification serves.
template <class Visit>
bool in_blocks(const ProductLayer& layer, const SumArithmetic& sum, const ReadyLayer& with, Visit&& visit) {
  if (layer.transposed || !sum.operand.chain.empty()) return false;
  BlockedSums blocks(layer.shape, layer.input, with.values.weights, with.values.bias, sum.accumulator, with.bias_at);
  if (blocks.serves()) visit(blocks);
  return blocks.serves();
}

/// Codes of blocks of sums.
template <class Y>
void finish_blocks(BlockedSums& blocks, const Chain& chain, std::span<const RescaleOperands> operands, const Finish<Y>& by,
                   std::span<Y> out) {
  const std::size_t channels = out.size() / static_cast<std::size_t>(blocks.pixels());
  const auto of = [&](std::size_t o) -> const RescaleOperands& { return operands[operands.size() == 1 ? 0 : o]; };
  std::vector<Y> codes(lanes);
  std::vector<std::uint8_t> in_words(channels);
  for (std::size_t o = 0; o < channels; ++o) in_words[o] = by.holds(chain, of(o), blocks.least(o), blocks.most(o)) ? 1 : 0;
  for (std::size_t first = 0; first < out.size() / channels;) {
    first += blocks.each_channel(static_cast<std::int64_t>(first), [&](std::size_t o, std::span<const std::int32_t> sums) {
      if (in_words[o] != 0) by.codes(chain, of(o), sums, codes.data());
      else
        std::transform(sums.begin(), sums.end(), codes.begin(),
                       [&](std::int32_t sum) { return static_cast<Y>(finish_exactly(chain, sum, of(o))); });
      for (std::size_t p = 0; p < sums.size(); ++p) out[(first + p) * channels + o] = codes[p];
    });
  }
}

/// A layer by the sum and the chain that it reads.
template <Code Y>
[[nodiscard]] constexpr Array<Y> products(ProductLayer layer, const SumArithmetic& sum, const ConvArithmetic* conv, const Finish<Y>& known,
                                          const OutputOptions& out) {
  require(!exists(sum) || applies_scale(sum), layer.operation, "the device delivers sums and rescales nothing: call …_sums");
  if (exists(sum)) require_output_chain(sum.output.chain, layer.operation, out.activation);
  require_scale(out, layer.operation);
  require(!sums_codes(sum.accumulator) || sums_kernels(sum.accumulator) || layer.weight_zero == 0, layer.operation,
          "the device's partial sums of codes need weights with zero point 0");
  require(conv == nullptr || !layer.per_channel() || stated(conv->per_channel, "convolution", "per_channel") != PerChannelLowering::refused,
          layer.operation, "the device states no arithmetic for a scale per channel");
  const ReadyLayer with = ready(layer, sum, conv);
  const Chain& chain = with.output.chain;
  const Finish<Y>& by = chain == sum.output.chain ? known : finish_given<Y>;
  const RescaleOperands output = output_operands<Y>(out);
  const Quantization& weights = with.values.quantization;
  const auto operands = operands_of(with.output, layer.operation, layer.in_scale, weights, out.scale, output);
  std::vector<RescaleOperands> terms;
  if (!sum.operand.chain.empty()) terms = operands_of(sum.operand, layer.operation, layer.in_scale, weights, out.scale, output);
  Array<Y> y{std::vector<Y>(static_cast<std::size_t>(layer.out_shape.count()), Y{0}), layer.out_shape, out.scale, out.zero_point};
  if (!std::is_constant_evaluated() &&
      in_blocks(layer, sum, with, [&](BlockedSums& blocks) { finish_blocks<Y>(blocks, chain, operands, by, y.values); }))
    return y;
  for_each_sum(sum, layer, with.values, terms, with.bias_at, [&](std::size_t i, std::size_t channel, std::int64_t total) {
    y.values[i] = static_cast<Y>(finish_exactly(chain, total, operands[operands.size() == 1 ? 0 : channel]));
  });
  return y;
}

/// The sums themselves, as int32.
[[nodiscard]] constexpr Array<std::int32_t> sums(ProductLayer layer, const SumArithmetic& sum, const ConvArithmetic* conv) {
  require(sum.operand.chain.empty(), layer.operation, "the device scales its terms: there are no sums of codes");
  const ReadyLayer with = ready(layer, sum, conv);
  Array<std::int32_t> y{std::vector<std::int32_t>(static_cast<std::size_t>(layer.out_shape.count()), 0), layer.out_shape,
                        layer.in_scale * with.values.quantization.scale(), 0};
  for_each_sum(sum, layer, with.values, {}, with.bias_at, [&](std::size_t i, std::size_t, std::int64_t total) {
    require(fits_width(total, 32), layer.operation, "a sum does not fit in the int32 that it goes on as");
    y.values[i] = static_cast<std::int32_t>(total);
  });
  return y;
}

enum class ConvKind : std::uint8_t { plain, depthwise, transposed };

/// What a convolution's sizes are made of.
struct ConvSizes {
  std::string_view operation;
  const Extents& in;
  const Extents& kernel;
  std::size_t biases, weight_scales;
  std::optional<Extent2d> transposed_size{};
};

/// The shape of a convolution. Throws Error(shape_mismatch).
[[nodiscard]] constexpr ConvShape conv_shape(ConvKind kind, const ConvSizes& sizes, const Conv2dOptions& how) {
  const auto demand = [&sizes](bool holds, const char* what) {
    if (!holds) throw Error(ErrorCode::shape_mismatch, std::string(sizes.operation), what);
  };
  const Extents &in = sizes.in, &k = sizes.kernel;
  demand(in.rank() == 4 && k.rank() == 4, "images are N, H, W, C and weights O, H, W, I: four sizes each");
  const bool depthwise = kind == ConvKind::depthwise;
  const std::int64_t channels = depthwise ? k[3] : k[0];
  if (depthwise) demand(k[0] == 1 && k[3] % in[3] == 0, "depthwise weights are 1, H, W, C with C a multiple of the image's channels");
  else demand(in[3] % k[3] == 0 && k[0] % (in[3] / k[3]) == 0, "the weights' inputs do not divide the image's channels");
  demand(kind != ConvKind::transposed || in[3] == k[3], "the weights' inputs are not the image's channels");
  const Extent2d filter{k[1], k[2]};
  const Extent2d image = sizes.transposed_size.value_or(Extent2d{in[1], in[2]});
  demand(how.stride.height >= 1 && how.stride.width >= 1 && how.dilation.height >= 1 && how.dilation.width >= 1,
         "a stride or dilation below 1");
  const Extent2d windows = window_count(how.padding, image, filter, how.stride, how.dilation);
  demand(windows.height >= 1 && windows.width >= 1, "the kernel does not fit the image");
  const Extent2d size = sizes.transposed_size ? *sizes.transposed_size : windows;
  const ResolvedPadding padding = resolve_padding(how.padding, image, filter, how.stride, how.dilation);
  demand(sizes.biases == 0 || static_cast<std::int64_t>(sizes.biases) == channels, "there is one bias per output channel");
  demand(sizes.weight_scales == 1 || static_cast<std::int64_t>(sizes.weight_scales) == channels,
         "there is one scale of the weights, or one per output channel");
  return {.batch = in[0],
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
}

/// Where the outputs of a convolution lie.
[[nodiscard]] constexpr Extents outputs_of(const ConvShape& shape) {
  return {shape.batch, shape.out_height, shape.out_width, shape.out_channels};
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
  require_coding<X>(device.backend(), operation, x.zero_point());
  require_coding<W>(device.backend(), operation, w.zero_point());
  const ConvShape shape = conv_shape(kind, {operation, x.shape(), w.shape(), bias.size(), w.scale_count(), size}, how);
  if constexpr (!delivers_sums) require_coding<Y>(device.backend(), operation, how.zero_point);
  ProductLayer layer = layer_of(operation, shape, outputs_of(shape), x, w);
  layer.bias.assign(bias.begin(), bias.end());
  layer.transposed = kind == ConvKind::transposed;
  constexpr ProductTypes any = [] {
    ProductTypes types = types_of<X, W>;
    types.bias_64bit = std::is_same_v<Bias, std::int64_t>;
    types.delivers_sums = delivers_sums && kind != ConvKind::transposed;
    return types;
  }();
  ProductTypes types = any;
  types.has_bias = !bias.empty();
  types.bias_64bit = any.bias_64bit && types.has_bias;
  types.per_channel = w.per_channel();
  if (kind != ConvKind::transposed)
    types.one_to_one = (kind == ConvKind::depthwise || w.shape().back() == 1) && x.shape().back() == shape.out_channels;
  return with_conv<Array<Y>, any>(device, conv_rules<kind>, operation, types, [&](const auto& rule) {
    const SumArithmetic& sum = rule().sum;
    layer.input = centred(x, sum.centring);
    layer.weights = centred(w, sum.centring);
    if (kind == ConvKind::depthwise) layer.weights = turned(layer.weights, static_cast<std::size_t>(shape.out_channels));
    if constexpr (delivers_sums) return sums(std::move(layer), sum, &rule());
    else return products<Y>(std::move(layer), sum, &rule(), finish_of<Y>(rule), {how.scale, how.zero_point, how.activation});
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
  ProductLayer layer = layer_of(
      operation, {.in_width = rows, .in_channels = x.shape()[1], .out_width = rows, .out_channels = outputs, .together = largest_group},
      {rows, outputs}, x, w);
  layer.bias.assign(bias.begin(), bias.end());
  ProductTypes types = types_of<X, W>;
  types.has_bias = !bias.empty();
  types.per_channel = w.per_channel();
  return with_conv<Array<X>, types_of<X, W>>(device, dense_rules, operation, types, [&](const auto& rule) {
    const SumArithmetic& sum = rule().sum;
    layer.input = centred(x, sum.centring);
    layer.weights = centred(w, sum.centring);
    return products<X>(std::move(layer), sum, &rule(), finish_of<X>(rule), out);
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
  ProductLayer layer =
      layer_of(operation, {.in_width = rows, .in_channels = length, .out_width = rows, .out_channels = columns}, {rows, columns}, a, b);
  return with_matmul(device, types_of<X, W>, [&](const auto& rule) {
    const SumArithmetic& sum = rule().sum;
    layer.input = centred(a, sum.centring);
    layer.weights = turned(centred(b, sum.centring), static_cast<std::size_t>(columns));
    return products<X>(std::move(layer), sum, nullptr, finish_of<X>(rule), out);
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

namespace core {

[[nodiscard]] constexpr const RescaleRule& output_rule(const RescaleRule& rule) { return rule; }
[[nodiscard]] constexpr const RescaleRule& output_rule(const ConvArithmetic& rule) {
  require(applies_scale(rule.sum), "requantize", "the device rescales nothing");
  return rule.sum.output;
}

/// What a layer brings to the chain that makes its outputs.
template <Code Y>
[[nodiscard]] constexpr RescaleOperands requantization(const RescaleRule& rule, const Requantization& layer) {
  require_output_chain(rule.chain, "requantize", layer.activation);
  RescaleOperands operands = output_operands<Y>({layer.out, layer.zero_point, layer.activation});
  const double real = effective_scale(rule, one_operand(layer.in, layer.weight, layer.out));
  operands.scale = held_scale(rule.scale, "requantize", real, real);
  return operands;
}
constexpr void require_places(std::size_t accumulators, std::size_t codes) {
  if (accumulators != codes)
    throw Error(ErrorCode::shape_mismatch, "requantize",
                std::to_string(accumulators) + " accumulators for " + std::to_string(codes) + " codes");
}

template <class Rule>
concept OutputRule = std::same_as<Rule, RescaleRule> || std::same_as<Rule, ConvArithmetic>;

}  // namespace core

template <Code Y = std::int8_t, core::OutputRule Rule>
[[nodiscard]] constexpr Y requantize(const Rule& rule, std::int64_t accumulator, const Requantization& layer) {
  const RescaleRule& by = core::output_rule(rule);
  return static_cast<Y>(core::finish_exactly(by.chain, accumulator, core::requantization<Y>(by, layer)));
}
/// Many of one layer into the caller's memory: requantize(vipnano_v8.conv.i8, accumulators, {…}, codes).
template <Code Y, core::OutputRule Rule>
constexpr void requantize(const Rule& rule, std::span<const std::int32_t> accumulators, const Requantization& layer, std::span<Y> codes) {
  const RescaleRule& by = core::output_rule(rule);
  core::require_places(accumulators.size(), codes.size());
  core::finish_all(core::finish_given<Y>, by.chain, core::requantization<Y>(by, layer), accumulators, codes.data());
}

/// The same by a rule that is a constant of the program, of which the compiler makes code of its own: requantize<vipnano_v8.conv.i8>(1000, {…}).
template <auto rule, Code Y = std::int8_t>
requires core::OutputRule<std::remove_cvref_t<decltype(rule)>>
[[nodiscard]] constexpr Y requantize(std::int64_t accumulator, const Requantization& layer) {
  constexpr RescaleRule by = core::output_rule(rule);
  return static_cast<Y>(core::finish<by.chain>(accumulator, core::requantization<Y>(by, layer)));
}
template <auto rule, Code Y>
requires core::OutputRule<std::remove_cvref_t<decltype(rule)>>
constexpr void requantize(std::span<const std::int32_t> accumulators, const Requantization& layer, std::span<Y> codes) {
  constexpr RescaleRule by = core::output_rule(rule);
  core::require_places(accumulators.size(), codes.size());
  core::finish_all(core::finish_known<by.chain, Y>, by.chain, core::requantization<Y>(by, layer), accumulators, codes.data());
}

}  // namespace lastbit
