// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "differential/layer_maker.hpp"

#include <cmath>
#include <utility>

#include "differential/tensor_maker.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::test {
namespace {

using enum OperationKind;

/// Builds the operation of a model, input by input.
class LayerMaker : TensorMaker {
 public:
  using TensorMaker::TensorMaker;

  std::optional<Model> layer(OperationKind kind);

 private:
  Model convolution(OperationKind kind);
  Model convolution_of_registers(OperationKind kind);
  Model fully_connected_layer();
  Model matrix_product();
  Model pool(OperationKind kind);
  Model element_wise(OperationKind kind);
  Model extreme(OperationKind kind);
  Model concatenation();
  Model conversion(OperationKind kind);
  Model unary(OperationKind kind);
  Model sum_of_many(OperationKind kind);
  Model shifted_sum(OperationKind kind);
  Model parametric_relu();
  Model bounded();
  Model resized();
  Model extreme_index(OperationKind kind);
  Model detections();
  Model quantized_by_range();
  Model quantized_in_blocks();
  Model product_of_blocks();
  Model segments();
  Model sum_pool();
  Model fused_convolution();
  Model recurrent_layer();
  Model filters_with_memory();
  Model gates_with_memory();

  /// Every tensor that is no constant is an input; the output has the shape that follows, or that is given in out_shape_.
  Model finished(OperationKind kind, Attributes attributes, std::vector<std::int32_t> inputs, ElementType type,
                 std::optional<Quantization> of_output = {}) {
    Operation operation{kind, "layer", std::move(inputs), {}, std::move(attributes)};
    for (const auto input : operation.inputs) {
      if (input != absent_tensor && !model_.tensor(input).constant) model_.inputs.push_back(input);
    }
    const Shape shape = out_shape_ ? *out_shape_ : output_shapes(model_, operation)[0];
    operation.outputs = {add(type, shape,
                             of_output                                         ? *of_output
                             : type == ElementType::int32 && choose_.one_in(2) ? Quantization{}
                                                                               : output_quantization(type))};
    model_.outputs = operation.outputs;
    model_.operations = {std::move(operation)};
    validate(model_, "random layer");
    return std::move(model_);
  }

