// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which element types and quantisations an operation takes.
#include <algorithm>
#include <initializer_list>

#include "lastbit/shape.hpp"
#include "model/operation_checks.hpp"
#include "model/whole_numbers.hpp"

namespace lastbit {
namespace {

using enum ElementType;

bool one_of(ElementType type, std::initializer_list<ElementType> allowed) {
  return std::find(allowed.begin(), allowed.end(), type) != allowed.end();
}

}  // namespace

void require_type(const OperationView& operation, const ModelTensor& tensor, std::initializer_list<ElementType> allowed) {
  if (one_of(tensor.type, allowed)) return;
  std::string names;
  for (const ElementType type : allowed) names += (names.empty() ? "" : ", ") + std::string(name_of(type));
  operation.fail(ErrorCode::type_mismatch, "tensor '" + tensor.name + "' is " + std::string(name_of(tensor.type)) + "; allowed: " + names);
}

void require_per_tensor(const OperationView& operation, const ModelTensor& tensor) {
  if (!tensor.quantization.per_channel() && tensor.quantization.zero_points.size() <= 1) return;
  operation.fail(ErrorCode::bad_quantization, "tensor '" + tensor.name + "' has one scale per channel; a single one is needed");
}

namespace {

void require_scale(const OperationView& operation, const ModelTensor& tensor) {
  if (!is_integer(tensor.type) || tensor.quantization.present()) return;
  operation.fail(ErrorCode::bad_quantization, "tensor '" + tensor.name + "' needs a scale");
}

void require_data_scale(const OperationView& operation, const ModelTensor& tensor) {
  require_scale(operation, tensor);
  const auto& scales = tensor.quantization.scales;
  if (std::all_of(scales.begin(), scales.end(), [](double scale) { return scale >= smallest_data_scale; })) return;
  operation.fail(ErrorCode::bad_quantization, "the scale of '" + tensor.name + "' is below 2^-64");
}

void require_channel_axis(const OperationView& operation, const ModelTensor& weights, std::int64_t axis) {
  if (weights.quantization.scales.size() <= 1 || weights.quantization.axis == axis) return;
  operation.fail(ErrorCode::bad_quantization, "tensor '" + weights.name + "' has scales along axis " +
                                                  std::to_string(weights.quantization.axis) + "; axis " + std::to_string(axis) +
                                                  " is needed");
}

/// float16 data and weights; a bias and an output of float16 or float32.
void check_float16_sum_types(const OperationView& operation) {
  require_type(operation, operation.input(1), {float16});
  if (operation.has_input(2)) require_type(operation, operation.input(2), {float16, float32});
  require_type(operation, operation.output(), {float16, float32});
}

/// The same signed or unsigned, of as many bits.
void require_same_width(const OperationView& operation, const ModelTensor& tensor, ElementType type) {
  if (type == int8 || type == uint8) return require_type(operation, tensor, {int8, uint8});
  if (type == int16 || type == uint16) return require_type(operation, tensor, {int16, uint16});
  require_type(operation, tensor, {type});
}

void require_same_type(const OperationView& operation) {
  const ElementType type = operation.input().type;
  for (std::size_t i = 1; i < operation.input_count(); ++i) require_type(operation, operation.input(i), {type});
  for (std::size_t i = 0; i < operation.output_count(); ++i) require_type(operation, operation.output(i), {type});
}

void require_same_quantization(const OperationView& operation, const ModelTensor& a, const ModelTensor& b) {
  if (a.quantization == b.quantization) return;
  operation.fail(ErrorCode::bad_quantization, "'" + a.name + "' and '" + b.name + "' need the same quantisation");
}

/// Of every tensor of the operation.
void each_tensor(const OperationView& operation, const auto& check) {
  for (std::size_t i = 0; i < operation.input_count(); ++i) {
    if (operation.has_input(i)) check(operation, operation.input(i));
  }
  check(operation, operation.output());
}

void require_one_scale(const OperationView& operation, const ModelTensor& tensor) {
  require_per_tensor(operation, tensor);
  require_data_scale(operation, tensor);
}

void require_all_float(const OperationView& operation) {
  for (std::size_t i = 1; i < operation.input_count(); ++i)
    if (operation.has_input(i)) require_type(operation, operation.input(i), {float32});
  for (std::size_t i = 0; i < operation.output_count(); ++i) require_type(operation, operation.output(i), {float32});
  each_tensor(operation, require_one_scale);
}

/// Inputs of requantize and add_n may have one scale per index of the last axis.
void require_last_axis_scales(const OperationView& operation, const ModelTensor& tensor) {
  const Quantization& quantization = tensor.quantization;
  const bool zero = std::all_of(quantization.zero_points.begin(), quantization.zero_points.end(), [](auto point) { return point == 0; });
  if (!quantization.per_channel() && quantization.zero_points.size() <= 1) return;
  require_channel_axis(operation, tensor, static_cast<std::int64_t>(tensor.shape.rank()) - 1);
  operation.require(zero, ErrorCode::bad_quantization, "tensor '" + tensor.name + "' has scales per channel: its zero points must be 0");
}

/// Of operations that pick, bound or average values as they are.
void require_one_scale_if_any(const OperationView& operation, const ModelTensor& tensor) {
  require_per_tensor(operation, tensor);
  if (tensor.quantization.present()) require_data_scale(operation, tensor);
}

/// One for each channel, or one.
void require_channel_scales_of_inputs(const OperationView& operation) {
  for (std::size_t i = 0; i < operation.input_count(); ++i) {
    require_last_axis_scales(operation, operation.input(i));
    require_data_scale(operation, operation.input(i));
  }
}

/// An element-wise sum or product of integers as int32, without a scale of its own: nothing follows it.
bool delivers_its_sum(const OperationView& operation) {
  const ModelTensor& output = operation.output();
  return is_integer(operation.input().type) && output.type == int32 && !output.quantization.present();
}

void require_no_scale(const OperationView& operation, const ModelTensor& tensor) {
  if (!tensor.quantization.present()) return;
  operation.fail(ErrorCode::bad_quantization,
                 "tensor '" + tensor.name + "' has a scale; the operation is on numbers that stand for themselves");
}

/// Of one type, without a scale, and without bounds.
void check_whole_number_types(const OperationView& operation) {
  require_same_type(operation);
  each_tensor(operation, require_no_scale);
  const bool bounded = operation.attributes<ElementwiseAttributes>().bounds != OutputBounds{};
  operation.require(operation.input_count() == 2 && !bounded, ErrorCode::unsupported_operation,
                    "of integers without a scale it has two operands, and no activation");
}

void require_data_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int8, uint8, int16, float16, float32});
  require_same_type(operation);
}

}  // namespace

