// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Types, shapes and tables of layers that only some devices know: pwl, sum_pool2d, fused_conv2d, recurrent; and the integer multiplier per
// row that fully_connected, depthwise_conv2d and recurrent may have.
#include <limits>

#include "lastbit/arith/pwl.hpp"
#include "lastbit/shape.hpp"
#include "model/operation_checks.hpp"

namespace lastbit {
namespace {

using enum ElementType;
constexpr auto shape_mismatch = ErrorCode::shape_mismatch;
constexpr auto bad_attribute = ErrorCode::bad_attribute;
constexpr std::int64_t most_segments = 128;

const Tensor& constant_of(const OperationView& operation, const ModelTensor& tensor) {
  if (!tensor.constant) operation.fail(bad_attribute, "tensor '" + tensor.name + "' must be a constant");
  return *tensor.constant;
}

void check_table(const OperationView& operation, const ModelTensor& table) {
  const auto fail = [&](const std::string& problem) { operation.fail(bad_attribute, "table '" + table.name + "': " + problem); };
  operation.require_rank(table, 2);
  if (table.shape[1] != 3 || table.shape[0] > most_segments) fail("1 to 128 rows of base, value and slope are needed");
  if (constant_of(operation, table).type() == float32) return;  // of real numbers, made by dequantized()
  const auto records = table.constant->values<std::int32_t>();
  std::int64_t previous = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < records.size(); i += 3) {
    const std::int64_t base = pwl_segment(records[i], 0, 0).x_base;
    const std::string row = "row " + std::to_string(i / 3);
    if (base <= previous) fail(row + " does not begin behind the row before it");
    for (const std::size_t column : {i + 1, i + 2}) {
      if (!fits_width(std::int64_t{records[column]}, 16)) fail(row + ": " + std::to_string(records[column]) + " does not fit 16 bits");
    }
    previous = base;
  }
}

/// Of the data: one scale, if any.
void require_per_tensor_data(const OperationView& operation) {
  require_per_tensor(operation, operation.input());
  require_per_tensor(operation, operation.output());
}

}  // namespace

void check_pwl_types(const OperationView& operation) {
  if (operation.input().type == float32) {
    require_type(operation, operation.input(1), {float32});
    return require_type(operation, operation.output(), {float32});
  }
  require_type(operation, operation.input(0), {int32});
  require_type(operation, operation.input(1), {int32});
  require_type(operation, operation.output(), {int8, int16, int32});
  require_per_tensor_data(operation);
}

void check_sum_pool_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int8, int16, int32, float32});
  require_type(operation, operation.output(), {operation.input().type});
  require_per_tensor_data(operation);
}

void check_fused_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int8, int16});
  require_type(operation, operation.input(1), {int8, int16});
  if (operation.has_input(bias_input)) require_type(operation, operation.input(bias_input), {int8, int16, int32});
  if (operation.has_input(fused_pwl_input)) {
    require_type(operation, operation.input(fused_pwl_input), {int32});
    require_type(operation, operation.output(), {int8, int16, int32});
  } else {
    require_type(operation, operation.output(), {int32});
  }
  require_per_tensor_data(operation);
}

void check_recurrent_types(const OperationView& operation) {
  require_type(operation, operation.input(), {int8, int16});
  require_type(operation, operation.input(1), {int8, int16});
  for (const ModelTensor* same : {&operation.input(recurrent_feedback_input), &operation.output()})
    require_type(operation, *same, {operation.input().type});
  require_type(operation, operation.input(recurrent_pwl_input), {int32});
  if (operation.has_input(recurrent_bias_input)) require_type(operation, operation.input(recurrent_bias_input), {int8, int16, int32});
  if (operation.output_count() > 1) require_type(operation, operation.output(1), {int32});
  require_per_tensor_data(operation);
}

