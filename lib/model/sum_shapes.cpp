// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which shapes and attributes the operations that sum products take: convolutions, fully connected layers, matmul.
#include <utility>
#include <vector>

#include "lastbit/shape.hpp"
#include "model/operation_checks.hpp"

namespace lastbit {
namespace {

using enum OperationKind;
constexpr auto shape_mismatch = ErrorCode::shape_mismatch;
constexpr auto bad_attribute = ErrorCode::bad_attribute;

/// Of codes as they are: 8 bits, so that what the registers make of their sums fits 64 bits.
void check_cross_terms(const OperationView& operation, const CrossTerms& terms) {
  const ModelTensor &data = operation.input(0), &weights = operation.input(1);
  operation.require(operation.kind() != transposed_conv2d, bad_attribute, "a transposed convolution has no cross_terms");
  operation.require(is_integer(data.type) && size_of(data.type) == 1 && is_integer(weights.type) && size_of(weights.type) == 1,
                    bad_attribute, "cross_terms are of 8-bit data and weights");
  for (const ScaleRegister& each : {terms.data, terms.weights}) {
    operation.require(each.shift >= 0 && each.shift <= largest_register_shift, bad_attribute,
                      "cross_terms shift by 0 to " + std::to_string(largest_register_shift) + " places");
    operation.require(fits_width(each.multiplier, 32), bad_attribute, "cross_terms multiply by 32 bits");
  }
  operation.require(fits_width(terms.per_channel, register_offset_bits), bad_attribute,
                    "cross_terms add at most " + std::to_string(register_offset_bits) + " bits per channel");
}

void check_window_attributes(const OperationView& operation, const Conv2dAttributes& attributes) {
  check_extent(operation, "stride", attributes.stride);
  check_extent(operation, "dilation", attributes.dilation);
  check_padding(operation, attributes.padding);
  check_bounds(operation, attributes.bounds);
  if (attributes.cross_terms) check_cross_terms(operation, *attributes.cross_terms);
}

void require_bias(const OperationView& operation, std::int64_t channels) {
  if (operation.has_input(bias_input)) require_bias_count(operation, operation.input(bias_input), {channels});
}

}  // namespace

void check_convolution(const OperationView& operation) {
  const auto& attributes = operation.attributes<Conv2dAttributes>();
  const ModelTensor &input = operation.input(0), &weights = operation.input(1), &output = operation.output();
  for (const ModelTensor* tensor : {&input, &weights, &output}) operation.require_rank(*tensor, 4);
  check_window_attributes(operation, attributes);
  const Shape &in = input.shape, &filter = weights.shape, &out = output.shape;
  if (operation.kind() == depthwise_conv2d) {
    operation.require(filter[0] == 1 && filter[3] % in[3] == 0, shape_mismatch,
                      "weights must be 1 x height x width x (channels * multiplier)");
    operation.require(out[3] == filter[3], shape_mismatch, "output channels and weights differ");
  } else {
    operation.require(in[3] % filter[3] == 0 && filter[0] % (in[3] / filter[3]) == 0, shape_mismatch,
                      "weights " + filter.text() + " do not divide " + std::to_string(in[3]) + " input channels into groups");
    operation.require(out[3] == filter[0], shape_mismatch, "output channels and weights differ");
  }
  operation.require(in[0] == out[0], shape_mismatch, "batch of input and output differ");
  if (operation.has_input(bias_input) && operation.kind() == conv2d)
    require_bias_count(operation, operation.input(bias_input), {out[3], out[1] * out[2] * out[3]});
  else require_bias(operation, out[3]);
  check_multiplier(operation, multiplier_input, out[3]);
  require_window_count(operation,
                       window_count(attributes.padding, image_of(input), image_of(weights), attributes.stride, attributes.dilation),
                       image_of(output));
}

void check_transposed_convolution(const OperationView& operation) {
  const auto& attributes = operation.attributes<Conv2dAttributes>();
  const ModelTensor &input = operation.input(0), &weights = operation.input(1), &output = operation.output();
  for (const ModelTensor* tensor : {&input, &weights, &output}) operation.require_rank(*tensor, 4);
  check_window_attributes(operation, attributes);
  operation.require(attributes.dilation == Extent2d{}, bad_attribute, "a transposed convolution has no dilation");
  operation.require(weights.shape[3] == input.shape[3], shape_mismatch, "input channels and weights differ");
  operation.require(weights.shape[0] == output.shape[3], shape_mismatch, "output channels and weights differ");
  operation.require(input.shape[0] == output.shape[0], shape_mismatch, "batch of input and output differ");
  require_bias(operation, output.shape[3]);
  require_window_count(operation, window_count(attributes.padding, image_of(output), image_of(weights), attributes.stride),
                       image_of(input));
}

/// Rows of the weights that are computed, and the column of the bias: for integer data.
namespace {

std::int64_t checked_row_count(const OperationView& operation) {
  const auto& [bounds, active_rows, bias_column, stated_by_input, asymmetric_inputs] = operation.attributes<FullyConnectedAttributes>();
  const std::int64_t rows = operation.input(1).shape[0];
  operation.require((active_rows.empty() && !bias_column) || is_integer(operation.input().type), bad_attribute,
                    "active_rows and bias_column are for integer data");
  operation.require(!asymmetric_inputs || (operation.input().type == ElementType::float32 && is_integer(operation.input(1).type)),
                    bad_attribute, "asymmetric_inputs is for float32 data with integer weights");
  for (const std::int64_t row : active_rows) {
    if (row < 0 || row >= rows) operation.fail(bad_attribute, "active row " + std::to_string(row) + " of " + std::to_string(rows));
  }
  return active_rows.empty() ? rows : static_cast<std::int64_t>(active_rows.size());
}

void check_columns_of_bias(const OperationView& operation) {
  const auto& column = operation.attributes<FullyConnectedAttributes>().bias_column;
  const std::int64_t rows = operation.input(1).shape[0];
  if (!column) return require_bias(operation, rows);
  operation.require(operation.has_input(bias_input), bad_attribute, "bias_column without a bias");
  const Shape& bias = operation.input(bias_input).shape;
  operation.require(bias.rank() == 2 && bias[0] == rows && *column >= 0 && *column < bias[1], shape_mismatch,
                    "bias " + bias.text() + " has no column " + std::to_string(*column) + " of " + std::to_string(rows) + " values");
}

}  // namespace

void check_fully_connected(const OperationView& operation) {
  const ModelTensor &input = operation.input(0), &weights = operation.input(1), &output = operation.output();
  operation.require_rank(weights, 2);
  check_bounds(operation, operation.attributes<FullyConnectedAttributes>().bounds);
  const std::int64_t values = input.shape.element_count(), length = weights.shape[1], channels = checked_row_count(operation);
  operation.require(values % length == 0, shape_mismatch,
                    "input " + input.shape.text() + " is not made of rows of " + std::to_string(length) + " values");
  operation.require(
      output.shape.rank() >= 1 && output.shape.back() == channels && output.shape.element_count() / channels == values / length,
      shape_mismatch,
      "output " + output.shape.text() + " is not " + std::to_string(values / length) + " rows of " + std::to_string(channels));
  check_columns_of_bias(operation);
  check_multiplier(operation, multiplier_input, weights.shape[0]);
}

void check_matmul(const OperationView& operation) {
  const auto& attributes = operation.attributes<MatmulAttributes>();
  check_bounds(operation, attributes.bounds);
  std::vector<std::int64_t> a = sizes_of(operation.input(0)), b = sizes_of(operation.input(1));
  operation.require(a.size() >= 2 && b.size() >= 2, shape_mismatch, "both inputs need two dimensions or more");
  if (attributes.transpose_a) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (attributes.transpose_b) std::swap(b[b.size() - 1], b[b.size() - 2]);
  operation.require(a.back() == b[b.size() - 2], shape_mismatch,
                    "rows of " + std::to_string(a.back()) + " values meet columns of " + std::to_string(b[b.size() - 2]));
  const auto lead = broadcast(Shape({a.begin(), a.end() - 2}), Shape({b.begin(), b.end() - 2}));
  operation.require(lead.has_value(), shape_mismatch, "leading dimensions do not broadcast");
  std::vector<std::int64_t> expected(lead->sizes().begin(), lead->sizes().end());
  expected.insert(expected.end(), {a[a.size() - 2], b.back()});
  operation.require_shape(operation.output(), Shape(std::move(expected)));
}

}  // namespace lastbit