std::int64_t output_channel_axis(const OperationView& operation) {
  using enum OperationKind;
  if (operation.kind() == depthwise_conv2d) return 3;
  if (operation.kind() != matmul) return 0;
  const auto rank = static_cast<std::int64_t>(operation.input(1).shape.rank());
  return operation.attributes<MatmulAttributes>().transpose_b ? rank - 2 : rank - 1;
}

void check_quantize_types(const OperationView& operation) {
  require_type(operation, operation.input(), {float16, float32});
  require_type(operation, operation.output(), {int8, uint8, int16, uint16, int32});
  each_tensor(operation, require_data_scale);
}

void check_dequantize_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int8, uint8, int16, uint16, int32});
  require_type(operation, operation.output(), {float16, float32});
  each_tensor(operation, require_data_scale);
}

/// float16 to and from float32; whole numbers to and from each other and float32.
void check_cast_types(const OperationView& operation) {
  const ModelTensor &input = operation.input(), &output = operation.output();
  require_type(operation, input, {float16, float32, int8, uint8, int16, uint16, int32, int64});
  if (input.type == float16) require_type(operation, output, {float16, float32});
  else if (is_integer(input.type)) require_type(operation, output, {float32, int8, uint8, int16, uint16, int32, int64});
  else require_type(operation, output, {float16, float32, int8, uint8, int16, uint16, int32, int64});
  each_tensor(operation, require_no_scale);
}