void check_fused(const OperationView& operation) {
  const auto& attributes = operation.attributes<FusedConv2dAttributes>();
  const ModelTensor &input = operation.input(0), &weights = operation.input(1), &output = operation.output();
  for (const ModelTensor* tensor : {&input, &weights, &output}) operation.require_rank(*tensor, 4);
  check_extent(operation, "stride", attributes.stride);
  check_padding(operation, attributes.padding);
  operation.require(input.shape[3] == weights.shape[3], shape_mismatch, "input channels and weights differ");
  const Extent2d sums = window_count(attributes.padding, image_of(input), image_of(weights), attributes.stride);
  operation.require(sums.height >= 1 && sums.width >= 1, shape_mismatch, "the window is larger than the padded input");
  const std::int64_t channels = weights.shape[0];
  if (operation.has_input(bias_input))
    require_bias_count(operation, operation.input(bias_input), {channels, sums.height * sums.width * channels});
  operation.require(attributes.pool <= PoolKind::sum, bad_attribute, "unknown pool");
  const Extent2d places =
      attributes.pool == PoolKind::none
          ? sums
          : checked_pool_windows(operation, sums,
                                 {attributes.pool_filter, attributes.pool_stride, Padding2d{}, attributes.partial_windows});
  operation.require_shape(output, {input.shape[0], places.height, places.width, channels});
  if (operation.has_input(fused_pwl_input)) check_table(operation, operation.input(fused_pwl_input));
}

void check_recurrent(const OperationView& operation) {
  const ModelTensor &input = operation.input(0), &weights = operation.input(1), &feedback = operation.input(recurrent_feedback_input);
  for (const ModelTensor* tensor : {&input, &weights, &feedback}) operation.require_rank(*tensor, 2);
  const std::int64_t rows = input.shape[0], outputs = weights.shape[0];
  operation.require(weights.shape[1] == input.shape[1] + outputs, shape_mismatch,
                    "weights " + weights.shape.text() + " must have a column for each of " + std::to_string(input.shape[1]) +
                        " inputs and " + std::to_string(outputs) + " outputs");
  operation.require(feedback.shape[1] == outputs, shape_mismatch, "feedback must have rows of " + std::to_string(outputs) + " values");
  check_table(operation, operation.input(recurrent_pwl_input));
  if (operation.has_input(recurrent_bias_input)) require_bias_count(operation, operation.input(recurrent_bias_input), {outputs});
  check_multiplier(operation, recurrent_multiplier_input, outputs);
  for (std::size_t i = 0; i < operation.output_count(); ++i) operation.require_shape(operation.output(i), {rows, outputs});
}

void check_multiplier(const OperationView& operation, std::size_t position, std::int64_t channels) {
  if (!operation.has_input(position)) return;
  const ModelTensor& multiplier = operation.input(position);
  require_type(operation, multiplier, {int8, uint8, int16, uint16, int32, uint32});
  operation.require(is_integer(operation.input().type) && operation.input(1).type == int8, ErrorCode::type_mismatch,
                    "multipliers go with integer data and int8 weights");
  operation.require(
      multiplier.shape.element_count() == channels, shape_mismatch,
      "multiplier '" + multiplier.name + "' is " + multiplier.shape.text() + "; " + std::to_string(channels) + " values are needed");
  for (const std::int64_t zero : operation.input(1).quantization.zero_points)
    operation.require(zero == 0, ErrorCode::bad_quantization, "multipliers go with weights of zero point 0");
  const Tensor& values = constant_of(operation, multiplier);
  for (std::int64_t i = 0; i < channels; ++i) {
    const std::int64_t value = values.integer_at(i);
    if (value < 0 || value > 255) operation.fail(bad_attribute, "multiplier " + std::to_string(value) + " is not between 0 and 255");
  }
}

void check_pwl(const OperationView& operation) {
  check_table(operation, operation.input(1));
  operation.require_shape(operation.output(), operation.input().shape);
}

}  // namespace lastbit
