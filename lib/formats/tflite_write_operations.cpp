// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which operator of the .tflite format stands for each operation: one function per group, one table at the end.
#include <algorithm>
#include <iterator>
#include <limits>

#include "formats/tflite_paddings.hpp"
#include "formats/tflite_writer.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::tflite_format {

std::int32_t OperatorWriter::add_integers(std::string_view what, const std::vector<std::int64_t>& values) const {
  std::vector<std::int32_t> narrowed;
  for (const std::int64_t value : values) narrowed.push_back(narrow(value));
  return add_constant(what, lastbit::Tensor::from<std::int32_t>(Shape{static_cast<std::int64_t>(values.size())}, narrowed), {});
}

std::int32_t OperatorWriter::add_constant(std::string_view what, lastbit::Tensor values, Quantization quantization) const {
  added_.push_back({output().name + "/" + std::string(what), std::move(values), std::move(quantization)});
  return static_cast<std::int32_t>(model_.tensors.size() + added_.size() - 1);
}

std::int32_t OperatorWriter::narrow(std::int64_t value) const {
  if (value != static_cast<std::int32_t>(value)) refuse("a number of more than 32 bits");
  return static_cast<std::int32_t>(value);
}

ActivationFunctionType OperatorWriter::activation(Activation activation) const {
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return ActivationFunctionType::RELU;
    case Activation::relu6: return ActivationFunctionType::RELU6;
    case Activation::relu_n1_to_1: return ActivationFunctionType::RELU_N1_TO_1;
    case Activation::absolute: refuse("the activation absolute");
  }
  return ActivationFunctionType::NONE;
}

ActivationFunctionType OperatorWriter::activation(const OutputBounds& bounds) const {
  if (bounds.clamp || bounds.real_clamp) refuse("outright bounds of the output");
  if (!bounds.accumulator_clip.empty()) refuse("bounds of the accumulator");
  if (states_registers(bounds)) refuse("registers");
  return activation(bounds.activation);
}

Padding OperatorWriter::padding(const Padding2d& padding, Extent2d in, Extent2d filter, Extent2d stride, Extent2d dilation) const {
  if (const auto mode = named_padding(padding, in, filter, stride, dilation))
    return *mode == PaddingMode::same ? Padding::SAME : Padding::VALID;
  refuse("padding of " + std::to_string(padding.top) + ", " + std::to_string(padding.bottom) + ", " + std::to_string(padding.left) + ", " +
         std::to_string(padding.right));
}