void check_requantize_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int8, uint8, int16, uint16, int32, int64});
  operation.require(operation.input().type != int64 || operation.input().quantization.zero_point() == 0, ErrorCode::bad_quantization,
                    "int64 data needs zero point 0");
  require_type(operation, operation.output(), {int8, uint8, int16, uint16, int32});
  require_channel_scales_of_inputs(operation);
  require_one_scale(operation, operation.output());
}

void check_max_pool_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int8, uint8, int16, uint16, int32, float16, float32});
  require_same_type(operation);
  each_tensor(operation, require_one_scale_if_any);
}

void check_average_pool_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int8, uint8, int16, uint16, float16, float32});
  require_same_type(operation);
  each_tensor(operation, require_one_scale_if_any);
}

void check_clip_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int8, uint8, int16, uint16, int32, float32});
  require_same_type(operation);
  each_tensor(operation, require_one_scale_if_any);
}

void check_concat_types(const OperationView& operation) {
  require_same_type(operation);
  each_tensor(operation, require_one_scale_if_any);
}

void check_resize_types(const OperationView& operation) {
  require_data_types(operation);
  each_tensor(operation, require_one_scale_if_any);
}

/// Codes of a function's fixed point are of 32 bits too.
void check_sigmoid_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int8, uint8, int16, int32, float16, float32});
  require_same_type(operation);
  each_tensor(operation, require_one_scale);
}

void check_function_types(const OperationView& operation) {
  require_data_types(operation);
  each_tensor(operation, require_one_scale);
}

void check_moved_types(const OperationView& operation) { require_same_type(operation); }

namespace {

/// float32 data, bias and output; the weights as well, or, of a hybrid layer, symmetric int8 codes.
void check_float32_sum_types(const OperationView& operation) {
  const ModelTensor& weights = operation.input(1);
  require_type(operation, weights, {float32, int8});
  for (std::size_t i = bias_input; i < operation.input_count(); ++i)
    if (operation.has_input(i)) require_type(operation, operation.input(i), {float32});
  require_type(operation, operation.output(), {float32});
  if (weights.type == float32) return;
  require_scale(operation, weights);
  require_channel_axis(operation, weights, output_channel_axis(operation));
  const auto& zero_points = weights.quantization.zero_points;
  operation.require(std::all_of(zero_points.begin(), zero_points.end(), [](std::int64_t zero_point) { return zero_point == 0; }),
                    ErrorCode::bad_quantization, "weights '" + weights.name + "' of float32 data need zero point 0");
}

}  // namespace

/// Convolutions, fully connected, matmul: 8- or 16-bit data, as many bits out or the accumulators; float32 data.
void check_sum_types(const OperationView& operation) {
  const ModelTensor &input = operation.input(0), &weights = operation.input(1), &output = operation.output();
  require_type(operation, input, {int8, uint8, int16, uint16, float16, float32});
  if (input.type == float16) return check_float16_sum_types(operation);
  if (input.type == float32) return check_float32_sum_types(operation);
  require_type(operation, weights, {int8, uint8, int16});
  if (operation.has_input(bias_input)) require_type(operation, operation.input(bias_input), {int8, int16, int32, int64});
  const bool accumulators = one_of(output.type, {int32, int64});
  if (!accumulators) require_same_width(operation, output, input.type);
  require_per_tensor(operation, input);
  require_channel_axis(operation, weights, output_channel_axis(operation));
  if (output.type == int32 && output.quantization.per_channel()) {  // accumulators, with the scales that dequantize them
    return require_channel_axis(operation, output, static_cast<std::int64_t>(output.shape.rank()) - 1);
  }
  require_per_tensor(operation, output);
  if (accumulators && !output.quantization.present()) return;
  require_scale(operation, weights);
  for (const ModelTensor* tensor : {&input, &output}) require_data_scale(operation, *tensor);
}

