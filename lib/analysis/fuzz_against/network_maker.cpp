// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/fuzz_against/network_maker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

using Kind = OperationKind;

bool needs_matrix(OperationKind kind) { return kind == Kind::fully_connected || kind == Kind::matmul; }

bool needs_image(OperationKind kind) {
  return kind == Kind::conv2d || kind == Kind::depthwise_conv2d || kind == Kind::transposed_conv2d || kind == Kind::max_pool2d ||
         kind == Kind::average_pool2d || kind == Kind::global_average_pool || kind == Kind::mean || kind == Kind::resize ||
         kind == Kind::pad || kind == Kind::reduce_sum || kind == Kind::reduce_max || kind == Kind::reduce_min;
}

/// For these ONNX Runtime has operators on codes.
bool has_form_on_codes(OperationKind kind) {
  return kind == Kind::conv2d || kind == Kind::depthwise_conv2d || kind == Kind::fully_connected || kind == Kind::matmul ||
         kind == Kind::add || kind == Kind::mul || kind == Kind::concat || kind == Kind::average_pool2d ||
         kind == Kind::global_average_pool || kind == Kind::logistic || kind == Kind::leaky_relu || kind == Kind::softmax;
}

std::int64_t span_of(std::int64_t filter, std::int64_t dilation) { return (filter - 1) * dilation + 1; }

}  // namespace

std::int64_t NetworkMaker::channels() {
  return random_.one_in(5) ? random_.of<std::int64_t>({16, 17, 31, 32, 33, 40, 64}) : random_.between(1, 12);
}

Extent2d NetworkMaker::extent(std::int64_t most) {
  const Shape& in = now().shape;
  return {random_.between(1, std::min(most, in[1])), random_.between(1, std::min(most, in[2]))};
}

OutputBounds NetworkMaker::bounds() {
  OutputBounds bounds;
  using enum Activation;
  bounds.activation = is_onnx() ? random_.of({none, none, none, Activation::relu, Activation::relu6})
                                : random_.of({none, none, Activation::relu, Activation::relu6, Activation::relu_n1_to_1});
  return bounds;
}

Padding2d NetworkMaker::padding(Extent2d span, Extent2d stride, bool of_pool) {
  if (random_.one_in(3)) return {PaddingMode::valid};
  if (!is_onnx()) return {PaddingMode::same};
  // Of an .onnx file the total may be negative, which implementations take differently.
  const auto total = [](std::int64_t in, std::int64_t filter, std::int64_t step) { return (in - 1) / step * step + filter - in; };
  const bool crops = total(now().shape[1], span.height, stride.height) < 0 || total(now().shape[2], span.width, stride.width) < 0;
  if (random_.one_in(3)) return {crops ? PaddingMode::valid : PaddingMode::same};
  const auto side = [&](std::int64_t size) { return random_.between(0, std::min<std::int64_t>(size - 1, of_pool ? size / 2 : 2)); };
  return {PaddingMode::explicit_sizes, side(span.height), side(span.height), side(span.width), side(span.width)};
}

void NetworkMaker::emit(OperationKind kind, std::vector<std::int32_t> inputs, Attributes attributes, Quantization of_output,
                        std::optional<Shape> shape) {
  Operation operation{kind, "", std::move(inputs), {}, std::move(attributes)};
  const OutputBounds* const bounds = std::visit(
      []<class T>(const T& each) -> const OutputBounds* {
        if constexpr (requires { each.bounds; }) return &each.bounds;
        else return nullptr;
      },
      operation.attributes);
  const bool bounded = bounds != nullptr && bounds->activation != Activation::none;
  const bool has_bias = kind == Kind::fully_connected && operation.inputs.back() != absent_tensor;
  if (is_onnx()) {
    const bool on_codes = has_form_on_codes(kind) && !bounded && !has_bias && random_.one_in(4);
    operation.stated = on_codes ? Statement::on_codes : Statement::fusible;
  }
  Shape made = shape ? *std::move(shape) : output_shapes(make_.model(), operation)[0];
  current_ = make_.add("t", make_.type(), std::move(made), std::move(of_output));
  operation.outputs = {current_};
  operation.name = now().name;
  make_.model().operations.push_back(std::move(operation));
}

