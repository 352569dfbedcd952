// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operators that work value by value, BatchNormalization, and Softmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/onnx/operators.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::onnx_format {
namespace {

using enum OperationKind;

void read_leaky_relu(const NodeReader& node) {
  node.require_inputs(1, 1);
  node.emit_same_shape(leaky_relu, LeakyReluAttributes{node.real("alpha", static_cast<double>(0.01F))});
}

// Binary operators.

/// Before opset 7 broadcasting was asked for, and along an axis.
void refuse_old_broadcast(const NodeReader& node) {
  if (node.opset() < 7 && node.has("axis")) node.unsupported("broadcasting along an axis (opsets before 7)");
}

/// A sized-1 axis is put before a shape until it has `rank` axes.
Shape extended(const Shape& shape, std::size_t rank) {
  std::vector<std::int64_t> sizes(rank - shape.rank(), 1);
  sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
  return Shape(std::move(sizes));
}

/// Whether both operands can be companions of images of this rank.
bool works_on_images(const NodeReader& node, std::size_t a, std::size_t b, const Shape& out) {
  if (out.rank() != 4 || !(node.graph().has_image(node.input_id(a)) || node.graph().has_image(node.input_id(b)))) return false;
  const auto fits = [&](std::size_t position) {
    return node.shape(position).rank() == 4 || node.graph().constant(node.input_id(position)) != nullptr;
  };
  return fits(a) && fits(b);
}

std::int32_t image_operand(const NodeReader& node, std::size_t position) {
  if (node.shape(position).rank() == 4) return node.image(position);
  Graph& graph = node.graph();
  const std::string& name = node.input(position).name;
  const std::int32_t whole = graph.reshaped(node.plain(position), extended(node.shape(position), 4), name + " (NCHW)");
  return graph.transposed(whole, {0, 2, 3, 1}, name + " (NHWC)");
}

template <OperationKind kind>
void read_binary(const NodeReader& node) {
  node.require_inputs(2, 2);
  refuse_old_broadcast(node);
  emit_binary(node, kind, 0, 1, ElementwiseAttributes{node.bounds(), false});
}

/// Two terms are an addition; more are one operation, summed in order.
void read_sum(const NodeReader& node) {
  node.require_inputs(1, all_inputs);
  for (std::size_t i = 0; i < node.input_count(); ++i)
    if (!node.has_input(i)) node.malformed("input " + std::to_string(i) + " is missing");
  if (node.input_count() == 1) {
    node.define(node.shape());
    return node.emit_plain(reshape, {node.plain()});
  }
  if (node.input_count() == 2) return read_binary<add>(node);
  std::vector<std::int32_t> terms;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    if (node.shape(i) != node.shape()) node.unsupported("a sum of more than two tensors of different shapes");
    terms.push_back(node.plain(i));
  }
  node.define(node.shape());
  node.emit_plain(add_n, std::move(terms), ElementwiseAttributes{node.bounds(), false});
}

void read_prelu(const NodeReader& node) {
  node.require_inputs(2, 2);
  // Before opset 7 a slope per channel was a vector along axis 1.
  const bool per_channel = node.opset() < 7 && node.shape(1).rank() == 1 && node.shape().rank() > 2 && node.shape(1)[0] == node.shape()[1];
  if (!per_channel) return emit_binary(node, prelu, 0, 1, std::monostate{});
  std::vector<std::int64_t> sizes(node.shape().rank() - 1, 1);
  sizes[0] = node.shape(1)[0];
  const std::int32_t slope = node.graph().reshaped(node.plain(1), Shape(std::move(sizes)), node.input(1).name + " (C11)");
  node.define(node.shape());
  node.emit_plain(prelu, {node.plain(), slope});
}

// Clip.

void read_integer_clip(const NodeReader& node) {
  IntegerRange range = range_of(node.input().type);
  const auto bound = [&](std::size_t position) {
    const Tensor& value = node.constant(position);
    if (value.type() != node.input().type || value.element_count() != 1) node.malformed("a bound is not one value of the input's type");
    return value.integer_at(0);
  };
  if (node.has_input(1)) range.min = bound(1);
  if (node.has_input(2)) range.max = bound(2);
  node.emit_same_shape(clip, ClipAttributes{{.activation = {}, .clamp = range, .real_clamp = {}}});
}

