// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// MatMul, Gemm; the rest of QLinearMatMul and MatMulInteger. A product with a constant matrix is fully_connected.
#include <algorithm>

#include "formats/onnx/operators.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::onnx_format {
namespace {

void read_matmul(const NodeReader& node) {
  node.require_inputs(2, 2);
  emit_matmul(node, 0, 1);
}

/// C as one value per column, or nothing: it has other values per row, or is computed.
std::int32_t bias_per_column(const NodeReader& node, std::int64_t columns) {
  static_cast<void>(node.plain(2));  // of dequantised values that are constant, makes the constant
  const Tensor* const values = node.graph().constant(node.input_id(2));
  if (values == nullptr) return absent_tensor;
  const Shape shape = values->shape();
  const bool is_row = shape.element_count() == columns && (columns == 1 || shape.back() == columns);
  const double beta = node.real("beta", 1);
  if (is_integer(values->type())) {
    if (!is_row || beta != 1) node.unsupported("a quantised C that is not one value per column, or beta");
    return node.plain(2);
  }
  if ((!is_row && shape.element_count() != 1) || values->type() != ElementType::float32) return absent_tensor;
  Tensor bias(ElementType::float32, {columns});
  for (std::size_t i = 0; i < bias.values<float>().size(); ++i)
    bias.values<float>()[i] = static_cast<float>(beta * double{values->values<float>()[is_row ? i : 0]});
  return node.graph().add_constant(node.input(2).name + " (bias)", std::move(bias));
}

std::int32_t scaled(const NodeReader& node, std::int32_t source, double factor, const std::string& name) {
  if (factor == 1) return source;
  Graph& graph = node.graph();
  const auto single = static_cast<float>(factor);
  const ModelTensor like = graph.tensor(source);
  if (like.type != ElementType::float32) node.unsupported("alpha or beta with quantised operands");
  const std::int32_t constant = graph.add_constant(name + " (factor)", Tensor::from<float>({1}, std::span(&single, 1)));
  const std::int32_t product = graph.add_tensor(name, like.type, like.shape);
  graph.emit(OperationKind::mul, {source, constant}, {product});
  return product;
}

/// The matrix [outputs, inputs] of a fully connected layer from a constant B; alpha is part of its values, or of the scales of its codes.
std::int32_t dense_weights(const NodeReader& node, bool transposed_b, double alpha) {
  Graph& graph = node.graph();
  const std::string name = node.input(1).name;
  std::int32_t weights = node.plain(1);
  if (!transposed_b) weights = graph.transposed(weights, {1, 0}, name + " (OI)");
  if (alpha == 1) return weights;
  Tensor values = *graph.tensor(weights).constant;
  Quantization quantization = graph.tensor(weights).quantization;
  for (double& scale : quantization.scales) scale *= alpha;
  if (values.type() == ElementType::float32)
    for (float& value : values.values<float>()) value = static_cast<float>(alpha * double{value});
  return graph.add_constant(name + " (OI, alpha)", std::move(values), std::move(quantization));
}

/// The product alone, as the output or as a tensor that C is yet to be added to.
std::int32_t emit_product(const NodeReader& node, std::int32_t a, std::int32_t target, const OutputBounds& bounds) {
  Graph& graph = node.graph();
  const bool transposed_a = node.integer("transA", 0) != 0, transposed_b = node.integer("transB", 0) != 0;
  const double alpha = node.real("alpha", 1);
  if (alpha == 1) {
    graph.emit(OperationKind::matmul, {a, node.plain(1)}, {target}, MatmulAttributes{transposed_a, transposed_b, bounds}, node.stated());
    return target;
  }
  const std::int32_t factor = scaled(node, a, alpha, node.output().name + " (alpha * A)");
  graph.emit(OperationKind::matmul, {factor, node.plain(1)}, {target}, MatmulAttributes{transposed_a, transposed_b, bounds}, node.stated());
  return target;
}

void read_gemm(const NodeReader& node) {
  node.require_inputs(2, 3);
  const Shape a = node.shape(0), b = node.shape(1);
  const bool transposed_a = node.integer("transA", 0) != 0, transposed_b = node.integer("transB", 0) != 0;
  if (a.rank() != 2 || b.rank() != 2) node.malformed("A and B need two dimensions");
  const std::int64_t rows = a[transposed_a ? 1 : 0], columns = b[transposed_b ? 0 : 1];
  if (a[transposed_a ? 0 : 1] != b[transposed_b ? 1 : 0]) node.malformed("A is " + a.text() + ", B is " + b.text());
  node.define({rows, columns});
  Graph& graph = node.graph();
  const std::string name = node.output().name;
  const bool constant_b = graph.tensor(node.plain(1)).constant.has_value();
  const std::int32_t bias = constant_b && node.has_input(2) ? bias_per_column(node, columns) : absent_tensor;
  const bool adds_later = node.has_input(2) && bias == absent_tensor && node.real("beta", 1) != 0;
  if (adds_later && is_integer(node.input().type)) node.unsupported("a computed C with quantised operands");
  const OutputBounds bounds = adds_later ? OutputBounds{} : node.bounds();
  std::int32_t left = node.plain(0);
  const Value output = node.output();
  const std::int32_t target =
      adds_later ? graph.add_tensor(name + " (product)", output.type, output.shape) : graph.begin_plain(node.output_id());
  if (constant_b) {
    if (transposed_a) left = graph.transposed(left, {1, 0}, node.input(0).name + " (rows for " + name + ")");
    const std::int32_t weights = dense_weights(node, transposed_b, node.real("alpha", 1));
    graph.emit(OperationKind::fully_connected, {left, weights, bias}, {target},
               FullyConnectedAttributes{.bounds = bounds, .stated_by_input = !transposed_b}, node.stated());
  } else {
    static_cast<void>(emit_product(node, left, target, bounds));
  }
  if (!adds_later) return;
  const std::int32_t addend = scaled(node, node.plain(2), node.real("beta", 1), name + " (beta * C)");
  node.emit_plain(OperationKind::add, {target, addend}, ElementwiseAttributes{node.bounds(), false});
}

constexpr Operator matrix_table[] = {
    {"MatMul", read_matmul, Folding::bounded, 2},
    {"Gemm", read_gemm, Folding::bounded, 3},
};

}  // namespace

