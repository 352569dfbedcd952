// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operators on integers: QuantizeLinear and its like, QLinearConv and its like, ConvInteger, MatMulInteger.
#include <algorithm>

#include "formats/onnx/operators.hpp"
#include "lastbit/op/quantize.hpp"
#include "lastbit/printable.hpp"

namespace lastbit::onnx_format {
namespace {

std::int64_t quantization_axis(const NodeReader& node, std::size_t scale) {
  if (!node.has_input(scale) || node.shape(scale).element_count() == 1) return 0;
  return node.axis_of(node.integer("axis", 1), node.shape().rank());
}

/// A constant's codes, by the standard's own rule.
void quantize_constant(const NodeReader& node, const Tensor& values, ElementType type, const Quantization& quantization) {
  const Shape& shape = values.shape();
  std::size_t inner = 1;
  for (std::size_t axis = static_cast<std::size_t>(quantization.axis) + 1; axis < shape.rank(); ++axis)
    inner *= static_cast<std::size_t>(shape[axis]);
  const std::size_t channels = quantization.scales.size();
  Tensor codes(type, shape);
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      for (std::size_t i = 0; i < codes.values<T>().size(); ++i) {
        const std::size_t channel = i / inner % channels;
        codes.values<T>()[i] =
            static_cast<T>(quantize(standard_quantize, values.values<float>()[i], static_cast<float>(quantization.scale(channel)),
                                    quantization.zero_point(channel), range_of(type)));
      }
    }
  });
  node.graph().set_constant(node.output_id(), std::move(codes));
  node.graph()[node.output_id()].quantization = quantization;
}

void read_quantize(const NodeReader& node) {
  node.require_inputs(2, 3);
  if (node.integer("block_size", 0) != 0) node.unsupported("quantisation in blocks");
  const Quantization quantization = quantization_from(node, 1, 2, quantization_axis(node, 1));
  const ElementType type = type_of_zero_point(node, 2);
  node.graph().require_channels(node.shape(), quantization);
  if (node.input().type != ElementType::float32) node.unsupported("quantisation of " + std::string(name_of(node.input().type)));
  if (node.graph().constant(node.input_id()) != nullptr) {
    node.graph().budget().spend(static_cast<std::size_t>(node.shape().element_count()) * size_of(type), node.graph().place());
    return quantize_constant(node, node.constant(0), type, quantization);
  }
  node.declare(type, quantization);
  node.emit_same_shape(OperationKind::quantize);
}

/// The floats are made when somebody asks for them.
void read_dequantize(const NodeReader& node) {
  node.require_inputs(2, 3);
  if (node.integer("block_size", 0) != 0) node.unsupported("quantisation in blocks");
  if (!is_integer(node.input().type)) node.malformed("the input is " + std::string(name_of(node.input().type)));
  const Quantization quantization = quantization_from(node, 1, 2, quantization_axis(node, 1));
  node.graph().require_channels(node.shape(), quantization);
  if (node.graph().constant(node.input_id()) == nullptr) node.graph().set_quantization(node.input_id(), quantization);
  node.declare(ElementType::float32, quantization);
  node.define(node.shape());
  node.graph()[node.output_id()].quantized = node.input_id();
}

void read_dynamic_quantize(const NodeReader& node) {
  node.require_inputs(1, 1);
  node.declare(ElementType::uint8, {});
  node.define(node.shape());
  Graph& graph = node.graph();
  std::vector<std::int32_t> outputs{graph.begin_plain(node.output_id())};
  const ElementType types[] = {ElementType::uint8, ElementType::float32, ElementType::uint8};
  for (std::size_t i = 1; i < 3; ++i) {
    if (node.has_output(i)) {
      node.declare(types[i], {}, i);
      node.define({}, i);
      outputs.push_back(graph.begin_plain(node.output_id(i)));
    } else {
      outputs.push_back(graph.add_tensor(node.output().name + (i == 1 ? " (scale)" : " (zero point)"), types[i], {}));
    }
  }
  graph.emit(OperationKind::dynamic_quantize, {node.plain()}, std::move(outputs));
}