/// One bound after the other; either may be left out.
void read_computed_clip(const NodeReader& node) {
  node.define(node.shape());
  std::int32_t value = node.plain();
  constexpr std::array bounds{maximum, minimum};
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!node.has_input(i + 1)) continue;
    if (node.shape(i + 1).element_count() != 1) node.malformed("a bound is not one value");
    const std::int32_t bounded =
        node.graph().add_tensor(node.output().name + (i == 0 ? " (from below)" : " (from above)"), node.input().type, node.shape());
    node.graph().emit(bounds[i], {value, node.plain(i + 1)}, {bounded});
    value = bounded;
  }
  node.emit_plain(reshape, {value});
}

/// Folded, the bounds of the output say it all; the usual bounds of floats are operations of their own.
void read_clip(const NodeReader& node) {
  node.require_inputs(1, 3);
  if (node.folded()) return node.emit_same_shape(clip, ClipAttributes{node.bounds()});
  if (is_integer(node.input().type)) return read_integer_clip(node);
  for (std::size_t i = 1; i < node.input_count(); ++i)
    if (node.has_input(i) && node.graph().constant(node.input_id(i)) == nullptr && node.input(i).quantized == no_value)
      return read_computed_clip(node);
  const auto [low, high] = clip_bounds(node);
  if (low == 0 && high >= std::numeric_limits<float>::max()) return node.emit_same_shape(relu);
  if (low == 0 && high == 6) return node.emit_same_shape(relu6);
  if (low == -1 && high == 1) return node.emit_same_shape(relu_n1_to_1);
  if (!(low <= high)) node.malformed("min is not below max");
  node.emit_same_shape(clip, ClipAttributes{{.activation = {}, .clamp = {}, .real_clamp = std::array{low, high}}});
}

// Linear functions with constants.

std::int32_t scalar(const NodeReader& node, double value, const std::string& name) {
  const auto single = static_cast<float>(value);
  return node.graph().add_constant(node.output().name + name, Tensor::from<float>({1}, std::span(&single, 1)));
}

/// input * factor, then + offset within the bounds; the product is a tensor of its own.
void emit_linear(const NodeReader& node, std::int32_t factor, std::int32_t offset, const OutputBounds& bounds) {
  const bool images = node.prefers_image() && node.shape().rank() == 4;
  const std::int32_t source = images ? node.image() : node.plain();
  const ModelTensor& like = node.graph().tensor(source);
  const std::int32_t product = node.graph().add_tensor(node.output().name + " (scaled)", like.type, like.shape);
  node.graph().emit(mul, {source, factor}, {product});
  if (images) node.emit_image(add, {product, offset}, ElementwiseAttributes{bounds, false});
  else node.emit_plain(add, {product, offset}, ElementwiseAttributes{bounds, false});
}

void read_hard_sigmoid(const NodeReader& node) {
  node.require_inputs(1, 1);
  node.define(node.shape());
  const std::int32_t alpha = scalar(node, node.real("alpha", static_cast<double>(0.2F)), " (alpha)");
  const std::int32_t beta = scalar(node, node.real("beta", 0.5), " (beta)");
  emit_linear(node, alpha, beta, {.activation = {}, .clamp = {}, .real_clamp = std::array{0.0F, 1.0F}});
}

void read_batch_normalization(const NodeReader& node) {
  node.require_inputs(5, 5);
  const bool training = node.integer("training_mode", 0) != 0 || (node.opset() < 7 && node.integer("is_test", 0) == 0);
  if (training) node.unsupported("training");
  node.require_outputs(1);
  if (node.shape().rank() < 2) node.malformed("an input without channels");
  const auto channels = static_cast<std::size_t>(node.shape()[1]);
  const auto scale = node.constant_reals(1), offset = node.constant_reals(2), mean = node.constant_reals(3),
             variance = node.constant_reals(4);
  for (const auto* values : {&scale, &offset, &mean, &variance})
    if (values->size() != channels)
      node.malformed(std::to_string(values->size()) + " values for " + std::to_string(channels) + " channels");
  const double epsilon = node.real("epsilon", static_cast<double>(1e-5F));
  const bool images = node.prefers_image() && node.shape().rank() == 4;
  std::vector<std::int64_t> sizes(images ? 1 : node.shape().rank() - 1, 1);
  sizes[0] = node.shape()[1];
  Tensor factors(ElementType::float32, Shape(sizes)), offsets = factors;
  for (std::size_t c = 0; c < channels; ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + epsilon);
    factors.values<float>()[c] = static_cast<float>(factor);
    offsets.values<float>()[c] = static_cast<float>(offset[c] - mean[c] * factor);
  }
  node.define(node.shape());
  const std::string& name = node.output().name;
  const std::int32_t factor = node.graph().add_constant(name + " (factor)", std::move(factors));
  emit_linear(node, factor, node.graph().add_constant(name + " (offset)", std::move(offsets)), {});
}

// Softmax.

