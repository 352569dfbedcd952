// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "differential/layer_maker.hpp"

#include <cmath>
#include <string>

#include "lastbit/layer.hpp"

namespace lastbit::test {
namespace {

using enum OperationKind;

/// Builds the operation of a model, input by input.
class LayerMaker {
 public:
  LayerMaker(const Backend& backend, Choices& choose)
      : choose_(choose), symmetric_(backend.coding == Coding::symmetric), float16_(backend.float16.method != Float16Method::absent) {
    model_.name = "random";
    data_type_ = float16_            ? ElementType::float16
                 : choose.one_in(3)  ? ElementType::int16
                 : symmetric_        ? ElementType::int8
                 : choose.one_in(24) ? ElementType::uint16
                                     : choose.of({ElementType::int8, ElementType::uint8});
    unscaled_ = symmetric_ && choose.one_in(2);
  }

  Model convolution(OperationKind kind);
  Model fully_connected_layer();
  Model matrix_product();
  Model pool(OperationKind kind);
  Model element_wise(OperationKind kind);
  Model concatenation();
  Model conversion(OperationKind kind);
  Model unary(OperationKind kind);

 private:
  [[nodiscard]] double scale() {
    return choose_.one_in(2) ? std::ldexp(1.0, static_cast<int>(choose_.between(-9, 2)))
                             : 0.001 * static_cast<double>(choose_.between(1, 900));
  }
  [[nodiscard]] Quantization quantization(ElementType type) {
    if (unscaled_ || is_real(type)) return {};
    const IntegerRange range = range_of(type);
    const bool centred = symmetric_ || type == ElementType::int16 || choose_.one_in(4);
    return {{scale()},
            {centred ? 0 : choose_.of({range.min, range.max, range.min / 2 + range.max / 2, choose_.between(range.min, range.max)})},
            0};
  }
  [[nodiscard]] Quantization weight_quantization(std::int64_t channels, std::int64_t axis, ElementType type) {
    if (unscaled_ || is_real(type)) return {};
    if (choose_.one_in(3)) return {{scale()}, {type == ElementType::uint8 ? 128 : 0}, axis};
    Quantization per_channel{{}, std::vector<std::int64_t>(static_cast<std::size_t>(channels), type == ElementType::uint8 ? 128 : 0), axis};
    for (std::int64_t o = 0; o < channels; ++o) per_channel.scales.push_back(scale());
    return per_channel;
  }
  std::int32_t add(ElementType type, const Shape& shape, Quantization quantization, std::optional<Tensor> constant = {}) {
    model_.tensors.push_back({"t" + std::to_string(model_.tensors.size()), type, shape, std::move(quantization), std::move(constant)});
    return static_cast<std::int32_t>(model_.tensors.size()) - 1;
  }
  std::int32_t add_data(const Shape& shape) { return add(data_type_, shape, quantization(data_type_)); }
  std::int32_t add_weights(const Shape& shape, std::int64_t channels, std::int64_t axis) {
    const ElementType type = float16_                           ? ElementType::float16
                             : choose_.one_in(3)                ? ElementType::int16
                             : symmetric_ || !choose_.one_in(6) ? ElementType::int8
                                                                : ElementType::uint8;
    return add(type, shape, weight_quantization(channels, axis, type), random_values(type, shape, choose_));
  }
  std::int32_t add_bias(std::int64_t channels) {
    if (choose_.one_in(4)) return absent_tensor;
    const ElementType type = float16_                           ? choose_.of({ElementType::float16, ElementType::float32})
                             : data_type_ == ElementType::int16 ? choose_.of({ElementType::int32, ElementType::int64})
                             : unscaled_                        ? choose_.of({ElementType::int8, ElementType::int16, ElementType::int32})
                                                                : ElementType::int32;
    Tensor values = float16_ ? random_values(type, {channels}, choose_) : random_bias(type, channels, choose_);
    return add(type, {channels}, {}, std::move(values));
  }
  /// Of what sums products: as the data, or the sums themselves.
  [[nodiscard]] ElementType sum_type() {
    if (float16_) return ElementType::float16;
    if (unscaled_ || choose_.one_in(8)) return ElementType::int32;
    if (data_type_ == ElementType::int16) return ElementType::int16;
    return symmetric_ ? ElementType::int8 : data_type_;
  }
  [[nodiscard]] OutputBounds bounds() {
    if (unscaled_ || choose_.one_in(2)) return {};
    return {choose_.of({Activation::none, Activation::relu, Activation::relu6, Activation::relu_n1_to_1}), {}, {}, {}};
  }
  [[nodiscard]] Extent2d extent(std::int64_t most) { return {choose_.between(1, most), choose_.between(1, most)}; }
  [[nodiscard]] Padding2d padding() {
    const auto mode = choose_.of({PaddingMode::same, PaddingMode::valid, PaddingMode::explicit_sizes});
    if (mode != PaddingMode::explicit_sizes) return {mode, 0, 0, 0, 0};
    return {mode, choose_.between(0, 2), choose_.between(0, 2), choose_.between(0, 2), choose_.between(0, 2)};
  }
  [[nodiscard]] std::int64_t channels() { return choose_.one_in(4) ? choose_.between(1, 70) : choose_.between(1, 20); }
  [[nodiscard]] Shape image(std::int64_t depth) {
    const std::int64_t most = choose_.one_in(8) ? 24 : 7;
    return {1, choose_.between(1, most), choose_.between(1, most), depth};
  }