// Sums with stated scales.

void read_qlinear_convolution(const NodeReader& node) {
  node.require_inputs(8, 9);
  state_quantization(node, 0, 1, 2);
  state_quantization(node, 3, 4, 5, 0);
  node.declare(type_of_zero_point(node, 7), quantization_from(node, 6, 7));
  emit_convolution(node, 3, node.plain(8));
}

void read_qlinear_matmul(const NodeReader& node) {
  node.require_inputs(8, 8);
  state_quantization(node, 0, 1, 2);
  state_quantization(node, 3, 4, 5, static_cast<std::int64_t>(node.shape(3).rank()) - 1);
  node.declare(type_of_zero_point(node, 7), quantization_from(node, 6, 7));
  emit_matmul(node, 0, 3);
}

/// Zero points without scales: sums need no more. A scale that is known already may stay.
void state_zero_point(const NodeReader& node, std::size_t position, std::size_t zero_point, std::int64_t axis) {
  std::vector<std::int64_t> zeros{0};
  if (node.has_input(zero_point)) zeros = node.constant_integers(zero_point);
  const Quantization& known = node.input(position).quantization;
  const bool same = known.present() && zeros.size() == 1 && !known.per_channel() && known.zero_point() == zeros.front();
  if (same && node.graph().constant(node.input_id(position)) == nullptr) return;
  const std::vector<double> ones(zeros.size(), 1.0);
  node.graph().set_quantization(node.input_id(position), {.scales = ones, .zero_points = zeros, .axis = zeros.size() == 1 ? 0 : axis});
}

void read_convolution_integer(const NodeReader& node) {
  node.require_inputs(2, 4);
  state_zero_point(node, 0, 2, 0);
  state_zero_point(node, 1, 3, 0);
  node.declare(ElementType::int32, {});
  emit_convolution(node, 1, absent_tensor);
}

void read_matmul_integer(const NodeReader& node) {
  node.require_inputs(2, 4);
  if (node.has_input(2) && node.shape(2).element_count() != 1) node.unsupported("a zero point per row of A");
  state_zero_point(node, 0, 2, 0);
  state_zero_point(node, 1, 3, static_cast<std::int64_t>(node.shape(1).rank()) - 1);
  node.declare(ElementType::int32, {});
  emit_matmul(node, 0, 1);
}

// ONNX Runtime's own.

template <OperationKind kind>
void read_qlinear_binary(const NodeReader& node) {
  node.require_inputs(7, 8);
  state_quantization(node, 0, 1, 2);
  state_quantization(node, 3, 4, 5);
  node.declare(node.input().type, quantization_from(node, 6, 7));
  emit_binary(node, kind, 0, 3, ElementwiseAttributes{});
}

/// Input, its scale and zero point, the output's scale and zero point.
void state_unary(const NodeReader& node) {
  node.require_inputs(4, 5);
  state_quantization(node, 0, 1, 2);
  node.declare(node.input().type, quantization_from(node, 3, 4));
}

template <void (*emit)(const NodeReader&, ImageAxes)>
void read_qlinear_pool(const NodeReader& node) {
  state_unary(node);
  emit(node, node.integer("channels_last", 0) == 0 ? ImageAxes::channels_first : ImageAxes::channels_last);
}

void read_qlinear_sigmoid(const NodeReader& node) {
  state_unary(node);
  node.emit_same_shape(OperationKind::logistic);
}

void read_qlinear_leaky_relu(const NodeReader& node) {
  state_unary(node);
  node.emit_same_shape(OperationKind::leaky_relu, LeakyReluAttributes{node.real("alpha", static_cast<double>(0.01F))});
}

void read_qlinear_softmax(const NodeReader& node) {
  state_unary(node);
  const std::int64_t opset = node.integer("opset", 13);
  emit_softmax(node.with_opset(opset), node.integer("axis", opset < 13 ? 1 : -1));
}