void NetworkMaker::begin(OperationKind first) {
  make_.model().name = "random";
  const bool matrix = needs_matrix(first) || (!needs_image(first) && random_.one_in(5));
  const Shape shape = matrix ? Shape{random_.one_in(2) ? 1 : random_.between(1, 6), random_.between(1, random_.one_in(4) ? 300 : 40)}
                             : Shape{1, random_.between(1, 9), random_.between(1, 9), channels()};
  current_ = make_.add_input(shape, make_.any_quantization());
}

/// Indices are the end.
bool NetworkMaker::takes(OperationKind kind) const { return now().type == make_.type() && (!needs_image(kind) || now().shape.rank() == 4); }

void NetworkMaker::go_back(Mark to) {
  make_.model() = std::move(to.model);
  current_ = to.current;
}

Model NetworkMaker::network() {
  Model model = make_.model();
  model.outputs = {current_};
  validate(model, "random network");
  return model;
}

void NetworkMaker::flatten() {
  if (now().shape.rank() == 2) return;
  emit(Kind::reshape, {current_}, std::monostate{}, Quantization(now().quantization), Shape{1, now().shape.element_count()});
}

void NetworkMaker::convolution() {
  const std::int64_t in = now().shape[3];
  const std::int64_t groups = is_onnx() && in % 2 == 0 && random_.one_in(4) ? 2 : 1;
  const std::int64_t out = groups * random_.between(1, random_.one_in(4) ? 24 : 8);
  const Extent2d filter = extent(random_.one_in(3) ? 1 : 4);
  Conv2dAttributes attributes{extent(3), {1, 1}, {}, bounds()};
  if (random_.one_in(4))
    attributes.dilation = {filter.height == 1 ? 1 : random_.between(1, (now().shape[1] - 1) / (filter.height - 1)),
                           filter.width == 1 ? 1 : random_.between(1, (now().shape[2] - 1) / (filter.width - 1))};
  attributes.padding = padding({span_of(filter.height, attributes.dilation.height), span_of(filter.width, attributes.dilation.width)},
                               attributes.stride, false);
  const std::int32_t weights = make_.add_weights({out, filter.height, filter.width, in / groups}, out, 0, true);
  const std::int32_t bias = make_.add_bias(current_, weights, out);
  emit(Kind::conv2d, {current_, weights, bias}, attributes, make_.of_sums(current_, weights, filter.height * filter.width * in / groups));
}

void NetworkMaker::depthwise() {
  const std::int64_t in = now().shape[3], out = in * (random_.one_in(3) ? 2 : 1);
  const Extent2d filter = extent(4);
  Conv2dAttributes attributes{extent(3), {1, 1}, {}, {}};
  attributes.padding = padding(filter, attributes.stride, false);
  attributes.bounds = bounds();
  const std::int32_t weights = make_.add_weights({1, filter.height, filter.width, out}, out, 3, true);
  const std::int32_t bias = make_.add_bias(current_, weights, out);
  emit(Kind::depthwise_conv2d, {current_, weights, bias}, attributes, make_.of_sums(current_, weights, filter.height * filter.width));
}

void NetworkMaker::transposed() {
  const Shape in = now().shape;
  const std::int64_t out = random_.between(1, 6);
  const Extent2d filter{random_.between(1, 3), random_.between(1, 3)}, stride{random_.between(1, 2), random_.between(1, 2)};
  const bool same = !is_onnx() && random_.one_in(2);
  const Shape shape = same ? Shape{1, in[1] * stride.height, in[2] * stride.width, out}
                           : Shape{1, (in[1] - 1) * stride.height + filter.height, (in[2] - 1) * stride.width + filter.width, out};
  const Conv2dAttributes attributes{stride, {1, 1}, {same ? PaddingMode::same : PaddingMode::valid}, {}};
  const std::int32_t weights = make_.add_weights({out, filter.height, filter.width, in[3]}, out, 0, !is_onnx());
  const std::int32_t bias = make_.add_bias(current_, weights, out);
  emit(Kind::transposed_conv2d, {current_, weights, bias}, attributes,
       make_.of_sums(current_, weights, filter.height * filter.width * in[3]), shape);
}

void NetworkMaker::dense() {
  flatten();
  const std::int64_t in = now().shape[1], out = channels();
  const std::int32_t weights = make_.add_weights({out, in}, out, 0, is_onnx() || random_.one_in(2));
  const std::int32_t bias = make_.add_bias(current_, weights, out);
  FullyConnectedAttributes attributes{.bounds = bounds()};
  attributes.stated_by_input = bias == absent_tensor;  // the writer's MatMul
  emit(Kind::fully_connected, {current_, weights, bias}, attributes, make_.of_sums(current_, weights, in));
}