void check_softmax_types(const OperationView& operation) {
  const ModelTensor &input = operation.input(), &output = operation.output();
  require_type(operation, input, {int8, uint8, int16, float16, float32});
  if (input.type == int8 || input.type == uint8) require_type(operation, output, {input.type, int16});
  else require_type(operation, output, {input.type});
  each_tensor(operation, require_one_scale);
}

/// Codes without a scale of their own: it is the second output.
void check_dynamic_quantize_types(const OperationView& operation) {
  require_type(operation, operation.input(), {float32});
  const std::initializer_list<ElementType> outputs[] = {{uint8}, {float32}, {uint8}};
  for (std::size_t i = 0; i < operation.output_count(); ++i) require_type(operation, operation.output(i), outputs[i]);
}

void check_svdf_types(const OperationView& operation) {
  operation.require(operation.output_count() == 2, ErrorCode::malformed_file, "2 outputs needed: the output and the new state");
  require_type(operation, operation.input(), {int8, float32});
  if (operation.input().type == float32) return require_all_float(operation);
  const ModelTensor& state = operation.input(3);
  require_type(operation, operation.input(1), {int8});
  require_type(operation, state, {int8, int16});
  require_type(operation, operation.input(2), {state.type});
  if (operation.has_input(4)) require_type(operation, operation.input(4), {int32});
  require_type(operation, operation.output(), {int8});
  require_type(operation, operation.output(1), {state.type});
  require_same_quantization(operation, state, operation.output(1));
  each_tensor(operation, require_one_scale);
}

void check_lstm_types(const OperationView& operation) {
  operation.require(operation.output_count() == 3, ErrorCode::malformed_file,
                    "3 outputs needed: the outputs of all steps, the new hidden state and the new cell state");
  const ElementType data = operation.input().type;
  require_type(operation, operation.input(), {int8, int16, float32});
  if (data == float32) return require_all_float(operation);
  require_type(operation, operation.input(1), {data});
  for (const ModelTensor* const cell : {&operation.input(2), &operation.output(2)}) require_type(operation, *cell, {int16});
  for (std::size_t i = 3; i < 11; ++i) require_type(operation, operation.input(i), {int8});
  for (std::size_t i = 11; i < 15; ++i) require_type(operation, operation.input(i), {data == int8 ? int32 : int64});
  for (std::size_t i = 0; i < 2; ++i) {
    require_type(operation, operation.output(i), {data});
    require_same_quantization(operation, operation.input(1), operation.output(i));
  }
  require_same_quantization(operation, operation.input(2), operation.output(2));
  each_tensor(operation, require_one_scale);
}

void check_add_n_types(const OperationView& operation) {
  const ElementType type = operation.input().type;
  require_type(operation, operation.input(), {int8, uint8, int16, uint16, int32, int64, float16, float32});
  for (std::size_t i = 1; i < operation.input_count(); ++i) require_type(operation, operation.input(i), {type});
  require_channel_scales_of_inputs(operation);
  if (type != int32 && delivers_its_sum(operation)) return;
  if (type == int32 || type == int64) require_type(operation, operation.output(), {int8, uint8, int16, uint16, int32});
  else require_same_width(operation, operation.output(), type);
  require_one_scale(operation, operation.output());
}

/// Codes of one type, whatever their scales; as they are, or widened to int32.
void check_bitwise_types(const OperationView& operation) {
  const ElementType type = operation.input().type;
  require_type(operation, operation.input(), {int8, uint8, int16, uint16, int32});
  for (std::size_t i = 1; i < operation.input_count(); ++i) require_type(operation, operation.input(i), {type});
  require_type(operation, operation.output(), {type, int32});
  each_tensor(operation, require_one_scale_if_any);
}