/// A vector on the left is a row, on the right a column; the axis that it brings is taken away again.
void emit_matmul(const NodeReader& node, std::size_t a_position, std::size_t b_position) {
  Graph& graph = node.graph();
  const bool is_stored = graph.constant(node.input_id(b_position)) != nullptr;
  std::int32_t left = node.plain(a_position), right = node.plain(b_position);
  const Shape stated_a = graph.tensor(left).shape, stated_b = graph.tensor(right).shape;
  if (stated_a.rank() < 1 || stated_b.rank() < 1) node.malformed("a product of " + stated_a.text() + " and " + stated_b.text());
  const bool is_row = stated_a.rank() == 1, is_column = stated_b.rank() == 1;
  const std::string name = node.output().name;
  if (is_row) left = graph.reshaped(left, {1, stated_a[0]}, name + " (row)");
  if (is_column) right = graph.reshaped(right, {stated_b[0], 1}, name + " (column)");
  const Shape a = graph.tensor(left).shape, b = graph.tensor(right).shape;
  if (a.back() != b[b.rank() - 2]) node.malformed("rows of " + std::to_string(a.back()) + " values meet " + b.text());
  const bool dense = b.rank() == 2 && is_stored;
  std::vector<std::int64_t> sizes(a.sizes().begin(), a.sizes().end());
  if (!dense) {
    const auto lead = broadcast(Shape({a.sizes().begin(), a.sizes().end() - 2}), Shape({b.sizes().begin(), b.sizes().end() - 2}));
    if (!lead) node.malformed("leading dimensions of " + a.text() + " and " + b.text() + " do not broadcast");
    sizes.assign(lead->sizes().begin(), lead->sizes().end());
    sizes.push_back(a[a.rank() - 2]);
    sizes.push_back(b.back());
  }
  sizes.back() = b.back();
  std::vector<std::int64_t> stated = sizes;
  if (is_column) stated.pop_back();
  if (is_row) stated.erase(stated.end() - (is_column ? 1 : 2));
  node.define(Shape(std::move(stated)));
  const Value output = node.output();
  const bool turns = is_row || is_column;
  const std::int32_t target = turns ? graph.add_tensor(name + " (matrix)", output.type, Shape(std::move(sizes)), output.quantization)
                                    : graph.begin_plain(node.output_id());
  if (turns) graph.state_merged(target, output.merged);
  if (dense) {
    const std::int32_t weights = graph.transposed(right, {1, 0}, node.input(b_position).name + " (OI)");
    graph.emit(OperationKind::fully_connected, {left, weights, absent_tensor}, {target},
               FullyConnectedAttributes{.bounds = node.bounds(), .stated_by_input = true}, node.stated());
  } else {
    graph.emit(OperationKind::matmul, {left, right}, {target}, MatmulAttributes{false, false, node.bounds()}, node.stated());
  }
  if (turns) node.emit_plain(OperationKind::reshape, {target});
}

std::span<const Operator> matrix_operators() { return matrix_table; }

}  // namespace lastbit::onnx_format
