// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What each operator of the .tflite format is in a model: one function per operator, one table at the end. Shapes are checked afterwards,
// by validate(); here is checked only what attributes are made from.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "formats/tflite_operator.hpp"

namespace lastbit::tflite_format {
namespace {

/// The bias; of 16-bit data without one, zeros where the options say that the sums are those of a 32-bit bias.
std::int32_t bias_of(const OperatorReader& source, TensorType bias_type) {
  const bool is_there = source.has_input(bias_input), is_16_bit = source.input(0).type == ElementType::int16;
  return is_there || !is_16_bit || bias_type != TensorType::INT32 ? source.input_index(bias_input) : source.add_zero_bias();
}

/// Convolution, depthwise convolution: input, weights, bias.
template <class Options, OperationKind kind>
void read_convolution(const OperatorReader& source) {
  source.require_inputs(2, 3);
  const auto& options = source.options<Options>();
  std::int32_t bias = source.input_index(bias_input);
  if constexpr (kind == OperationKind::conv2d) bias = bias_of(source, options.quantized_bias_type());
  source.emit(kind, {source.input_index(0), source.input_index(1), bias},
              Conv2dAttributes{.stride = {options.stride_h(), options.stride_w()},
                               .dilation = {options.dilation_h_factor(), options.dilation_w_factor()},
                               .padding = source.padding(options.padding()),
                               .bounds = source.bounds(options.fused_activation_function())});
}

/// Output shape, weights, input, bias. The output tensor has the shape already, so it need not be a constant.
void read_transposed_convolution(const OperatorReader& source) {
  source.require_inputs(3, 4);
  const auto& options = source.options<TransposeConvOptions>();
  if (source.input(0).constant && Shape(source.constant_integers(0)) != source.output().shape) {
    source.malformed("the constant output shape is not that of the output");
  }
  source.emit(OperationKind::transposed_conv2d, {source.input_index(2), source.input_index(1), source.input_index(3)},
              Conv2dAttributes{.stride = {options.stride_h(), options.stride_w()},
                               .dilation = {1, 1},
                               .padding = source.padding(options.padding()),
                               .bounds = source.bounds(options.fused_activation_function())});
}

void read_fully_connected(const OperatorReader& source) {
  source.require_inputs(2, 3);
  const auto& options = source.options<FullyConnectedOptions>();
  if (options.weights_format() != WeightsFormat::DEFAULT) source.unsupported("shuffled weights");
  const bool hybrid = source.input(0).type == ElementType::float32 && is_integer(source.input(1).type);
  source.emit(OperationKind::fully_connected,
              {source.input_index(0), source.input_index(1), bias_of(source, options.quantized_bias_type())},
              FullyConnectedAttributes{.bounds = source.bounds(options.fused_activation_function()),
                                       .asymmetric_inputs = hybrid && options.asymmetric_quantize_inputs()});
}

void read_batch_matmul(const OperatorReader& source) {
  source.require_inputs(2, 2);
  const auto& options = source.options<BatchMatMulOptions>();
  source.emit(OperationKind::matmul, source.inputs(),
              MatmulAttributes{.transpose_a = options.adj_x(), .transpose_b = options.adj_y(), .bounds = {}});
}

template <OperationKind kind>
void read_pool(const OperatorReader& source) {
  source.require_inputs(1, 1);
  const auto& options = source.options<Pool2DOptions>();
  source.emit(kind, source.inputs(),
              Pool2dAttributes{.filter = {options.filter_height(), options.filter_width()},
                               .stride = {options.stride_h(), options.stride_w()},
                               .padding = source.padding(options.padding()),
                               .bounds = source.bounds(options.fused_activation_function())});
}

template <OperationKind kind>
void read_reduction(const OperatorReader& source) {
  source.require_inputs(2, 2);
  std::vector<std::int64_t> axes = source.constant_integers(1);
  for (std::int64_t& axis : axes) axis = source.axis_of(axis, source.input(0));
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  source.emit(kind, {source.input_index(0)},
              MeanAttributes{.axes = std::move(axes), .keep_dims = source.options<ReducerOptions>().keep_dims()});
}

bool has_power_of_two_scale(const ModelTensor& tensor) {
  int exponent = 0;
  return tensor.quantization.scales.size() == 1 && std::frexp(tensor.quantization.scale(), &exponent) == 0.5;
}

/// The file may ask for shifts instead of multipliers, which serve only 16-bit data whose scales are all powers of two.
bool uses_power_of_two_scales(const OperatorReader& source, bool asked) {
  return asked && source.output().type == ElementType::int16 && has_power_of_two_scale(source.input(0)) &&
         has_power_of_two_scale(source.input(1)) && has_power_of_two_scale(source.output());
}

template <class Options, OperationKind kind>
void read_elementwise(const OperatorReader& source) {
  source.require_inputs(2, 2);
  ElementwiseAttributes attributes;
  if (const auto* options = source.find_options<Options>()) {
    attributes.bounds.activation = source.activation(options->fused_activation_function());
    if constexpr (kind == OperationKind::add || kind == OperationKind::sub)
      attributes.power_of_two_scales = uses_power_of_two_scales(source, options->pot_scale_int16());
  }
  source.emit(kind, source.inputs(), attributes);
}

void read_concatenation(const OperatorReader& source) {
  source.require_inputs(1, std::numeric_limits<std::size_t>::max());
  const auto& options = source.options<ConcatenationOptions>();
  source.emit(OperationKind::concat, source.inputs(),
              ConcatAttributes{.axis = source.axis_of(options.axis(), source.input(0)),
                               .activation = source.activation(options.fused_activation_function())});
}

PadAttributes read_paddings(const OperatorReader& source) {
  const std::vector<std::int64_t> sizes = source.constant_integers(1);
  if (sizes.size() % 2 != 0) source.malformed("an odd number of paddings");
  PadAttributes attributes;
  for (std::size_t i = 0; i < sizes.size(); i += 2) attributes.paddings.push_back({sizes[i], sizes[i + 1]});
  return attributes;
}

void require_real(const OperatorReader& source) {
  if (source.output().type != ElementType::float32) source.unsupported("data of " + std::string(name_of(source.output().type)));
}

void read_square(const OperatorReader& source) {
  source.require_inputs(1, 1);
  require_real(source);
  source.emit(OperationKind::mul, {source.input_index(0), source.input_index(0)});
}

void read_squared_difference(const OperatorReader& source) {
  source.require_inputs(2, 2);
  require_real(source);
  const std::int32_t difference =
      source.emit_between(OperationKind::sub, source.inputs(), default_attributes(OperationKind::sub), source.output().shape);
  source.emit(OperationKind::mul, {difference, difference});
}

void read_pad(const OperatorReader& source) {
  source.require_inputs(2, 2);
  source.emit(OperationKind::pad, {source.input_index(0)}, read_paddings(source));
}

void read_pad_with_value(const OperatorReader& source) {
  source.require_inputs(3, 3);
  PadAttributes attributes = read_paddings(source);
  const ModelTensor& value = source.input(2);
  if (!value.constant) source.unsupported("the padding value is not a constant");
  if (value.type != source.input(0).type || value.shape.element_count() != 1)
    source.malformed("the padding value is not one of the input's");
  if (value.type == ElementType::float32) attributes.real_value = value.constant->values<float>().front();
  else if (is_integer(value.type)) attributes.value = value.constant->integer_at(0);
  else source.unsupported("padding of " + std::string(name_of(value.type)));
  source.emit(OperationKind::pad, {source.input_index(0)}, std::move(attributes));
}

/// Reshape, expand dims: the output tensor has the shape already.
void read_reshape(const OperatorReader& source) {
  source.require_inputs(1, 2);
  source.emit(OperationKind::reshape, {source.input_index(0)});
}

void read_transpose(const OperatorReader& source) {
  source.require_inputs(2, 2);
  std::vector<std::int64_t> permutation = source.constant_integers(1);
  for (std::int64_t& axis : permutation) axis = source.axis_of(axis, source.input(0));
  source.emit(OperationKind::transpose, {source.input_index(0)}, TransposeAttributes{std::move(permutation)});
}

void read_slice(const OperatorReader& source) {
  source.require_inputs(3, 3);
  std::vector<std::int64_t> begin = source.constant_integers(1);
  const std::vector<std::int64_t> sizes = source.constant_integers(2);
  const Shape &in = source.input(0).shape, &out = source.output().shape;
  if (begin.size() != in.rank() || sizes.size() != in.rank() || out.rank() != in.rank()) {
    source.malformed("begin, size and output need one entry per dimension of the input");
  }
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const bool to_the_end = sizes[axis] == -1 && begin[axis] >= 0 && begin[axis] <= in[axis];
    if ((to_the_end ? in[axis] - begin[axis] : sizes[axis]) != out[axis]) source.malformed("size does not match the output");
  }
  source.emit(OperationKind::slice, {source.input_index(0)}, SliceAttributes{.begin = std::move(begin), .strides = {}});
}

/// One axis of a strided slice, as begin, end and stride say with their masks.
struct SliceRange {
  std::int64_t begin, count;
};

SliceRange slice_range(std::int64_t size, std::int64_t begin, std::int64_t end, std::int64_t stride, bool from_first, bool to_last) {
  const std::int64_t lowest = stride > 0 ? 0 : -1, highest = stride > 0 ? size : size - 1;
  const auto place = [&](std::int64_t index) { return std::clamp(index < 0 ? index + size : index, lowest, highest); };
  const std::int64_t first = from_first ? (stride > 0 ? lowest : highest) : place(begin);
  const std::int64_t last = to_last ? (stride > 0 ? highest : lowest) : place(end);
  const std::int64_t distance = stride > 0 ? last - first : first - last;
  const std::int64_t step = std::abs(stride);
  return {first, distance <= 0 ? 0 : (distance - 1) / step + 1};
}

void read_strided_slice(const OperatorReader& source) {
  source.require_inputs(4, 4);
  const auto& options = source.options<StridedSliceOptions>();
  if (options.ellipsis_mask() != 0 || options.new_axis_mask() != 0) source.unsupported("a strided slice with ellipsis or new axes");
  const auto begin = source.constant_integers(1), end = source.constant_integers(2), strides = source.constant_integers(3);
  const Shape& in = source.input(0).shape;
  if (begin.size() != in.rank() || end.size() != in.rank() || strides.size() != in.rank()) {
    source.malformed("begin, end and strides need one entry per dimension of the input");
  }
  const auto is_set = [](std::int32_t mask, std::size_t axis) { return (mask >> axis & 1) != 0; };
  constexpr std::int64_t largest = std::int64_t{1} << 31;  // what an int32 of the file can say
  SliceAttributes attributes;
  std::vector<std::int64_t> between, kept;
  for (std::size_t axis = 0; axis < in.rank(); ++axis) {
    for (const std::int64_t value : {begin[axis], end[axis], strides[axis]})
      if (value < -largest || value > largest) source.malformed("begin, end or strides beyond 32 bits");
    const bool drop = is_set(options.shrink_axis_mask(), axis);
    const std::int64_t stride = drop ? 1 : strides[axis];
    if (stride == 0) source.malformed("a stride of 0");
    const std::int64_t first = is_set(options.begin_mask(), axis) && drop ? 0 : begin[axis];
    const std::int64_t last = options.offset() ? first + end[axis] : end[axis];
    SliceRange range = slice_range(in[axis], first, last, stride, is_set(options.begin_mask(), axis), is_set(options.end_mask(), axis));
    if (drop) range = {first < 0 ? first + in[axis] : first, 1};
    attributes.begin.push_back(range.begin);
    attributes.strides.push_back(stride);
    between.push_back(range.count);
    if (!drop) kept.push_back(range.count);
  }
  if (Shape(kept) != source.output().shape) {
    source.malformed("begin, end and strides give " + Shape(kept).text() + ", the output is " + source.output().shape.text());
  }
  if (kept.size() == between.size()) source.emit(OperationKind::strided_slice, {source.input_index(0)}, std::move(attributes));
  else source.emit_then_reshape(OperationKind::strided_slice, {source.input_index(0)}, std::move(attributes), Shape(std::move(between)));
}

/// Axis, input.
void read_split(const OperatorReader& source) {
  source.require_inputs(2, 2);
  const std::vector<std::int64_t> axis = source.constant_integers(0);
  if (axis.size() != 1) source.malformed("the axis is not one number");
  const std::int32_t parts = source.options<SplitOptions>().num_splits();
  if (parts < 1 || static_cast<std::size_t>(parts) != source.output_count()) source.malformed("num_splits is not the number of outputs");
  source.emit(OperationKind::split, {source.input_index(1)}, SplitAttributes{source.axis_of(axis.front(), source.input(1))});
}

void read_quantize(const OperatorReader& source) {
  source.require_inputs(1, 1);
  source.emit(source.input(0).type == ElementType::float32 ? OperationKind::quantize : OperationKind::requantize, source.inputs());
}

/// A float16 tensor of the file is float32 in the model already.
void read_dequantize(const OperatorReader& source) {
  source.require_inputs(1, 1);
  source.emit(source.input(0).type == ElementType::float32 ? OperationKind::reshape : OperationKind::dequantize, source.inputs());
}

template <OperationKind kind>
void read_one_to_one(const OperatorReader& source) {
  source.require_inputs(1, 1);
  source.emit(kind, source.inputs());
}

template <OperationKind kind>
void read_two_to_one(const OperatorReader& source) {
  source.require_inputs(2, 2);
  source.emit(kind, source.inputs());
}

void read_leaky_relu(const OperatorReader& source) {
  source.require_inputs(1, 1);
  source.emit(OperationKind::leaky_relu, source.inputs(), LeakyReluAttributes{source.options<LeakyReluOptions>().alpha()});
}

void read_softmax(const OperatorReader& source) {
  source.require_inputs(1, 1);
  source.emit(OperationKind::softmax, source.inputs(), SoftmaxAttributes{source.options<SoftmaxOptions>().beta()});
}

struct KnownOperator {
  BuiltinOperator code;
  void (*read)(const OperatorReader&);
};

using enum OperationKind;
constexpr KnownOperator known_operators[] = {
    {BuiltinOperator::CONV_2D, read_convolution<Conv2DOptions, conv2d>},
    {BuiltinOperator::DEPTHWISE_CONV_2D, read_convolution<DepthwiseConv2DOptions, depthwise_conv2d>},
    {BuiltinOperator::TRANSPOSE_CONV, read_transposed_convolution},
    {BuiltinOperator::FULLY_CONNECTED, read_fully_connected},
    {BuiltinOperator::BATCH_MATMUL, read_batch_matmul},
    {BuiltinOperator::MAX_POOL_2D, read_pool<max_pool2d>},
    {BuiltinOperator::AVERAGE_POOL_2D, read_pool<average_pool2d>},
    {BuiltinOperator::MEAN, read_reduction<mean>},
    {BuiltinOperator::ADD, read_elementwise<AddOptions, add>},
    {BuiltinOperator::SUB, read_elementwise<SubOptions, sub>},
    {BuiltinOperator::MUL, read_elementwise<MulOptions, mul>},
    {BuiltinOperator::CONCATENATION, read_concatenation},
    {BuiltinOperator::PAD, read_pad},
    {BuiltinOperator::PADV2, read_pad_with_value},
    {BuiltinOperator::RESHAPE, read_reshape},
    {BuiltinOperator::EXPAND_DIMS, read_reshape},
    {BuiltinOperator::SQUEEZE, read_one_to_one<squeeze>},
    {BuiltinOperator::TRANSPOSE, read_transpose},
    {BuiltinOperator::SLICE, read_slice},
    {BuiltinOperator::STRIDED_SLICE, read_strided_slice},
    {BuiltinOperator::SPLIT, read_split},
    {BuiltinOperator::QUANTIZE, read_quantize},
    {BuiltinOperator::DEQUANTIZE, read_dequantize},
    {BuiltinOperator::RELU, read_one_to_one<relu>},
    {BuiltinOperator::RELU6, read_one_to_one<relu6>},
    {BuiltinOperator::RELU_N1_TO_1, read_one_to_one<relu_n1_to_1>},
    {BuiltinOperator::LEAKY_RELU, read_leaky_relu},
    {BuiltinOperator::PRELU, read_two_to_one<prelu>},
    {BuiltinOperator::HARD_SWISH, read_one_to_one<hard_swish>},
    {BuiltinOperator::LOGISTIC, read_one_to_one<logistic>},
    {BuiltinOperator::TANH, read_one_to_one<OperationKind::tanh>},
    {BuiltinOperator::SOFTMAX, read_softmax},
    {BuiltinOperator::DENSIFY, read_one_to_one<reshape>},  // the reader has every value of a sparse constant
    {BuiltinOperator::RESIZE_BILINEAR, read_resize_bilinear},
    {BuiltinOperator::RESIZE_NEAREST_NEIGHBOR, read_resize_nearest},
    {BuiltinOperator::ARG_MAX, read_arg_max},
    {BuiltinOperator::GATHER, read_gather},
    {BuiltinOperator::PACK, read_pack},
    {BuiltinOperator::UNPACK, read_unpack},
    {BuiltinOperator::SPLIT_V, read_split_v},
    {BuiltinOperator::SPACE_TO_DEPTH, read_space_to_depth},
    {BuiltinOperator::DEPTH_TO_SPACE, read_depth_to_space},
    {BuiltinOperator::SPACE_TO_BATCH_ND, read_space_to_batch},
    {BuiltinOperator::BATCH_TO_SPACE_ND, read_batch_to_space},
    {BuiltinOperator::MIRROR_PAD, read_mirror_pad},
    {BuiltinOperator::TILE, read_tile},
    {BuiltinOperator::BROADCAST_TO, read_broadcast_to},
    {BuiltinOperator::REVERSE_V2, read_reverse},
    {BuiltinOperator::DIV, read_elementwise<DivOptions, OperationKind::div>},
    {BuiltinOperator::SQUARE, read_square},
    {BuiltinOperator::SQUARED_DIFFERENCE, read_squared_difference},
    {BuiltinOperator::MAXIMUM, read_two_to_one<maximum>},
    {BuiltinOperator::MINIMUM, read_two_to_one<minimum>},
    {BuiltinOperator::SUM, read_reduction<reduce_sum>},
    {BuiltinOperator::REDUCE_MAX, read_reduction<reduce_max>},
    {BuiltinOperator::REDUCE_MIN, read_reduction<reduce_min>},
    {BuiltinOperator::ABS, read_one_to_one<OperationKind::abs>},
    {BuiltinOperator::NEG, read_one_to_one<neg>},
    {BuiltinOperator::EXP, read_one_to_one<OperationKind::exp>},
    {BuiltinOperator::LOG, read_one_to_one<OperationKind::log>},
    {BuiltinOperator::SQRT, read_one_to_one<OperationKind::sqrt>},
    {BuiltinOperator::RSQRT, read_one_to_one<rsqrt>},
    {BuiltinOperator::SVDF, read_svdf},
    {BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM, read_unidirectional_lstm},
    {BuiltinOperator::ELU, read_one_to_one<elu>},
    {BuiltinOperator::FLOOR, read_one_to_one<OperationKind::floor>},
    {BuiltinOperator::CEIL, read_ceil},
    {BuiltinOperator::FLOOR_DIV, read_two_to_one<floor_div>},
    {BuiltinOperator::ROUND, read_one_to_one<round_half_even>},
    {BuiltinOperator::CAST, read_cast},
    {BuiltinOperator::LOG_SOFTMAX, read_one_to_one<log_softmax>},
    {BuiltinOperator::L2_NORMALIZATION, read_l2_normalization},
    {BuiltinOperator::ARG_MIN, read_arg_min},
    {BuiltinOperator::CUMSUM, read_cumsum},
    {BuiltinOperator::TOPK_V2, read_top_k},
    {BuiltinOperator::GATHER_ND, read_gather_nd},
    {BuiltinOperator::LESS, read_less},
    {BuiltinOperator::LESS_EQUAL, read_less_equal},
    {BuiltinOperator::GREATER, read_greater},
    {BuiltinOperator::GREATER_EQUAL, read_greater_equal},
    {BuiltinOperator::EQUAL, read_equal},
    {BuiltinOperator::NOT_EQUAL, read_not_equal},
    {BuiltinOperator::LOGICAL_AND, read_logical_and},
    {BuiltinOperator::LOGICAL_OR, read_logical_or},
    {BuiltinOperator::LOGICAL_NOT, read_logical_not},
    {BuiltinOperator::SELECT, read_select},
    {BuiltinOperator::SELECT_V2, read_select_v2},
    {BuiltinOperator::ONE_HOT, read_one_hot},
};

struct CustomEntry {
  std::string_view name;
  void (*read)(const OperatorReader&);
};

constexpr CustomEntry custom_entries[] = {
    {"TFLite_Detection_PostProcess", read_detection_postprocess},
    {"Convolution2DTransposeBias", read_transposed_convolution_with_bias},
};

using ReadOperator = void (*)(const OperatorReader&);

/// Null: not supported. `custom` is read of a custom operator alone.
ReadOperator reader_of(BuiltinOperator code, std::string_view custom) {
  if (code == BuiltinOperator::CUSTOM) {
    const auto* const entry = std::ranges::find(custom_entries, custom, &CustomEntry::name);
    return entry == std::end(custom_entries) ? nullptr : entry->read;
  }
  const auto* const entry = std::ranges::find(known_operators, code, &KnownOperator::code);
  return entry == std::end(known_operators) ? nullptr : entry->read;
}

}  // namespace

bool is_supported(BuiltinOperator code, std::string_view custom) { return reader_of(code, custom) != nullptr; }

std::string name_or_number(BuiltinOperator code) {
  const std::string_view name = EnumNameBuiltinOperator(code);
  return name.empty() ? "number " + std::to_string(static_cast<int>(code)) : std::string(name);
}

void read_operator(BuiltinOperator code, std::string_view custom, const OperatorReader& source) { reader_of(code, custom)(source); }

}  // namespace lastbit::tflite_format