void NetworkMaker::product() {
  flatten();
  const std::int64_t terms = now().shape[1], columns = random_.between(1, 9);
  const std::int32_t right = make_.add_input({terms, columns}, make_.any_quantization());
  emit(Kind::matmul, {current_, right}, MatmulAttributes{}, make_.of_sums(current_, right, terms));
}

void NetworkMaker::pool(OperationKind kind) {
  Pool2dAttributes attributes{extent(4), extent(3), {}, PartialWindows::dropped, {}};
  attributes.padding = padding(attributes.filter, attributes.stride, true);
  const bool plain = attributes.padding.mode == PaddingMode::valid && attributes.stride.height <= attributes.filter.height &&
                     attributes.stride.width <= attributes.filter.width;
  if (is_onnx() && plain && random_.one_in(2)) attributes.partial_windows = PartialWindows::last_truncated;
  if (is_onnx() && kind == Kind::average_pool2d && random_.one_in(3)) attributes.counted_padding = true;
  if (!is_onnx() || kind == Kind::average_pool2d) attributes.bounds = is_onnx() ? OutputBounds{} : bounds();
  const bool same = kind == Kind::max_pool2d || !is_onnx();
  const Quantization quantization = now().quantization;
  emit(kind, {current_}, attributes, same ? quantization : make_.near(quantization.scale()));
}

void NetworkMaker::reduction(OperationKind kind) {
  const bool every = random_.one_in(2);
  MeanAttributes attributes{every ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{random_.between(1, 3)}, true};
  if (every && random_.one_in(2)) attributes.keep_dims = false;
  const double scale = now().quantization.scale();
  const bool picks = kind == Kind::reduce_max || kind == Kind::reduce_min;
  emit(kind, {current_}, attributes, picks ? Quantization(now().quantization) : make_.near(kind == Kind::mean ? scale : 4 * scale));
}

/// Of the shape of what there is, or of one that is broadcast to it.
std::int32_t NetworkMaker::other_operand(bool same_quantization) {
  const Shape shape = now().shape;
  const Quantization quantization = same_quantization || random_.one_in(5) ? now().quantization : make_.any_quantization();
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(make_.model().tensors.size()) && random_.one_in(2); ++i) {
    const ModelTensor& earlier = make_.tensor(i);
    const bool fits = i != current_ && !earlier.constant && earlier.shape == shape && earlier.type == make_.type();
    if (fits && (!same_quantization || earlier.quantization == quantization)) return i;
  }
  if (random_.one_in(2)) return make_.add_input(shape, quantization);
  if (same_quantization || random_.one_in(2)) return make_.add_constant(shape, quantization);
  return make_.add_constant(shape.rank() == 4 ? Shape{1, 1, 1, shape[3]} : Shape{1, shape[1]}, quantization);
}

void NetworkMaker::element_wise(OperationKind kind) {
  const std::int32_t other = other_operand(false);
  const double a = now().quantization.scale(), b = make_.tensor(other).quantization.scale();
  const double wide = make_.type() == ElementType::int16 ? 512 : 1;
  const Quantization quantization =
      kind == Kind::mul ? make_.with_scale(a * b * 74 * 74 * wide / random_.odd_number(3, 9)) : make_.near(1.4 * std::max(a, b));
  const bool swapped = random_.one_in(3);
  emit(kind, swapped ? std::vector{other, current_} : std::vector{current_, other}, ElementwiseAttributes{bounds(), false}, quantization);
}

/// Two operands of one quantisation.
void NetworkMaker::extreme(OperationKind kind) {
  const std::int32_t other = other_operand(true);
  emit(kind, random_.one_in(3) ? std::vector{other, current_} : std::vector{current_, other}, std::monostate{},
       Quantization(now().quantization));
}

/// Indices, behind which nothing follows.
void NetworkMaker::largest() {
  const auto rank = static_cast<std::int64_t>(now().shape.rank());
  const std::int64_t axis = random_.one_in(2) ? rank - 1 : random_.between(0, rank - 1);
  std::vector<std::int64_t> sizes(now().shape.sizes().begin(), now().shape.sizes().end());
  sizes.erase(sizes.begin() + axis);
  const std::int32_t from = current_;
  current_ = make_.add("t", ElementType::int32, Shape(std::move(sizes)), {});
  make_.model().operations.push_back({Kind::argmax, now().name, {from}, {current_}, ArgmaxAttributes{axis}});
}