void check_elementwise_types(const OperationView& operation) {
  if (is_whole_number(operation.input())) return check_whole_number_types(operation);
  if (operation.kind() == OperationKind::mul && operation.input().type == int32) {
    require_type(operation, operation.input(1), {int32});
    require_type(operation, operation.output(), {int8, uint8, int16, uint16, int32});
    return each_tensor(operation, require_one_scale);
  }
  if (!delivers_its_sum(operation)) return check_function_types(operation);
  const ElementType type = operation.input().type;
  require_type(operation, operation.input(), {int8, uint8, int16});
  for (std::size_t i = 0; i < operation.input_count(); ++i) {
    require_type(operation, operation.input(i), {type});
    require_one_scale(operation, operation.input(i));
  }
}

void check_sign_types(const OperationView& operation) {
  if (is_whole_number(operation.input())) return require_same_type(operation);
  check_function_types(operation);
}

void check_quotient_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int32, int64, float32});
  require_same_type(operation);
  each_tensor(operation, require_no_scale);
}

void check_comparison_types(const OperationView& operation) {
  const ElementType type = operation.input().type;
  require_type(operation, operation.input(), {int8, uint8, int16, int32, int64, float32, boolean});
  require_type(operation, operation.input(1), {type});
  for (std::size_t i = 0; i < 2; ++i) require_one_scale_if_any(operation, operation.input(i));
  require_type(operation, operation.output(), {boolean});
}

void check_select_types(const OperationView& operation) {
  require_type(operation, operation.input(), {boolean});
  require_type(operation, operation.input(1), {int8, uint8, int16, int32, int64, float32, boolean});
  for (const ModelTensor* const tensor : {&operation.input(2), &operation.output()}) {
    require_type(operation, *tensor, {operation.input(1).type});
    require_same_quantization(operation, operation.input(1), *tensor);
  }
  require_one_scale_if_any(operation, operation.output());
}

/// Boxes and anchors of one type, scores of their own; real results.
void check_detection_types(const OperationView& operation) {
  operation.require(operation.output_count() == 4, ErrorCode::malformed_file, "4 outputs needed: boxes, classes, scores and their count");
  for (std::size_t i = 0; i < 2; ++i) require_type(operation, operation.input(i), {int8, uint8, float32});
  require_type(operation, operation.input(2), {operation.input().type});
  for (std::size_t i = 0; i < 3; ++i) require_one_scale(operation, operation.input(i));
  for (std::size_t i = 0; i < 4; ++i) require_type(operation, operation.output(i), {float32});
}

/// Values of one type, picked as they are, and indices.
void check_top_k_types(const OperationView& operation) {
  operation.require(operation.output_count() == 2, ErrorCode::malformed_file, "2 outputs needed: values and indices");
  require_type(operation, operation.input(), {int8, uint8, int16, int32, float32});
  require_type(operation, operation.output(), {operation.input().type});
  require_same_quantization(operation, operation.input(), operation.output());
  require_one_scale_if_any(operation, operation.input());
  if (operation.input().type == float32) require_type(operation, operation.output(1), {int32, int64, float32});
  else require_type(operation, operation.output(1), {int32, int64});
}

/// Values of one type, picked as they are.
void check_extreme_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int8, uint8, int16, int32, int64, float32});
  require_same_type(operation);
  each_tensor(operation, require_one_scale_if_any);
}

/// Indices; the golden path has them as reals, as it has every tensor.
void check_gather_types(const OperationView& operation) {
  if (operation.input().type == float32) require_type(operation, operation.input(1), {int32, int64, float32});
  else require_type(operation, operation.input(1), {int32, int64});
  require_type(operation, operation.output(), {operation.input().type});
}

void check_argmax_types(const OperationView& operation) {
  const ModelTensor& input = operation.input();
  require_type(operation, input, {int8, uint8, int16, uint16, int32, float32});
  if (input.type == float32) require_type(operation, operation.output(), {int32, int64, float32});
  else require_type(operation, operation.output(), {int32, int64});
}

}  // namespace lastbit