void read_softmax(const NodeReader& node) {
  node.require_inputs(1, 1);
  emit_softmax(node, node.integer("axis", node.opset() < 13 ? 1 : -1));
}

constexpr Operator elementwise_table[] = {
    {"Add", read_binary<add>, Folding::bounded, 2},
    {"Sub", read_binary<sub>, Folding::bounded, 2},
    {"Mul", read_binary<mul>, Folding::bounded, 2},
    {"Div", read_binary<OperationKind::div>},
    {"Sum", read_sum, Folding::bounded, all_inputs},
    {"Relu", read_one_to_one<relu>, Folding::any},
    {"LeakyRelu", read_leaky_relu, Folding::any},
    {"PRelu", read_prelu, Folding::any, 2},
    {"Clip", read_clip, Folding::any},
    {"Sigmoid", read_one_to_one<logistic>, Folding::any},
    {"Tanh", read_one_to_one<OperationKind::tanh>, Folding::any},
    {"Exp", read_one_to_one<OperationKind::exp>, Folding::any},
    {"HardSwish", read_one_to_one<hard_swish>, Folding::any},
    {"HardSigmoid", read_hard_sigmoid},
    {"BatchNormalization", read_batch_normalization},
    {"Softmax", read_softmax, Folding::any},
};

}  // namespace

std::array<float, 2> clip_bounds(const NodeReader& node) {
  using Limits = std::numeric_limits<float>;
  if (node.opset() < 11) {
    return {static_cast<float>(node.real("min", double{Limits::lowest()})), static_cast<float>(node.real("max", double{Limits::max()}))};
  }
  return {node.has_input(1) ? static_cast<float>(node.constant_real(1)) : Limits::lowest(),
          node.has_input(2) ? static_cast<float>(node.constant_real(2)) : Limits::max()};
}

void emit_binary(const NodeReader& node, OperationKind kind, std::size_t a, std::size_t b, Attributes attributes) {
  const auto out = broadcast(node.shape(a), node.shape(b));
  if (!out) node.malformed("inputs " + node.shape(a).text() + " and " + node.shape(b).text() + " do not broadcast");
  node.define(*out);
  if (works_on_images(node, a, b, *out))
    return node.emit_image(kind, {image_operand(node, a), image_operand(node, b)}, std::move(attributes));
  node.emit_plain(kind, {node.plain(a), node.plain(b)}, std::move(attributes));
}

/// Over one axis, which is moved to the end where it is not there; before opset 13 over all axes from this one on.
void emit_softmax(const NodeReader& node, std::int64_t stated_axis) {
  const Shape in = node.shape();
  if (in.rank() == 0) node.unsupported("the softmax of a scalar");
  const auto axis = static_cast<std::size_t>(node.axis_of(stated_axis, in.rank()));
  node.define(in);
  Graph& graph = node.graph();
  const std::string name = node.output().name;
  const ElementType type = node.output().type;
  const Quantization quantization = node.output().quantization;
  if (axis + 1 == in.rank()) return node.emit_plain(softmax, {node.plain()}, SoftmaxAttributes{});
  if (node.opset() < 13) {
    std::int64_t rows = 1;
    for (std::size_t i = 0; i < axis; ++i) rows *= in[i];
    const Shape flat{rows, in.element_count() / rows};
    const std::int32_t source = graph.reshaped(node.plain(), flat, node.input().name + " (rows for " + name + ")");
    const std::int32_t target = graph.add_tensor(name + " (rows)", type, flat, quantization);
    graph.state_merged(target, node.output().merged);
    graph.emit(softmax, {source}, {target}, SoftmaxAttributes{}, node.stated());
    return node.emit_plain(reshape, {target});
  }
  if (in.rank() == 4 && axis == 1) return node.emit_image(softmax, {node.image()}, SoftmaxAttributes{});
  std::vector<std::int64_t> permutation(in.rank());
  for (std::size_t i = 0; i < permutation.size(); ++i) permutation[i] = static_cast<std::int64_t>(i);
  std::swap(permutation[axis], permutation.back());
  const std::int32_t source = graph.transposed(node.plain(), permutation, node.input().name + " (last axis for " + name + ")");
  const std::int32_t target = graph.add_tensor(name + " (last axis)", type, graph.tensor(source).shape, quantization);
  graph.state_merged(target, node.output().merged);
  graph.emit(softmax, {source}, {target}, SoftmaxAttributes{}, node.stated());
  node.emit_plain(transpose, {target}, TransposeAttributes{permutation});
}

std::span<const Operator> elementwise_operators() { return elementwise_table; }

}  // namespace lastbit::onnx_format