namespace {

using std::int32_t;

Extent2d spatial(const Shape& shape) { return {shape[1], shape[2]}; }

WrittenOperator with(const OperatorWriter&, std::vector<int32_t> inputs, BuiltinOptions type, flatbuffers::Offset<void> options) {
  return {.inputs = std::move(inputs), .options_type = type, .options = options};
}

WrittenOperator plain(const OperatorWriter& source) { return with(source, source.inputs(), BuiltinOptions::NONE, {}); }

struct Strides {
  int32_t height, width, dilation_height, dilation_width;
  Padding padding;
  ActivationFunctionType activation;
};

/// `in` is the side of the windows: a transposed convolution's output.
Strides strides_of(const OperatorWriter& source, const ModelTensor& in) {
  const auto& attributes = source.attributes<Conv2dAttributes>();
  const Extent2d filter = spatial(source.input(1).shape);
  if (attributes.cross_terms) source.refuse("cross terms");
  return {.height = source.narrow(attributes.stride.height),
          .width = source.narrow(attributes.stride.width),
          .dilation_height = source.narrow(attributes.dilation.height),
          .dilation_width = source.narrow(attributes.dilation.width),
          .padding = source.padding(attributes.padding, spatial(in.shape), filter, attributes.stride, attributes.dilation),
          .activation = source.activation(attributes.bounds)};
}

void refuse_device_inputs(const OperatorWriter& source) {
  if (source.has_input(multiplier_input)) source.refuse("multipliers of rows");
  if (source.has_input(bias_input) && source.input(bias_input).shape.rank() != 1) source.refuse("a bias per output position");
}

WrittenOperator write_convolution(const OperatorWriter& source) {
  refuse_device_inputs(source);
  const Strides s = strides_of(source, source.input(0));
  auto& builder = source.builder();
  if (source.kind() == OperationKind::conv2d) {
    const auto options = CreateConv2DOptions(builder, s.padding, s.width, s.height, s.activation, s.dilation_width, s.dilation_height);
    return with(source, source.inputs(), BuiltinOptions::Conv2DOptions, options.Union());
  }
  const auto multiplier = source.narrow(source.input(1).shape.back() / source.input(0).shape.back());
  const auto options =
      CreateDepthwiseConv2DOptions(builder, s.padding, s.width, s.height, multiplier, s.activation, s.dilation_width, s.dilation_height);
  return with(source, source.inputs(), BuiltinOptions::DepthwiseConv2DOptions, options.Union());
}

/// Output shape, weights, input, bias.
WrittenOperator write_transposed_convolution(const OperatorWriter& source) {
  const Strides s = strides_of(source, source.output());
  const auto sizes = source.output().shape.sizes();
  std::vector<int32_t> inputs{source.add_integers("shape", {sizes.begin(), sizes.end()}), source.input_index(1), source.input_index(0)};
  if (source.has_input(bias_input)) inputs.push_back(source.input_index(bias_input));
  const auto options = CreateTransposeConvOptions(source.builder(), s.padding, s.width, s.height, s.activation);
  return with(source, std::move(inputs), BuiltinOptions::TransposeConvOptions, options.Union());
}

WrittenOperator write_fully_connected(const OperatorWriter& source) {
  refuse_device_inputs(source);
  const auto& attributes = source.attributes<FullyConnectedAttributes>();
  if (!attributes.active_rows.empty() || attributes.bias_column) source.refuse("active rows or a column of the bias");
  const auto options = CreateFullyConnectedOptions(source.builder(), source.activation(attributes.bounds), WeightsFormat::DEFAULT,
                                                   source.output().shape.rank() > 2, attributes.asymmetric_inputs);
  return with(source, source.inputs(), BuiltinOptions::FullyConnectedOptions, options.Union());
}

WrittenOperator write_matmul(const OperatorWriter& source) {
  const auto& attributes = source.attributes<MatmulAttributes>();
  if (source.activation(attributes.bounds) != ActivationFunctionType::NONE) source.refuse("an activation");
  const auto options = CreateBatchMatMulOptions(source.builder(), attributes.transpose_a, attributes.transpose_b);
  return with(source, source.inputs(), BuiltinOptions::BatchMatMulOptions, options.Union());
}

WrittenOperator write_pool(const OperatorWriter& source) {
  const auto& attributes = source.attributes<Pool2dAttributes>();
  if (attributes.partial_windows != PartialWindows::dropped) source.refuse("windows that reach beyond the image");
  const Padding padding = source.padding(attributes.padding, spatial(source.input().shape), attributes.filter, attributes.stride, {1, 1});
  const auto options = CreatePool2DOptions(source.builder(), padding, source.narrow(attributes.stride.width),
                                           source.narrow(attributes.stride.height), source.narrow(attributes.filter.width),
                                           source.narrow(attributes.filter.height), source.activation(attributes.bounds));
  return with(source, source.inputs(), BuiltinOptions::Pool2DOptions, options.Union());
}

/// mean, reduce_sum, reduce_max, reduce_min.
WrittenOperator write_reduction(const OperatorWriter& source) {
  const auto& attributes = source.attributes<MeanAttributes>();
  const auto options = CreateReducerOptions(source.builder(), attributes.keep_dims);
  return with(source, {source.input_index(0), source.add_integers("axes", attributes.axes)}, BuiltinOptions::ReducerOptions,
              options.Union());
}

WrittenOperator write_elementwise(const OperatorWriter& source) {
  const auto& attributes = source.attributes<ElementwiseAttributes>();
  const ActivationFunctionType activation = source.activation(attributes.bounds);
  auto& builder = source.builder();
  if (source.kind() == OperationKind::add) {
    const auto options = CreateAddOptions(builder, activation, attributes.power_of_two_scales);
    return with(source, source.inputs(), BuiltinOptions::AddOptions, options.Union());
  }
  if (source.kind() == OperationKind::sub) {
    if (source.inputs().size() > 2) source.refuse("sub of more than two inputs");
    const auto options = CreateSubOptions(builder, activation, attributes.power_of_two_scales);
    return with(source, source.inputs(), BuiltinOptions::SubOptions, options.Union());
  }
  if (source.kind() == OperationKind::div)
    return with(source, source.inputs(), BuiltinOptions::DivOptions, CreateDivOptions(builder, activation).Union());
  return with(source, source.inputs(), BuiltinOptions::MulOptions, CreateMulOptions(builder, activation).Union());
}

WrittenOperator write_resize(const OperatorWriter& source) {
  const auto& attributes = source.attributes<ResizeAttributes>();
  const bool corners = attributes.coordinates == ResizeCoordinates::align_corners;
  const bool halves = attributes.coordinates == ResizeCoordinates::half_pixel;
  if (attributes.scales) source.refuse("a resize by scales");
  if (attributes.coordinates == ResizeCoordinates::half_pixel_or_zero) source.refuse("coordinates half_pixel_or_zero");
  const Shape& out = source.output().shape;
  std::vector<int32_t> inputs{source.input_index(0), source.add_integers("size", {out[1], out[2]})};
  auto& builder = source.builder();
  if (attributes.mode == ResizeMode::bilinear)
    return with(source, std::move(inputs), BuiltinOptions::ResizeBilinearOptions,
                CreateResizeBilinearOptions(builder, corners, halves).Union());
  if (attributes.nearest != (corners || halves ? Rounding::half_up : Rounding::floor)) source.refuse("this rounding of the nearest place");
  WrittenOperator written = with(source, std::move(inputs), BuiltinOptions::ResizeNearestNeighborOptions,
                                 CreateResizeNearestNeighborOptions(builder, corners, halves).Union());
  written.code = BuiltinOperator::RESIZE_NEAREST_NEIGHBOR;
  return written;
}

WrittenOperator write_argmax(const OperatorWriter& source) {
  const bool is_wide = source.output().type == ElementType::int64;
  const auto options = CreateArgMaxOptions(source.builder(), is_wide ? TensorType::INT64 : TensorType::INT32);
  return with(source, {source.input_index(0), source.add_integers("axis", {source.attributes<ArgmaxAttributes>().axis})},
              BuiltinOptions::ArgMaxOptions, options.Union());
}

WrittenOperator write_gather(const OperatorWriter& source) {
  const auto options = CreateGatherOptions(source.builder(), source.narrow(source.attributes<GatherAttributes>().axis));
  return with(source, source.inputs(), BuiltinOptions::GatherOptions, options.Union());
}

WrittenOperator write_concatenation(const OperatorWriter& source) {
  const auto& attributes = source.attributes<ConcatAttributes>();
  const auto options =
      CreateConcatenationOptions(source.builder(), source.narrow(attributes.axis), source.activation(attributes.activation));
  return with(source, source.inputs(), BuiltinOptions::ConcatenationOptions, options.Union());
}

/// One value of the input's own type.
lastbit::Tensor padding_value(const OperatorWriter& source, const PadAttributes& attributes) {
  lastbit::Tensor value(source.input().type, Shape{1});
  visit_element_type(value.type(), [&]<class T>() {
    if constexpr (std::is_same_v<T, Float16>) source.refuse("padding of float16");
    else
      value.values<T>()[0] = attributes.real_value ? static_cast<T>(*attributes.real_value) : static_cast<T>(attributes.value.value_or(0));
  });
  return value;
}

WrittenOperator write_pad(const OperatorWriter& source) {
  const auto& attributes = source.attributes<PadAttributes>();
  std::vector<std::int64_t> sizes;
  for (const auto& [before, after] : attributes.paddings) sizes.insert(sizes.end(), {before, after});
  lastbit::Tensor paddings(ElementType::int32, Shape{static_cast<std::int64_t>(attributes.paddings.size()), 2});
  std::transform(sizes.begin(), sizes.end(), paddings.values<int32_t>().begin(), [&](auto size) { return source.narrow(size); });
  WrittenOperator written = plain(source);
  written.inputs.push_back(source.add_constant("paddings", std::move(paddings), {}));
  if (!attributes.value && !attributes.real_value) return written;
  written.code = BuiltinOperator::PADV2;
  written.inputs.push_back(source.add_constant("value", padding_value(source, attributes), source.input().quantization));
  return written;
}

WrittenOperator write_reshape(const OperatorWriter& source) {
  const auto sizes = source.output().shape.sizes();
  if (sizes.empty()) source.refuse("a reshape to a scalar");
  return with(source, {source.input_index(0), source.add_integers("shape", {sizes.begin(), sizes.end()})}, BuiltinOptions::NONE, {});
}

WrittenOperator write_squeeze(const OperatorWriter& source) {
  const Shape &in = source.input().shape, &out = source.output().shape;
  std::vector<int32_t> dropped;
  std::size_t kept = 0;
  for (std::size_t axis = 0; axis < in.rank(); ++axis) {
    if (kept < out.rank() && in[axis] == out[kept]) ++kept;
    else dropped.push_back(static_cast<int32_t>(axis));
  }
  const auto options = CreateSqueezeOptionsDirect(source.builder(), &dropped);
  return with(source, source.inputs(), BuiltinOptions::SqueezeOptions, options.Union());
}

WrittenOperator write_transpose(const OperatorWriter& source) {
  const auto& attributes = source.attributes<TransposeAttributes>();
  return with(source, {source.input_index(0), source.add_integers("permutation", attributes.permutation)}, BuiltinOptions::NONE, {});
}

WrittenOperator write_slice(const OperatorWriter& source) {
  const auto& attributes = source.attributes<SliceAttributes>();
  if (std::any_of(attributes.strides.begin(), attributes.strides.end(), [](auto stride) { return stride != 1; }))
    source.refuse("strides of a plain slice");
  const auto sizes = source.output().shape.sizes();
  const int32_t begin = source.add_integers("begin", attributes.begin);
  return with(source, {source.input_index(0), begin, source.add_integers("size", {sizes.begin(), sizes.end()})}, BuiltinOptions::NONE, {});
}

/// An end before the first element, which no number says, is masked.
WrittenOperator write_strided_slice(const OperatorWriter& source) {
  const auto& attributes = source.attributes<SliceAttributes>();
  const Shape& out = source.output().shape;
  std::vector<std::int64_t> ends, strides;
  int32_t end_mask = 0;
  for (std::size_t axis = 0; axis < out.rank(); ++axis) {
    strides.push_back(attributes.strides.empty() ? 1 : attributes.strides[axis]);
    const std::int64_t last = attributes.begin[axis] + (out[axis] - 1) * strides.back();
    const std::int64_t end = strides.back() > 0 ? last + 1 : last - 1;
    if (end < 0) end_mask |= int32_t{1} << axis;
    ends.push_back(std::max<std::int64_t>(end, 0));
  }
  std::vector<int32_t> inputs{source.input_index(0), source.add_integers("begin", attributes.begin), source.add_integers("end", ends)};
  inputs.push_back(source.add_integers("strides", strides));
  const auto options = CreateStridedSliceOptions(source.builder(), 0, end_mask);
  return with(source, std::move(inputs), BuiltinOptions::StridedSliceOptions, options.Union());
}

/// Axis, input.
WrittenOperator write_split(const OperatorWriter& source) {
  lastbit::Tensor axis(ElementType::int32, Shape{});
  axis.values<int32_t>()[0] = source.narrow(source.attributes<SplitAttributes>().axis);
  const auto options = CreateSplitOptions(source.builder(), source.narrow(static_cast<std::int64_t>(source.output_count())));
  return with(source, {source.add_constant("axis", std::move(axis), {}), source.input_index(0)}, BuiltinOptions::SplitOptions,
              options.Union());
}

WrittenOperator write_requantize(const OperatorWriter& source) {
  if (source.activation(source.attributes<RequantizeAttributes>().bounds) != ActivationFunctionType::NONE) source.refuse("an activation");
  return plain(source);
}

float exact_float(const OperatorWriter& source, double value) {
  const auto narrowed = static_cast<float>(value);
  if (static_cast<double>(narrowed) != value) source.refuse("an attribute that is no 32-bit float");
  return narrowed;
}

WrittenOperator write_leaky_relu(const OperatorWriter& source) {
  const auto options = CreateLeakyReluOptions(source.builder(), exact_float(source, source.attributes<LeakyReluAttributes>().alpha));
  return with(source, source.inputs(), BuiltinOptions::LeakyReluOptions, options.Union());
}

WrittenOperator write_softmax(const OperatorWriter& source) {
  const auto options = CreateSoftmaxOptions(source.builder(), exact_float(source, source.attributes<SoftmaxAttributes>().beta));
  return with(source, source.inputs(), BuiltinOptions::SoftmaxOptions, options.Union());
}

/// An operator, and from which of its versions on interpreters take int8 and int16 data.
struct WrittenOperation {
  OperationKind kind;
  BuiltinOperator code;
  WrittenOperator (*write)(const OperatorWriter&);
  int32_t version_int8, version_int16;
};

using enum OperationKind;
constexpr WrittenOperation written_operations[] = {
    {conv2d, BuiltinOperator::CONV_2D, write_convolution, 3, 4},
    {depthwise_conv2d, BuiltinOperator::DEPTHWISE_CONV_2D, write_convolution, 3, 5},
    {transposed_conv2d, BuiltinOperator::TRANSPOSE_CONV, write_transposed_convolution, 3, 3},
    {fully_connected, BuiltinOperator::FULLY_CONNECTED, write_fully_connected, 6, 7},
    {matmul, BuiltinOperator::BATCH_MATMUL, write_matmul, 2, 3},
    {max_pool2d, BuiltinOperator::MAX_POOL_2D, write_pool, 2, 3},
    {average_pool2d, BuiltinOperator::AVERAGE_POOL_2D, write_pool, 2, 3},
    {mean, BuiltinOperator::MEAN, write_reduction, 2, 3},
    {add, BuiltinOperator::ADD, write_elementwise, 2, 3},
    {sub, BuiltinOperator::SUB, write_elementwise, 3, 5},
    {mul, BuiltinOperator::MUL, write_elementwise, 2, 4},
    {concat, BuiltinOperator::CONCATENATION, write_concatenation, 2, 3},
    {pad, BuiltinOperator::PAD, write_pad, 2, 3},
    {reshape, BuiltinOperator::RESHAPE, write_reshape, 1, 1},
    {squeeze, BuiltinOperator::SQUEEZE, write_squeeze, 1, 1},
    {transpose, BuiltinOperator::TRANSPOSE, write_transpose, 2, 4},
    {slice, BuiltinOperator::SLICE, write_slice, 2, 4},
    {strided_slice, BuiltinOperator::STRIDED_SLICE, write_strided_slice, 2, 4},
    {split, BuiltinOperator::SPLIT, write_split, 2, 4},
    {quantize, BuiltinOperator::QUANTIZE, plain, 1, 2},
    {dequantize, BuiltinOperator::DEQUANTIZE, plain, 2, 3},
    {requantize, BuiltinOperator::QUANTIZE, write_requantize, 1, 2},
    {relu, BuiltinOperator::RELU, plain, 2, 3},
    {relu6, BuiltinOperator::RELU6, plain, 2, 3},
    {relu_n1_to_1, BuiltinOperator::RELU_N1_TO_1, plain, 1, 1},
    {leaky_relu, BuiltinOperator::LEAKY_RELU, write_leaky_relu, 2, 2},
    {prelu, BuiltinOperator::PRELU, plain, 1, 1},
    {hard_swish, BuiltinOperator::HARD_SWISH, plain, 1, 1},
    {logistic, BuiltinOperator::LOGISTIC, plain, 2, 3},
    {OperationKind::tanh, BuiltinOperator::TANH, plain, 2, 3},
    {softmax, BuiltinOperator::SOFTMAX, write_softmax, 2, 3},
    {resize, BuiltinOperator::RESIZE_BILINEAR, write_resize, 3, 4},
    {argmax, BuiltinOperator::ARG_MAX, write_argmax, 2, 2},
    {gather, BuiltinOperator::GATHER, write_gather, 2, 4},
    {maximum, BuiltinOperator::MAXIMUM, plain, 2, 4},
    {minimum, BuiltinOperator::MINIMUM, plain, 2, 4},
    {OperationKind::div, BuiltinOperator::DIV, write_elementwise, 1, 1},
    {reduce_sum, BuiltinOperator::SUM, write_reduction, 2, 3},
    {reduce_max, BuiltinOperator::REDUCE_MAX, write_reduction, 2, 3},
    {reduce_min, BuiltinOperator::REDUCE_MIN, write_reduction, 2, 3},
    {OperationKind::abs, BuiltinOperator::ABS, plain, 2, 3},
    {neg, BuiltinOperator::NEG, plain, 1, 1},
    {OperationKind::exp, BuiltinOperator::EXP, plain, 1, 1},
    {OperationKind::log, BuiltinOperator::LOG, plain, 1, 1},
    {OperationKind::sqrt, BuiltinOperator::SQRT, plain, 1, 1},
    {rsqrt, BuiltinOperator::RSQRT, plain, 1, 1},
};

int32_t version_of(const WrittenOperation& entry, const OperatorWriter& source) {
  const ElementType type = source.input().type;
  if (type == ElementType::int8) return entry.version_int8;
  return type == ElementType::int16 || source.output().type == ElementType::int16 ? entry.version_int16 : 1;
}

}  // namespace

WrittenOperator write_operator(const OperatorWriter& source) {
  const auto* entry = std::find_if(std::begin(written_operations), std::end(written_operations),
                                   [&](const WrittenOperation& each) { return each.kind == source.kind(); });
  if (entry == std::end(written_operations)) source.refuse("this operation");
  WrittenOperator written = entry->write(source);
  if (written.code == BuiltinOperator::ADD) written.code = entry->code;  // a function may have chosen another
  written.version = version_of(*entry, source);
  return written;
}

}  // namespace lastbit::tflite_format