void NetworkMaker::concatenation() {
  const bool same = !is_onnx() && make_.type() != ElementType::uint8;
  std::vector<std::int32_t> inputs{current_};
  for (std::int64_t i = 0, more = random_.between(1, 3); i < more; ++i) inputs.push_back(other_operand(true));
  if (!same && random_.one_in(2)) inputs.push_back(make_.add_input(now().shape, make_.any_quantization()));
  const Quantization quantization = same ? now().quantization : make_.near(now().quantization.scale());
  const auto rank = static_cast<std::int64_t>(now().shape.rank());
  emit(Kind::concat, inputs,
       ConcatAttributes{random_.one_in(2) ? rank - 1 : random_.between(rank == 4 ? 1 : 0, rank - 1), Activation::none}, quantization);
}

void NetworkMaker::pad() {
  PadAttributes attributes;
  attributes.paddings = {{0, 0}, {random_.between(0, 2), random_.between(0, 2)}, {random_.between(0, 2), 1}, {0, 0}};
  if (random_.one_in(4)) attributes.paddings[3] = {1, random_.between(0, 2)};
  const IntegerRange range = range_of(make_.type());
  if (random_.one_in(3)) attributes.value = random_.between(range.min, range.max);
  emit(Kind::pad, {current_}, attributes, Quantization(now().quantization));
}

void NetworkMaker::resize() {
  using enum ResizeCoordinates;
  ResizeAttributes attributes;
  attributes.mode = random_.of({ResizeMode::nearest, ResizeMode::bilinear});
  if (is_onnx()) {
    attributes.coordinates = random_.of({half_pixel, asymmetric, align_corners, half_pixel_or_zero});
    attributes.nearest = random_.of({Rounding::floor, Rounding::ceil, Rounding::half_down, Rounding::half_up});
  } else {  // which a .tflite file can say
    attributes.coordinates = random_.of({half_pixel, asymmetric, align_corners});
    attributes.nearest = attributes.coordinates == asymmetric ? Rounding::floor : Rounding::half_up;
  }
  const Shape in = now().shape;
  emit(Kind::resize, {current_}, attributes, Quantization(now().quantization),
       Shape{1, random_.between(1, 2 * in[1] + 1), random_.between(1, 2 * in[2] + 1), in[3]});
}

/// A scale that a kernel fixes, with so many of 256 codes below zero.
Quantization NetworkMaker::fixed(double scale, std::int64_t codes_below_zero) {
  if (make_.type() == ElementType::int16) return {{0x1p-15}, {0}, 0};
  return {{scale}, {range_of(make_.type()).min + codes_below_zero}, 0};
}

void NetworkMaker::unary(OperationKind kind) {
  Attributes attributes = default_attributes(kind);
  if (kind == Kind::leaky_relu) attributes = LeakyReluAttributes{random_.one_in(3) ? static_cast<double>(0.1F) : random_.odd_number(-7, 0)};
  Quantization quantization = make_.near(now().quantization.scale());
  const bool any_output = is_onnx() && random_.one_in(2);
  if (kind == Kind::softmax || kind == Kind::logistic)
    quantization = any_output ? make_.with_scale(random_.odd_number(-10, -6)) : fixed(0x1p-8, 0);
  if (kind == Kind::tanh) quantization = any_output ? make_.with_scale(random_.odd_number(-9, -6)) : fixed(0x1p-7, 128);
  emit(kind, {current_}, attributes, quantization);
}

void NetworkMaker::append(OperationKind kind) {
  switch (kind) {
    case Kind::conv2d: return convolution();
    case Kind::depthwise_conv2d: return depthwise();
    case Kind::transposed_conv2d: return transposed();
    case Kind::fully_connected: return dense();
    case Kind::matmul: return product();
    case Kind::max_pool2d:
    case Kind::average_pool2d:
    case Kind::global_average_pool: return pool(kind);
    case Kind::mean:
    case Kind::reduce_sum:
    case Kind::reduce_max:
    case Kind::reduce_min: return reduction(kind);
    case Kind::maximum:
    case Kind::minimum: return extreme(kind);
    case Kind::argmax: return largest();
    case Kind::add:
    case Kind::sub:
    case Kind::mul: return element_wise(kind);
    case Kind::concat: return concatenation();
    case Kind::pad: return pad();
    case Kind::resize: return resize();
    default: return unary(kind);
  }
}

}  // namespace lastbit