  std::optional<Shape> out_shape_;  ///< where none follows from the inputs
};

Model LayerMaker::convolution(OperationKind kind) {
  if (ends_in_segments_ && kind != transposed_conv2d) return convolution_of_registers(kind);
  if (kind != transposed_conv2d) choose_hybrid();
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
  const ElementType type = sum_type();
  return finished(kind, attributes, {data, weights, add_bias(out)}, type);
}

/// For a device that takes zero points, scales and activation from registers.
Model LayerMaker::convolution_of_registers(OperationKind kind) {
  data_type_ = ElementType::uint8;
  const std::int64_t in = channels(), out = kind == depthwise_conv2d ? in : channels();
  const Extent2d kernel = extent(3);
  Conv2dAttributes attributes{.padding = padding()};
  attributes.bounds = registers_and_segments(out);
  if (!choose_.one_in(4)) attributes.cross_terms = cross_terms();
  const std::int32_t data = add_data(image(in));
  const Shape shape = kind == depthwise_conv2d ? Shape{1, kernel.height, kernel.width, out} : Shape{out, kernel.height, kernel.width, in};
  Tensor values = random_values(ElementType::uint8, shape, choose_);
  const std::int32_t weights = add(ElementType::uint8, shape, Quantization{{1.0}, {128}, 0}, std::move(values));
  const std::int32_t bias = attributes.cross_terms ? absent_tensor : add_bias(out);
  return finished(kind, attributes, {data, weights, bias}, ElementType::uint8);
}

Model LayerMaker::fully_connected_layer() {
  choose_hybrid();
  const std::int64_t in = choose_.between(1, 200), out = channels();
  const std::int32_t data = add_data({choose_.between(1, 9), in}), weights = add_weights({out, in}, out, 0);
  std::vector<std::int32_t> inputs{data, weights, add_bias(out)};
  if (unscaled_ && model_.tensor(weights).type == ElementType::int8 && choose_.one_in(2))
    inputs.push_back(add(ElementType::uint8, {out}, {}, random_values(ElementType::uint8, {out}, choose_)));
  FullyConnectedAttributes attributes{bounds()};
  attributes.asymmetric_inputs = is_hybrid() && choose_.one_in(2);
  return finished(fully_connected, attributes, inputs, sum_type());
}

Model LayerMaker::matrix_product() {
  const std::int64_t rows = choose_.between(1, 9), terms = choose_.between(1, 90), columns = choose_.between(1, 20);
  MatmulAttributes attributes{choose_.one_in(2), choose_.one_in(2), bounds()};
  const bool batched = choose_.one_in(2);
  if (!batched) attributes.transpose_a = attributes.transpose_b = false;
  const auto shape = [batched](std::int64_t a, std::int64_t b, bool transposed) {
    if (!batched) return Shape{a, b};
    return transposed ? Shape{2, b, a} : Shape{2, a, b};
  };
  const std::int32_t a = add_data(shape(rows, terms, attributes.transpose_a));
  if (data_type_ == ElementType::uint8 && choose_.one_in(2)) {
    Quantization of_weights = quantization(ElementType::int8);
    const std::int32_t weights = add(ElementType::int8, shape(terms, columns, attributes.transpose_b), std::move(of_weights));
    return finished(matmul, attributes, {a, weights}, sum_type());
  }
  const std::int32_t b = add_data(shape(terms, columns, attributes.transpose_b));
  return finished(matmul, attributes, {a, b}, sum_type());
}

Model LayerMaker::pool(OperationKind kind) {
  const std::int32_t data = add_data(image(channels()));
  const Quantization same = model_.tensor(data).quantization;
  const std::optional<Quantization> of_output = choose_.one_in(4) ? std::nullopt : std::optional(same);
  Pool2dAttributes attributes;
  if (has_planar_pools_) attributes.planar = choose_.one_in(2);
  if (kind == global_average_pool) return finished(kind, attributes, {data}, data_type_, of_output);
  if (kind == mean || kind == reduce_sum) return finished(kind, MeanAttributes{{1, 2}, choose_.one_in(2)}, {data}, data_type_, of_output);
  if (kind == reduce_max || kind == reduce_min) return finished(kind, MeanAttributes{{1, 2}, choose_.one_in(2)}, {data}, data_type_, same);
  attributes.filter = extent(4);
  attributes.stride = extent(3);
  attributes.padding = padding();
  attributes.bounds = bounds();
  return finished(kind, attributes, {data}, data_type_, of_output);
}

Model LayerMaker::element_wise(OperationKind kind) {
  const bool is_sum = kind == OperationKind::add || kind == sub;
  if (is_sum && data_type_ == ElementType::int16 && !unscaled_ && choose_.one_in(3)) return shifted_sum(kind);
  const Shape shape = image(channels());
  const std::int32_t a = add_data(shape);
  const std::int32_t b = add_data(choose_.one_in(3) ? Shape{1, 1, 1, shape[3]} : choose_.one_in(4) ? Shape{1, 1, 1, 1} : shape);
  if (choose_.one_in(2)) model_.tensors[static_cast<std::size_t>(b)].quantization = model_.tensor(a).quantization;
  return finished(kind, is_sum || kind == mul || kind == OperationKind::div ? Attributes(ElementwiseAttributes{bounds()}) : Attributes(),
                  {a, b}, data_type_);
}

/// maximum, minimum: two operands of one quantisation.
Model LayerMaker::extreme(OperationKind kind) {
  const Shape shape = image(channels());
  const std::int32_t a = add_data(shape), b = add_data(choose_.one_in(3) ? Shape{1, 1, 1, shape[3]} : shape);
  const Quantization same = model_.tensor(a).quantization;
  model_.tensors[static_cast<std::size_t>(b)].quantization = same;
  return finished(kind, std::monostate{}, {a, b}, data_type_, same);
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
  Quantization of_data = quantization(from);
  const std::int32_t data = add(from, image(channels()), std::move(of_data));
  return finished(kind, default_attributes(kind), {data}, to);
}

Model LayerMaker::unary(OperationKind kind) {
  if (reads_sums_ && (kind == logistic || kind == tanh)) {
    const std::int32_t sums = add(ElementType::int32, image(channels()), Quantization{{0x1p-12}, {0}, 0});
    return finished(kind, default_attributes(kind), {sums}, ElementType::int32, Quantization{{1.0 / 32768}, {0}, 0});
  }
  const std::int32_t data = add_data(image(channels()));
  Attributes attributes = default_attributes(kind);
  if (kind == leaky_relu) attributes = LeakyReluAttributes{0.01 * static_cast<double>(choose_.between(1, 99))};
  std::optional<Quantization> of_output;
  const ElementType type = data_type_;
  if (kind == softmax || kind == logistic) {
    if (type == ElementType::int8 && !symmetric_) of_output = Quantization{{1.0 / 256}, {-128}, 0};
    if (type == ElementType::uint8) of_output = Quantization{{1.0 / 256}, {0}, 0};
  }
  if (kind == tanh && type == ElementType::int8) of_output = Quantization{{1.0 / 128}, {0}, 0};
  if (kind == l2_normalization && type == ElementType::int8) of_output = Quantization{{1.0 / 128}, {0}, 0};
  if (kind == l2_normalization && type == ElementType::uint8) of_output = Quantization{{1.0 / 128}, {128}, 0};
  if (type == ElementType::int16 && kind != leaky_relu && kind != hard_swish && kind != OperationKind::abs)
    of_output = Quantization{{1.0 / 32768}, {0}, 0};
  return finished(kind, attributes, {data}, type, of_output);
}

/// add_n, bitwise_or, bitwise_xor: any number of operands of one shape.
Model LayerMaker::sum_of_many(OperationKind kind) {
  const Shape shape = image(channels());
  std::vector<std::int32_t> inputs;
  for (std::uint64_t i = 0, count = 2 + choose_.below(3); i < count; ++i) {
    inputs.push_back(add_data(shape));
    if (choose_.one_in(2)) model_.tensors[static_cast<std::size_t>(inputs[i])].quantization = model_.tensor(inputs[0]).quantization;
  }
  const std::optional<Quantization> same = choose_.one_in(2) ? std::optional(model_.tensor(inputs[0]).quantization) : std::nullopt;
  if (kind == add_n) return finished(kind, ElementwiseAttributes{bounds()}, inputs, data_type_, same);
  return finished(kind, std::monostate{}, inputs, data_type_, same);
}

/// add or sub of 16-bit data whose scales are powers of two.
Model LayerMaker::shifted_sum(OperationKind kind) {
  const Shape shape = image(channels());
  const auto power = [&] { return Quantization{{std::ldexp(1.0, static_cast<int>(choose_.between(-3, 0)))}, {0}, 0}; };
  const std::int32_t a = add(data_type_, shape, power()), b = add(data_type_, shape, power());
  return finished(kind, ElementwiseAttributes{bounds(), true}, {a, b}, data_type_, Quantization{{0.5}, {0}, 0});
}

Model LayerMaker::parametric_relu() {
  const std::int32_t data = add_data(image(channels()));
  const Shape slopes{1, 1, 1, model_.tensor(data).shape[3]};
  Tensor values = random_values(data_type_, slopes, choose_);
  const std::int32_t alpha = add(data_type_, slopes, quantization(data_type_), std::move(values));
  return finished(prelu, std::monostate{}, {data, alpha}, data_type_);
}

Model LayerMaker::bounded() {
  const std::int32_t data = add_data(image(channels()));
  ClipAttributes attributes{bounds()};
  if (choose_.one_in(2) && !is_real(data_type_)) attributes.bounds.clamp = IntegerRange{0, choose_.between(1, 100)};
  return finished(clip, attributes, {data}, data_type_);
}

Model LayerMaker::resized() {
  using enum ResizeCoordinates;
  const std::int32_t data = add_data(image(channels()));
  const Shape& in = model_.tensor(data).shape;
  ResizeAttributes attributes;
  attributes.mode = choose_.one_in(4) ? ResizeMode::nearest : ResizeMode::bilinear;
  attributes.coordinates = choose_.of({half_pixel, asymmetric, align_corners, half_pixel_or_zero});
  out_shape_ = Shape{1, choose_.between(1, 12), choose_.between(1, 12), in[3]};
  return finished(resize, attributes, {data}, data_type_, Quantization(model_.tensor(data).quantization));
}

Model LayerMaker::extreme_index(OperationKind kind) {
  const std::int32_t data = add_data(image(choose_.one_in(3) ? 1 : channels()));
  const Shape& in = model_.tensor(data).shape;
  out_shape_ = Shape{in[0], in[1], in[2]};
  return finished(kind, ArgmaxAttributes{3}, {data}, ElementType::int32, Quantization{});
}

Model LayerMaker::detections() {
  const std::int64_t count = choose_.between(1, 12), background = choose_.one_in(2) ? 1 : 0;
  DetectionAttributes attributes;
  attributes.classes = choose_.between(1, 4);
  attributes.most_detections = choose_.between(1, 6);
  attributes.suppression = choose_.of({Suppression::best_class, Suppression::each_class});
  attributes.least_score = -1e6;
  attributes.most_overlap = 0.5;
  const ElementType type = choose_.of({ElementType::uint8, ElementType::float32});
  const auto input = [&](const Shape& shape) {
    return add(type, shape, type == ElementType::uint8 ? Quantization{{0.0625}, {128}, 0} : Quantization{});
  };
  model_.inputs = {input({1, count, 4}), input({1, count, attributes.classes + background}), input({count, 4})};
  for (const Shape& shape :
       {Shape{1, attributes.most_detections, 4}, Shape{1, attributes.most_detections}, Shape{1, attributes.most_detections}, Shape{1}})
    model_.outputs.push_back(add(ElementType::float32, shape, {}));
  model_.operations = {{detection_postprocess, "layer", model_.inputs, model_.outputs, attributes}};
  validate(model_, "random layer");
  return std::move(model_);
}

Model LayerMaker::quantized_by_range() {
  const std::int32_t data = add(ElementType::float32, {1, channels()}, {});
  const auto output = [&](ElementType type, const Shape& shape) { return add(type, shape, {}); };
  model_.inputs = {data};
  model_.outputs = {output(ElementType::uint8, model_.tensor(data).shape), output(ElementType::float32, {}),
                    output(ElementType::uint8, {})};
  model_.operations = {{dynamic_quantize, "layer", {data}, model_.outputs, std::monostate{}}};
  validate(model_, "random layer");
  return std::move(model_);
}

Model LayerMaker::quantized_in_blocks() {
  const BlockFormat format = choose_.of({BlockFormat::q8_0, BlockFormat::q4_0});
  const std::int64_t rows = choose_.between(1, 3), blocks = choose_.between(1, 5);
  model_.inputs = {add(ElementType::float32, {rows, blocks * block_length}, {})};
  const std::int32_t codes = add(codes_of(format).type, {rows, blocks, block_length}, {});
  model_.outputs = {codes, add(ElementType::float16, {rows, blocks}, {})};
  model_.operations = {{block_quantize, "layer", model_.inputs, model_.outputs, BlockAttributes{format}}};
  validate(model_, "random layer");
  return std::move(model_);
}

/// Scales of any size, but finite.
Model LayerMaker::product_of_blocks() {
  const BlockFormat format = choose_.of({BlockFormat::q8_0, BlockFormat::q4_0});
  const std::int64_t rows = choose_.between(1, 3), outputs = choose_.between(1, 4), blocks = choose_.between(1, 9);
  const auto scales = [&](const Shape& shape) {
    Tensor values(ElementType::float16, shape);
    for (Float16& scale : values.values<Float16>())
      scale.bits = static_cast<std::uint16_t>(choose_.below(0x7C00) + (choose_.one_in(2) ? 0x8000U : 0U));
    return add(ElementType::float16, shape, {}, std::move(values));
  };
  const std::int32_t data = add(ElementType::int8, {rows, blocks, block_length}, {});
  const std::int32_t data_scales = scales({rows, blocks});
  const Shape of_weights{outputs, blocks, block_length};
  Tensor codes = random_values(codes_of(format).type, of_weights, choose_);
  const std::int32_t weights = add(codes_of(format).type, of_weights, {}, std::move(codes));
  const std::int32_t weight_scales = scales({outputs, blocks});
  return finished(block_matmul, BlockAttributes{format}, {data, data_scales, weights, weight_scales}, ElementType::float32);
}

Model LayerMaker::segments() {
  const std::int32_t data = add(ElementType::int32, image(channels()), {});
  const ElementType type = choose_.of({ElementType::int8, ElementType::int16, ElementType::int32});
  return finished(pwl, std::monostate{}, {data, add_segments()}, type, Quantization{});
}

Model LayerMaker::sum_pool() {
  unscaled_ = true;
  const ElementType type = choose_.of({ElementType::int8, ElementType::int16, ElementType::int32});
  const std::int32_t data = add(type, image(channels()), {});
  const Pool2dAttributes attributes{extent(4), extent(3), {}, choose_.of({PartialWindows::dropped, PartialWindows::last_truncated}), {}};
  return finished(sum_pool2d, attributes, {data}, type, Quantization{});
}

Model LayerMaker::fused_convolution() {
  unscaled_ = true;
  const std::int64_t in = channels(), out = channels();
  const Extent2d kernel = extent(3);
  const FusedConv2dAttributes attributes{extent(2), {},        choose_.of({PoolKind::none, PoolKind::max, PoolKind::sum}),
                                         extent(3), extent(2), choose_.of({PartialWindows::last_truncated, PartialWindows::dropped})};
  const std::int32_t data = add_data(image(in)), weights = add_weights({out, kernel.height, kernel.width, in}, out, 0);
  const bool activated = choose_.one_in(2);
  return finished(fused_conv2d, attributes, {data, weights, add_bias(out), activated ? add_segments() : absent_tensor},
                  activated ? data_type_ : ElementType::int32, Quantization{});
}

Model LayerMaker::recurrent_layer() {
  unscaled_ = true;
  const std::int64_t rows = choose_.between(1, 5), in = channels(), out = channels(), delay = choose_.between(1, 4);
  const std::int32_t data = add_data({rows, in}), weights = add_weights({out, in + out}, out, 0);
  const std::int32_t feedback = add_data({delay, out}), table = add_segments();
  model_.operations = {{recurrent, "layer", {data, weights, feedback, table, add_bias(out)}, {}, std::monostate{}}};
  Operation& operation = model_.operations[0];
  model_.inputs = {data, feedback};
  operation.outputs = {add(data_type_, {rows, out}, {}), add(ElementType::int32, {rows, out}, {})};
  model_.outputs = operation.outputs;
  validate(model_, "random layer");
  return std::move(model_);
}

Model LayerMaker::filters_with_memory() {
  const std::int64_t batch = choose_.between(1, 3), in = choose_.between(1, 20), rank = choose_.between(1, 2);
  const std::int64_t outputs = choose_.between(1, 12), steps = choose_.between(1, 6), filters = rank * outputs;
  const ElementType of_state = choose_.of({ElementType::int8, ElementType::int16});
  const Quantization state = quantization(of_state);
  const auto weights = [&](ElementType type, const Shape& shape) {
    Tensor values = random_values(type, shape, choose_);
    const double step = scale();
    return add(type, shape, {{step}, {0}, 0}, std::move(values));
  };
  const std::int32_t data = add(ElementType::int8, {batch, in}, quantization(ElementType::int8));
  const std::int32_t features = weights(ElementType::int8, {filters, in}), times = weights(of_state, {filters, steps});
  const std::int32_t before = add(of_state, {batch, filters * steps}, state);
  const std::int32_t bias = choose_.one_in(2) ? absent_tensor : weights(ElementType::int32, {outputs});
  model_.inputs = {data, before};
  model_.outputs = {add(ElementType::int8, {batch, outputs}, quantization(ElementType::int8)),
                    add(of_state, {batch, filters * steps}, state)};
  model_.operations = {{svdf, "layer", {data, features, times, before, bias}, model_.outputs, SvdfAttributes{rank, bounds().activation}}};
  validate(model_, "random layer");
  return std::move(model_);
}

Model LayerMaker::gates_with_memory() {
  const bool wide = choose_.one_in(2);
  const ElementType type = wide ? ElementType::int16 : ElementType::int8;
  const std::int64_t batch = choose_.between(1, 3), steps = choose_.between(1, 4), in = choose_.between(1, 12),
                     cells = choose_.between(1, 9);
  const Quantization of_hidden = quantization(type);
  const Quantization of_cell{{std::ldexp(1.0, static_cast<int>(choose_.between(-15, -9)))}, {0}, 0};
  const auto constant = [&](ElementType of, const Shape& shape) {
    Tensor values = of == ElementType::int8 ? random_values(of, shape, choose_) : random_bias(of, shape[0], choose_);
    const double step = scale();
    return add(of, shape, {{step}, {0}, 0}, std::move(values));
  };
  const std::int32_t data = add(type, {batch, steps, in}, quantization(type));
  const std::int32_t hidden = add(type, {batch, cells}, of_hidden), cell = add(ElementType::int16, {batch, cells}, of_cell);
  std::vector<std::int32_t> inputs{data, hidden, cell};
  for (const Shape& shape : {Shape{cells, in}, Shape{cells, cells}})
    for (int gate = 0; gate < 4; ++gate) inputs.push_back(constant(ElementType::int8, shape));
  for (int gate = 0; gate < 4; ++gate) inputs.push_back(constant(wide ? ElementType::int64 : ElementType::int32, {cells}));
  model_.inputs = {data, hidden, cell};
  model_.outputs = {add(type, {batch, steps, cells}, of_hidden), add(type, {batch, cells}, of_hidden),
                    add(ElementType::int16, {batch, cells}, of_cell)};
  LstmAttributes attributes;
  attributes.cell_clip = choose_.one_in(2) ? 0 : 0.001 * static_cast<double>(choose_.between(1, 9000));
  model_.operations = {{lstm, "layer", std::move(inputs), model_.outputs, attributes}};
  validate(model_, "random layer");
  return std::move(model_);
}

std::optional<Model> LayerMaker::layer(OperationKind kind) {
  switch (kind) {
    case conv2d:
    case depthwise_conv2d:
    case transposed_conv2d: return convolution(kind);
    case fully_connected: return fully_connected_layer();
    case matmul: return matrix_product();
    case max_pool2d:
    case average_pool2d:
    case global_average_pool:
    case mean:
    case reduce_sum:
    case reduce_max:
    case reduce_min: return pool(kind);
    case maximum:
    case minimum: return extreme(kind);
    case OperationKind::add:
    case sub:
    case mul:
    case OperationKind::div:
    case OperationKind::pow: return element_wise(kind);
    case add_n:
    case bitwise_or:
    case bitwise_xor: return sum_of_many(kind);
    case concat: return concatenation();
    case requantize:
    case quantize:
    case dequantize:
    case cast: return conversion(kind);
    case prelu: return parametric_relu();
    case clip: return bounded();
    case resize: return resized();
    case argmax:
    case argmin: return extreme_index(kind);
    case detection_postprocess: return detections();
    case dynamic_quantize: return quantized_by_range();
    case block_quantize: return quantized_in_blocks();
    case block_matmul: return product_of_blocks();
    case pwl: return segments();
    case sum_pool2d: return sum_pool();
    case fused_conv2d: return fused_convolution();
    case recurrent: return recurrent_layer();
    case svdf: return filters_with_memory();
    case lstm: return gates_with_memory();
    case less:
    case less_or_equal:
    case equal:
    case floor_div:
    case OperationKind::select:
    case top_k: return std::nullopt;
    default: return is_movement(kind) ? std::nullopt : std::optional(unary(kind));
  }
}

}  // namespace

bool sums_products(OperationKind kind) {
  return kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d || kind == fully_connected || kind == matmul;
}

Model make_layer(const Backend& backend, Choices& choose) {
  LayerMaker maker(backend, choose);
  // clang-format off
  return *maker.layer(choose.of({
      conv2d, conv2d, conv2d, conv2d, conv2d, conv2d, depthwise_conv2d, depthwise_conv2d, depthwise_conv2d, transposed_conv2d,
      transposed_conv2d, fully_connected, fully_connected, fully_connected, matmul, matmul, max_pool2d, average_pool2d, global_average_pool,
      mean, OperationKind::add, sub, mul, concat, softmax, requantize, quantize, dequantize, cast, relu, relu6, leaky_relu, hard_swish,
      logistic, tanh, add_n, clip, prelu, resize, pwl, sum_pool2d, fused_conv2d, recurrent, svdf, lstm}));
  // clang-format on
}

std::optional<Model> make_layer(OperationKind kind, const Backend& backend, Choices& choose) {
  return LayerMaker(backend, choose).layer(kind);
}

}  // namespace lastbit::test