/// The output's scale and zero point, then input, scale and zero point in turn.
void read_qlinear_concat(const NodeReader& node) {
  node.require_inputs(5, all_inputs);
  if (node.input_count() % 3 != 2) node.malformed(count_of(static_cast<std::int64_t>(node.input_count()), "input"));
  std::vector<std::size_t> positions;
  for (std::size_t i = 2; i < node.input_count(); i += 3) {
    if (!node.has_input(i)) node.malformed("input " + std::to_string(i) + " is missing");
    state_quantization(node, i, i + 1, i + 2);
    positions.push_back(i);
  }
  node.declare(node.input(2).type, quantization_from(node, 0, 1));
  emit_concat(node, positions, node.integer("axis", 0));
}

constexpr Operator quantized_table[] = {
    {"QuantizeLinear", read_quantize},
    {"DequantizeLinear", read_dequantize},
    {"DynamicQuantizeLinear", read_dynamic_quantize},
    {"QLinearConv", read_qlinear_convolution},
    {"QLinearMatMul", read_qlinear_matmul},
    {"ConvInteger", read_convolution_integer},
    {"MatMulInteger", read_matmul_integer},
    {"QuantizeLinear", read_quantize, Folding::never, 1, microsoft},
    {"DequantizeLinear", read_dequantize, Folding::never, 1, microsoft},
    {"QLinearAdd", read_qlinear_binary<OperationKind::add>, Folding::never, 1, microsoft},
    {"QLinearMul", read_qlinear_binary<OperationKind::mul>, Folding::never, 1, microsoft},
    {"QLinearConcat", read_qlinear_concat, Folding::never, 1, microsoft},
    {"QLinearGlobalAveragePool", read_qlinear_pool<emit_global_average_pool>, Folding::never, 1, microsoft},
    {"QLinearAveragePool", read_qlinear_pool<emit_average_pool>, Folding::never, 1, microsoft},
    {"QLinearSigmoid", read_qlinear_sigmoid, Folding::never, 1, microsoft},
    {"QLinearLeakyRelu", read_qlinear_leaky_relu, Folding::never, 1, microsoft},
    {"QLinearSoftmax", read_qlinear_softmax, Folding::never, 1, microsoft},
};

}  // namespace

Quantization quantization_from(const NodeReader& node, std::size_t scale, std::size_t zero_point, std::int64_t axis) {
  if (!node.has_input(scale)) node.malformed("input " + std::to_string(scale) + ", a scale, is missing");
  Quantization quantization{.scales = node.constant_reals(scale), .zero_points = {}, .axis = 0};
  if (node.has_input(zero_point)) quantization.zero_points = node.constant_integers(zero_point);
  else quantization.zero_points.assign(quantization.scales.size(), 0);
  if (quantization.zero_points.size() == 1) quantization.zero_points.assign(quantization.scales.size(), quantization.zero_points.front());
  if (quantization.zero_points.size() != quantization.scales.size())
    node.malformed(std::to_string(quantization.zero_points.size()) + " zero points for " + std::to_string(quantization.scales.size()) +
                   " scales");
  if (quantization.per_channel()) quantization.axis = axis;
  return quantization;
}

void state_quantization(const NodeReader& node, std::size_t position, std::size_t scale, std::size_t zero_point, std::int64_t axis) {
  node.graph().set_quantization(node.input_id(position), quantization_from(node, scale, zero_point, axis));
}

ElementType type_of_zero_point(const NodeReader& node, std::size_t zero_point) {
  if (node.has_input(zero_point)) return node.constant(zero_point).type();
  const std::int64_t code = node.integer("output_dtype", 0);
  if (code == 0) return ElementType::uint8;
  const auto type = code > 0 && code < 64 ? element_type_from(static_cast<std::int32_t>(code)) : std::nullopt;
  if (!type || !is_integer(*type)) node.unsupported("output_dtype " + std::to_string(code));
  return *type;
}

std::span<const Operator> quantized_operators() { return quantized_table; }

}  // namespace lastbit::onnx_format
