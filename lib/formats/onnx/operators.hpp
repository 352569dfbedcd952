// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What each ONNX operator is in a model: one function per operator, one table per family. Types and shapes are checked as operations are
// appended; here is checked only what attributes and shapes are made from.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <string_view>

#include "formats/onnx/node.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/op/quantize.hpp"

namespace lastbit::onnx_format {

/// Whether the operator between DequantizeLinear and QuantizeLinear is one operation on the integers.
enum class Folding : std::uint8_t {
  never,
  equal,    ///< where both have one scale and zero point: it moves or picks values
  any,      ///< whatever the scales
  bounded,  ///< whatever the scales, and Relu or Clip after it are bounds of its output
};

inline constexpr std::size_t all_inputs = std::numeric_limits<std::size_t>::max();

struct Operator {
  std::string_view name;
  void (*read)(const NodeReader&);
  Folding folding = Folding::never;
  std::size_t data_inputs = 1;  ///< the first so many inputs are quantised when it is folded
  std::string_view domain = {};
  std::int64_t since = 6;  ///< the oldest opset whose definition it reads
};

void read_gather(const NodeReader& node);  ///< gather.cpp

[[nodiscard]] std::span<const Operator> convolution_operators();
[[nodiscard]] std::span<const Operator> elementwise_operators();
[[nodiscard]] std::span<const Operator> logic_operators();
[[nodiscard]] std::span<const Operator> matrix_operators();
[[nodiscard]] std::span<const Operator> movement_operators();
[[nodiscard]] std::span<const Operator> ordering_operators();
[[nodiscard]] std::span<const Operator> pad_operators();
[[nodiscard]] std::span<const Operator> pool_operators();
[[nodiscard]] std::span<const Operator> quantized_operators();
[[nodiscard]] std::span<const Operator> real_operators();
[[nodiscard]] std::span<const Operator> recurrent_operators();
[[nodiscard]] std::span<const Operator> resize_operators();

/// Null for an operator that is not supported.
[[nodiscard]] const Operator* find_operator(std::string_view domain, std::string_view name);

// Shared by the families.

/// An operator with one input, worked value by value, that has no attributes.
template <OperationKind kind>
void read_one_to_one(const NodeReader& node) {
  node.require_inputs(1, 1);
  node.emit_same_shape(kind);
}

/// How the standard turns floats into integers: for what is quantised while the file is read.
inline constexpr QuantizeArithmetic standard_quantize = by_division(Rounding::half_even);

/// [min, max] of Clip; an input left out, or an attribute left out, is the end of float32. The bounds are constants.
[[nodiscard]] std::array<float, 2> clip_bounds(const NodeReader& clip);

/// A convolution, with a constant weight per channel times a BatchNormalization's factor: what the two together read and write.
[[nodiscard]] NodeOperands fold_batch_normalization(const NodeReader& convolution, const NodeReader& normalization);
/// Whether it is one in inference, whose parameters are constants.
[[nodiscard]] bool is_foldable(const NodeReader& convolution, const NodeReader& normalization);

/// The domain of ONNX Runtime's own operators.
inline constexpr std::string_view microsoft = "com.microsoft";

/// Scale and zero point inputs: one value, or one per index of `axis`.
[[nodiscard]] Quantization quantization_from(const NodeReader& node, std::size_t scale, std::size_t zero_point, std::int64_t axis = 0);
/// The integers at `position` mean what the inputs at `scale` and `zero_point` say.
void state_quantization(const NodeReader& node, std::size_t position, std::size_t scale, std::size_t zero_point, std::int64_t axis = 0);
/// The output's integers: of the type of the zero point, uint8 without one.
[[nodiscard]] ElementType type_of_zero_point(const NodeReader& node, std::size_t zero_point);

/// Windows of one or two spatial axes; a single one is the width.
struct Windows {
  Extent2d filter, stride, dilation;
  Padding2d padding;
};
[[nodiscard]] Extent2d extent_of(const NodeReader& node, const std::vector<std::int64_t>& values, std::size_t spatial_axes);
/// Attributes auto_pad, pads, strides and dilations around an image of this plain shape.
[[nodiscard]] Windows windows_of(const NodeReader& node, const Shape& image, Extent2d filter);
/// The plain shape of a result with these windows and channels.
[[nodiscard]] Shape windowed_shape(const NodeReader& node, const Shape& image, const Windows& windows, std::int64_t channels);
/// Refuses images of more than two spatial axes.
void require_image(const NodeReader& node, const Shape& shape);

/// conv2d or depthwise_conv2d from input 0, weights and bias already found: the rest of Conv, QLinearConv and ConvInteger.
void emit_convolution(const NodeReader& node, std::size_t weights, std::int32_t bias);
/// How the axes of an image lie in a tensor of the file.
enum class ImageAxes : std::uint8_t { channels_first, channels_last };
/// Average pools with ONNX's attributes from input 0: the rest of AveragePool, GlobalAveragePool and their QLinear forms.
void emit_average_pool(const NodeReader& node, ImageAxes axes);
void emit_global_average_pool(const NodeReader& node, ImageAxes axes);

/// A Pad whose value no code need stand for: quantised in the scale of what it surrounds, it would be another.
[[nodiscard]] bool pads_with_a_real_value(const NodeReader& node);

/// fully_connected or matmul of the inputs at these positions: the rest of MatMul, QLinearMatMul and MatMulInteger.
void emit_matmul(const NodeReader& node, std::size_t a, std::size_t b);
/// A binary operation with broadcasting on the inputs at these positions.
void emit_binary(const NodeReader& node, OperationKind kind, std::size_t a, std::size_t b, Attributes attributes);
/// Input 1 where the single bool of input 0 holds, else input 2.
void emit_choice(const NodeReader& node);
/// A cast of bools to numbers, which are 0 and 1, or of numbers to bools, which are whether they are not 0.
void emit_truth_cast(const NodeReader& node, ElementType to);
void emit_softmax(const NodeReader& node, std::int64_t axis);
void emit_concat(const NodeReader& node, const std::vector<std::size_t>& positions, std::int64_t axis);

}  // namespace lastbit::onnx_format