  /// Every tensor that is no constant is an input; the output has the shape that follows.
  Model finished(OperationKind kind, Attributes attributes, std::vector<std::int32_t> inputs, ElementType type,
                 std::optional<Quantization> of_output = {}) {
    Operation operation{kind, "layer", std::move(inputs), {}, std::move(attributes)};
    for (const auto input : operation.inputs) {
      if (input != absent_tensor && !model_.tensor(input).constant) model_.inputs.push_back(input);
    }
    const Shape shape = output_shapes(model_, operation)[0];
    operation.outputs = {add(type, shape,
                             of_output                                         ? *of_output
                             : type == ElementType::int32 && choose_.one_in(2) ? Quantization{}
                                                                               : quantization(type))};
    model_.outputs = operation.outputs;
    model_.operations = {std::move(operation)};
    validate(model_, "random layer");
    return std::move(model_);
  }

  Choices& choose_;
  bool symmetric_, float16_, unscaled_ = false;
  ElementType data_type_;
  Model model_;
};

Model LayerMaker::convolution(OperationKind kind) {
  const std::int64_t groups = kind == conv2d && choose_.one_in(4) ? choose_.between(2, 4) : 1;
  const std::int64_t in = groups * channels();
  const Extent2d kernel = extent(choose_.one_in(3) ? 1 : 4);
  Conv2dAttributes attributes{extent(2), kind == transposed_conv2d || !choose_.one_in(4) ? Extent2d{1, 1} : extent(3), padding(), bounds()};
  if (symmetric_ && choose_.one_in(2)) attributes.padding = {};
  const std::int32_t data = add_data(image(in));
  std::int64_t out = groups * channels();
  std::int32_t weights = 0;
  if (kind == depthwise_conv2d) {
    out = in * (choose_.one_in(3) ? choose_.between(2, 3) : 1);
    weights = add_weights({1, kernel.height, kernel.width, out}, out, 3);
  } else {
    weights = add_weights({out, kernel.height, kernel.width, in / groups}, out, 0);
  }
  return finished(kind, attributes, {data, weights, add_bias(out)}, sum_type());
}

Model LayerMaker::fully_connected_layer() {
  const std::int64_t in = choose_.between(1, 200), out = channels();
  const std::int32_t data = add_data({choose_.between(1, 9), in}), weights = add_weights({out, in}, out, 0);
  std::vector<std::int32_t> inputs{data, weights, add_bias(out)};
  if (unscaled_ && model_.tensor(weights).type == ElementType::int8 && choose_.one_in(2))
    inputs.push_back(add(ElementType::uint8, {out}, {}, random_values(ElementType::uint8, {out}, choose_)));
  return finished(fully_connected, FullyConnectedAttributes{bounds()}, inputs, sum_type());
}

Model LayerMaker::matrix_product() {
  const std::int64_t rows = choose_.between(1, 9), terms = choose_.between(1, 90), columns = choose_.between(1, 20);
  MatmulAttributes attributes{choose_.one_in(2), choose_.one_in(2), bounds()};
  const auto shape = [](std::int64_t a, std::int64_t b, bool transposed) { return transposed ? Shape{2, b, a} : Shape{2, a, b}; };
  const std::int32_t a = add_data(shape(rows, terms, attributes.transpose_a)), b = add_data(shape(terms, columns, attributes.transpose_b));
  return finished(matmul, attributes, {a, b}, sum_type());
}

Model LayerMaker::pool(OperationKind kind) {
  const std::int32_t data = add_data(image(channels()));
  const Quantization same = model_.tensor(data).quantization;
  const std::optional<Quantization> of_output = choose_.one_in(4) ? std::nullopt : std::optional(same);
  if (kind == global_average_pool) return finished(kind, default_attributes(kind), {data}, data_type_, of_output);
  if (kind == mean) return finished(kind, MeanAttributes{{1, 2}, choose_.one_in(2)}, {data}, data_type_, of_output);
  Pool2dAttributes attributes{extent(4), extent(3), padding(), PartialWindows::dropped, bounds()};
  return finished(kind, attributes, {data}, data_type_, of_output);
}

Model LayerMaker::element_wise(OperationKind kind) {
  const Shape shape = image(channels());
  const std::int32_t a = add_data(shape);
  const std::int32_t b = add_data(choose_.one_in(3) ? Shape{1, 1, 1, shape[3]} : choose_.one_in(4) ? Shape{1, 1, 1, 1} : shape);
  if (choose_.one_in(2)) model_.tensors[static_cast<std::size_t>(b)].quantization = model_.tensor(a).quantization;
  return finished(kind, ElementwiseAttributes{bounds()}, {a, b}, data_type_);
}

Model LayerMaker::concatenation() {
  const Shape shape = image(channels());
  std::vector<std::int32_t> inputs;
  for (std::uint64_t i = 0, count = 1 + choose_.below(4); i < count; ++i) {
    inputs.push_back(add_data({1, shape[1], shape[2], channels()}));
    if (!inputs.empty() && choose_.one_in(2))
      model_.tensors[static_cast<std::size_t>(inputs[i])].quantization = model_.tensor(inputs[0]).quantization;
  }
  return finished(concat, ConcatAttributes{3, Activation::none}, inputs, data_type_, model_.tensor(inputs[0]).quantization);
}

Model LayerMaker::conversion(OperationKind kind) {
  const ElementType integer = choose_.of({ElementType::int8, ElementType::uint8, ElementType::int16, ElementType::int32});
  const ElementType real = float16_ ? choose_.of({ElementType::float16, ElementType::float32}) : ElementType::float32;
  const ElementType from = kind == quantize ? real : kind == cast ? choose_.of({ElementType::float16, ElementType::float32}) : integer;
  const ElementType to = kind == dequantize ? real
                         : kind == cast     ? choose_.of({ElementType::float16, ElementType::float32})
                                            : choose_.of({ElementType::int8, ElementType::uint8, ElementType::int16});
  unscaled_ = false;
  const std::int32_t data = add(from, image(channels()), quantization(from));
  return finished(kind, default_attributes(kind), {data}, to);
}

Model LayerMaker::unary(OperationKind kind) {
  const std::int32_t data = add_data(image(channels()));
  Attributes attributes = default_attributes(kind);
  if (kind == leaky_relu) attributes = LeakyReluAttributes{0.01 * static_cast<double>(choose_.between(1, 99))};
  std::optional<Quantization> of_output;
  const ElementType type = data_type_;
  if (kind == softmax || kind == logistic) {
    if (type == ElementType::int8) of_output = Quantization{{1.0 / 256}, {-128}, 0};
    if (type == ElementType::uint8) of_output = Quantization{{1.0 / 256}, {0}, 0};
  }
  if (kind == tanh && type == ElementType::int8) of_output = Quantization{{1.0 / 128}, {0}, 0};
  if (type == ElementType::int16 && kind != leaky_relu && kind != hard_swish) of_output = Quantization{{1.0 / 32768}, {0}, 0};
  return finished(kind, attributes, {data}, type, of_output);
}

}  // namespace

bool sums_products(OperationKind kind) {
  return kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d || kind == fully_connected || kind == matmul;
}

Model make_layer(const Backend& backend, Choices& choose) {
  LayerMaker maker(backend, choose);
  const auto kind = choose.of({conv2d,
                               conv2d,
                               conv2d,
                               conv2d,
                               conv2d,
                               conv2d,
                               depthwise_conv2d,
                               depthwise_conv2d,
                               depthwise_conv2d,
                               transposed_conv2d,
                               transposed_conv2d,
                               fully_connected,
                               fully_connected,
                               fully_connected,
                               matmul,
                               matmul,
                               max_pool2d,
                               average_pool2d,
                               global_average_pool,
                               mean,
                               OperationKind::add,
                               sub,
                               mul,
                               concat,
                               softmax,
                               requantize,
                               quantize,
                               dequantize,
                               cast,
                               relu,
                               relu6,
                               leaky_relu,
                               hard_swish,
                               logistic,
                               tanh});
  switch (kind) {
    case conv2d:
    case depthwise_conv2d:
    case transposed_conv2d: return maker.convolution(kind);
    case fully_connected: return maker.fully_connected_layer();
    case matmul: return maker.matrix_product();
    case max_pool2d:
    case average_pool2d:
    case global_average_pool:
    case mean: return maker.pool(kind);
    case OperationKind::add:
    case sub:
    case mul: return maker.element_wise(kind);
    case concat: return maker.concatenation();
    case requantize:
    case quantize:
    case dequantize:
    case cast: return maker.conversion(kind);
    default: return maker.unary(kind);
  }
}

}  // namespace lastbit::test
