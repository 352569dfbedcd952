// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Functions of real numbers: Pow, Sqrt, Log, Erf, Gelu, Neg, Abs, Reciprocal, Max, Min, Expand; Elu, Floor, Ceil, Round; ReduceSum, ReduceMax, ReduceMin, ArgMax, ArgMin;
// LayerNormalization, InstanceNormalization. What has no operation of its own is made of those that there are.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "formats/onnx/operators.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::onnx_format {
namespace {

using enum OperationKind;

/// RealSteps of one node in ONNX's layout. Each makes a tensor of the node's type; the last one makes its output.
class RealSteps {
 public:
  explicit RealSteps(const NodeReader& node) : node_(node), graph_(node.graph()) {
    if (node.input().type != ElementType::float32) node.unsupported("an input of " + std::string(name_of(node.input().type)));
  }

  [[nodiscard]] std::int32_t number(double value) { return constant(Tensor::from<float>({}, std::vector{static_cast<float>(value)})); }
  [[nodiscard]] std::int32_t constant(Tensor values) { return graph_.add_constant(label("constant"), std::move(values)); }
  [[nodiscard]] const Shape& shape(std::int32_t tensor) const { return graph_.tensor(tensor).shape; }
  /// Of the shape of its first input.
  [[nodiscard]] std::int32_t like(OperationKind kind, std::vector<std::int32_t> inputs) {
    const Shape shape = graph_.tensor(inputs[0]).shape;
    return make(kind, std::move(inputs), shape, default_attributes(kind));
  }
  [[nodiscard]] std::int32_t make(OperationKind kind, std::vector<std::int32_t> inputs, Shape shape, Attributes attributes) {
    const std::int32_t target = graph_.add_tensor(label(std::string(name_of(kind))), ElementType::float32, std::move(shape));
    graph_.emit(kind, std::move(inputs), {target}, std::move(attributes));
    return target;
  }
  [[nodiscard]] std::int32_t mean_over(std::int32_t tensor, const std::vector<std::int64_t>& axes) {
    std::vector<std::int64_t> sizes(shape(tensor).sizes().begin(), shape(tensor).sizes().end());
    for (const std::int64_t axis : axes) sizes[static_cast<std::size_t>(axis)] = 1;
    return make(mean, {tensor}, Shape(std::move(sizes)), MeanAttributes{.axes = axes, .keep_dims = true});
  }
  [[nodiscard]] std::int32_t reshaped(std::int32_t tensor, Shape shape) {
    return graph_.reshaped(tensor, std::move(shape), label("reshaped"));
  }
  [[nodiscard]] std::int32_t transposed(std::int32_t tensor, std::vector<std::int64_t> permutation) {
    return graph_.transposed(tensor, std::move(permutation), label("transposed"));
  }

 private:
  [[nodiscard]] std::string label(const std::string& what) const { return node_.output().name + " (" + what + ")"; }

  const NodeReader& node_;
  Graph& graph_;
};

/// A square is a product.
void read_pow(const NodeReader& node) {
  node.require_inputs(2, 2);
  const Tensor* const exponent = node.graph().constant(node.input_id(1));
  const bool is_square = exponent != nullptr && exponent->type() == ElementType::float32 &&
                         broadcast(node.shape(), exponent->shape()) == node.shape() &&
                         std::ranges::all_of(exponent->values<float>(), [](float value) { return value == 2; });
  if (is_square) emit_binary(node, mul, 0, 0, ElementwiseAttributes{});
  else emit_binary(node, OperationKind::pow, 0, 1, std::monostate{});
}

/// x * 1/2 * (1 + erf(x / sqrt 2)), or by tanh.
void read_gelu(const NodeReader& node) {
  node.require_inputs(1, 1);
  const std::string approximate = node.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") node.unsupported("approximate '" + approximate + "'");
  node.define(node.shape());
  RealSteps steps(node);
  const std::int32_t x = node.plain();
  std::int32_t inner = x;
  if (approximate == "tanh") {
    const std::int32_t cube = steps.like(mul, {steps.like(mul, {x, x}), x});
    inner = steps.like(add, {x, steps.like(mul, {cube, steps.number(0.044715)})});
    inner = steps.like(OperationKind::tanh, {steps.like(mul, {inner, steps.number(std::sqrt(2 / std::acos(-1.0)))})});
  } else {
    inner = steps.like(OperationKind::erf, {steps.like(mul, {x, steps.number(std::sqrt(0.5))})});
  }
  const std::int32_t half = steps.like(mul, {x, steps.number(0.5)});
  node.emit_plain(mul, {half, steps.like(add, {inner, steps.number(1)})});
}

void read_neg(const NodeReader& node) {
  node.require_inputs(1, 1);
  if (is_integer(node.input().type)) return node.emit_same_shape(neg);
  node.define(node.shape());
  RealSteps steps(node);
  node.emit_plain(mul, {node.plain(), steps.number(-1)});
}

void read_abs(const NodeReader& node) {
  node.require_inputs(1, 1);
  if (is_integer(node.input().type)) node.emit_same_shape(OperationKind::abs);
  else node.emit_same_shape(leaky_relu, LeakyReluAttributes{-1});
}

void read_reciprocal(const NodeReader& node) {
  node.require_inputs(1, 1);
  node.define(node.shape());
  RealSteps steps(node);
  node.emit_plain(OperationKind::div, {steps.number(1), node.plain()});
}

/// Two at a time, from the first to the last.
template <OperationKind kind>
void read_extreme(const NodeReader& node) {
  node.require_inputs(1, all_inputs);
  for (std::size_t i = 0; i < node.input_count(); ++i)
    if (!node.has_input(i)) node.malformed("input " + std::to_string(i) + " is missing");
  if (node.input_count() == 2) return emit_binary(node, kind, 0, 1, std::monostate{});
  RealSteps steps(node);
  std::int32_t found = node.plain();
  Shape shape = node.shape();
  for (std::size_t i = 1; i < node.input_count(); ++i) {
    const auto joined = broadcast(shape, node.shape(i));
    if (!joined) node.malformed("inputs " + shape.text() + " and " + node.shape(i).text() + " do not broadcast");
    shape = *joined;
    found = steps.make(kind, {found, node.plain(i)}, shape, std::monostate{});
  }
  node.define(shape);
  node.emit_plain(reshape, {found});
}

void read_elu(const NodeReader& node) {
  node.require_inputs(1, 1);
  node.emit_same_shape(elu, LeakyReluAttributes{node.real("alpha", 1)});
}

/// -floor(-x)
void read_ceil(const NodeReader& node) {
  node.require_inputs(1, 1);
  node.define(node.shape());
  RealSteps steps(node);
  node.emit_plain(neg, {steps.like(OperationKind::floor, {steps.like(neg, {node.plain()})})});
}

/// Times 1: a product broadcasts.
void read_expand(const NodeReader& node) {
  node.require_inputs(2, 2);
  std::vector<std::int64_t> sizes = node.constant_integers(1);
  for (const std::int64_t size : sizes)
    if (size < 1 || size > largest_parameter) node.malformed("a size of " + std::to_string(size));
  const auto shape = broadcast(node.shape(), Shape(sizes));
  if (!shape) node.malformed("input " + node.shape().text() + " does not broadcast to " + Shape(sizes).text());
  if (shape->rank() > largest_rank) node.malformed("more than 8 dimensions");
  RealSteps steps(node);
  const std::size_t missing = shape->rank() - node.shape().rank();
  std::vector<std::int64_t> repeated((*shape).sizes().begin(), (*shape).sizes().end());
  for (std::size_t axis = missing; axis < repeated.size(); ++axis)
    if (node.shape()[axis - missing] != 1) repeated[axis] = 1;
  node.graph().budget().spend(static_cast<std::size_t>(Shape(repeated).element_count()) * sizeof(float), node.graph().place());
  Tensor ones(ElementType::float32, Shape(repeated));
  std::ranges::fill(ones.values<float>(), 1.0F);
  node.define(*shape);
  node.emit_plain(mul, {node.plain(), steps.constant(std::move(ones))});
}

// Reductions.

struct Reduction {
  std::vector<std::int64_t> axes;  ///< ascending
  Shape single;                    ///< with size 1 for each
  Shape out;
};

/// Nothing where it reduces no axis.
std::optional<Reduction> reduction_of(const NodeReader& node) {
  node.require_inputs(1, 2);
  const Shape& in = node.shape();
  Reduction reduction{node.axes(1, in.rank()), {}, {}};
  if (in.rank() == 0 || (reduction.axes.empty() && node.integer("noop_with_empty_axes", 0) != 0)) return std::nullopt;
  if (reduction.axes.empty()) {
    reduction.axes.resize(in.rank());
    std::iota(reduction.axes.begin(), reduction.axes.end(), std::int64_t{0});
  }
  std::vector<std::int64_t> single(in.sizes().begin(), in.sizes().end()), out;
  for (std::size_t axis = 0; axis < single.size(); ++axis) {
    const bool reduced = std::ranges::binary_search(reduction.axes, static_cast<std::int64_t>(axis));
    if (reduced) single[axis] = 1;
    if (!reduced || node.integer("keepdims", 1) != 0) out.push_back(single[axis]);
  }
  reduction.single = Shape(std::move(single));
  reduction.out = Shape(std::move(out));
  return reduction;
}

void copy_input(const NodeReader& node) {
  node.define(node.shape());
  node.emit_plain(reshape, {node.plain()});
}

/// As many times the mean as there are terms.
void read_reduce_sum(const NodeReader& node) {
  const auto reduction = reduction_of(node);
  if (!reduction) return copy_input(node);
  RealSteps steps(node);
  const std::int32_t average = steps.mean_over(node.plain(), reduction->axes);
  const std::int64_t terms = node.shape().element_count() / reduction->single.element_count();
  node.define(reduction->out);
  node.emit_plain(reshape, {steps.like(mul, {average, steps.number(static_cast<double>(terms))})});
}

/// The pool of one column for each output: what is reduced is moved to the end.
std::int32_t largest_of(RealSteps& steps, std::int32_t values, const Reduction& reduction) {
  std::vector<std::int64_t> permutation;
  const auto rank = static_cast<std::int64_t>(steps.shape(values).rank());
  for (std::int64_t axis = 0; axis < rank; ++axis)
    if (!std::ranges::binary_search(reduction.axes, axis)) permutation.push_back(axis);
  permutation.insert(permutation.end(), reduction.axes.begin(), reduction.axes.end());
  const std::int64_t columns = reduction.single.element_count(), length = steps.shape(values).element_count() / columns;
  const std::int32_t moved = std::ranges::is_sorted(permutation) ? values : steps.transposed(values, permutation);
  const Pool2dAttributes attributes{.filter = {length, 1}, .stride = {1, 1}, .padding = {}};
  return steps.make(max_pool2d, {steps.reshaped(moved, {columns, length, 1, 1})}, {columns, 1, 1, 1}, attributes);
}

void read_reduce_max(const NodeReader& node) {
  const auto reduction = reduction_of(node);
  if (!reduction) return copy_input(node);
  RealSteps steps(node);
  node.define(reduction->out);
  node.emit_plain(reshape, {largest_of(steps, node.plain(), *reduction)});
}

void read_reduce_min(const NodeReader& node) {
  const auto reduction = reduction_of(node);
  if (!reduction) return copy_input(node);
  RealSteps steps(node);
  const std::int32_t minus = steps.number(-1), largest = largest_of(steps, steps.like(mul, {node.plain(), minus}), *reduction);
  node.define(reduction->out);
  node.emit_plain(reshape, {steps.like(mul, {largest, minus})});
}

template <OperationKind kind>
void read_extreme_index(const NodeReader& node) {
  node.require_inputs(1, 1);
  node.refuse("select_last_index", "select_last_index");
  const auto axis = static_cast<std::size_t>(node.axis_of(node.integer("axis", 0), node.shape().rank()));
  std::vector<std::int64_t> sizes(node.shape().sizes().begin(), node.shape().sizes().end());
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  node.declare(ElementType::int64, {});
  const ArgmaxAttributes attributes{static_cast<std::int64_t>(axis)};
  if (node.integer("keepdims", 1) == 0) {
    node.define(Shape(sizes));
    return node.emit_plain(kind, {node.plain()}, attributes);
  }
  Graph& graph = node.graph();
  const std::int32_t index = graph.add_tensor(node.output().name + " (index)", ElementType::int64, Shape(sizes));
  graph.emit(kind, {node.plain()}, {index}, attributes);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  node.define(Shape(std::move(sizes)));
  node.emit_plain(reshape, {index});
}

// Normalisations.

/// (x - mean) / sqrt(variance + epsilon) * scale + offset, mean and variance over the axes. Where they are asked for, the mean and the inverse
/// of the root are outputs, too.
void emit_normalization(const NodeReader& node, const std::vector<std::int64_t>& axes, std::int32_t scale, std::int32_t offset) {
  RealSteps steps(node);
  const std::int32_t x = node.plain(), average = steps.mean_over(x, axes);
  const std::int32_t centred = steps.like(sub, {x, average});
  const std::int32_t variance = steps.mean_over(steps.like(mul, {centred, centred}), axes);
  const std::int32_t epsilon = steps.number(node.real("epsilon", static_cast<double>(1e-5F)));
  const std::int32_t deviation = steps.like(OperationKind::sqrt, {steps.like(add, {variance, epsilon})});
  const std::int32_t normal = steps.like(OperationKind::div, {centred, deviation});
  const auto show = [&](std::size_t position, OperationKind kind, std::vector<std::int32_t> inputs) {
    if (!node.has_output(position)) return;
    node.only(position).define(steps.shape(average));
    node.only(position).emit_plain(kind, std::move(inputs));
  };
  show(1, reshape, {average});
  show(2, OperationKind::div, {steps.number(1), deviation});
  node.define(node.shape());
  if (offset == absent_tensor) return node.emit_plain(mul, {normal, scale});
  node.emit_plain(add, {steps.like(mul, {normal, scale}), offset});
}

void read_layer_normalization(const NodeReader& node) {
  node.require_inputs(2, 3);
  node.require_outputs(3);
  std::vector<std::int64_t> axes;
  const auto rank = static_cast<std::int64_t>(node.shape().rank());
  for (std::int64_t axis = node.axis_of(node.integer("axis", -1), node.shape().rank()); axis < rank; ++axis) axes.push_back(axis);
  for (std::size_t i = 1; i < 3; ++i)
    if (node.has_input(i) && broadcast(node.shape(), node.shape(i)) != node.shape())
      node.malformed("input " + std::to_string(i) + " does not fit");
  emit_normalization(node, axes, node.plain(1), node.plain(2));
}

void read_instance_normalization(const NodeReader& node) {
  node.require_inputs(3, 3);
  node.require_outputs(1);
  const Shape& in = node.shape();
  if (in.rank() < 3) node.unsupported("an input of " + in.text());
  std::vector<std::int64_t> axes, sizes(in.rank() - 1, 1);
  for (std::size_t axis = 2; axis < in.rank(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  sizes[0] = in[1];
  const auto per_channel = [&](std::size_t position) {
    if (node.shape(position).element_count() != in[1])
      node.malformed("input " + std::to_string(position) + " is not one value per channel");
    return node.graph().reshaped(node.plain(position), Shape(sizes), node.input(position).name + " (C11)");
  };
  const std::int32_t scale = per_channel(1), offset = per_channel(2);
  emit_normalization(node, axes, scale, offset);
}

constexpr std::int64_t any_opset = 1;

constexpr Operator real_table[] = {
    {"Pow", read_pow, Folding::never, 2, {}, 7},
    {"Sqrt", read_one_to_one<OperationKind::sqrt>},
    {"Log", read_one_to_one<OperationKind::log>},
    {"Erf", read_one_to_one<OperationKind::erf>},
    {"Gelu", read_gelu},
    {"Gelu", read_gelu, Folding::never, 1, microsoft},
    {"Neg", read_neg},
    {"Abs", read_abs},
    {"Reciprocal", read_reciprocal},
    {"Max", read_extreme<maximum>, Folding::never, all_inputs, {}, any_opset},
    {"Min", read_extreme<minimum>, Folding::never, all_inputs, {}, any_opset},
    {"Expand", read_expand},
    {"ReduceSum", read_reduce_sum, Folding::never, 1, {}, any_opset},
    {"ReduceMax", read_reduce_max, Folding::never, 1, {}, any_opset},
    {"ReduceMin", read_reduce_min, Folding::never, 1, {}, any_opset},
    {"ArgMax", read_extreme_index<argmax>, Folding::never, 1, {}, any_opset},
    {"ArgMin", read_extreme_index<argmin>, Folding::never, 1, {}, any_opset},
    {"Elu", read_elu},
    {"Floor", read_one_to_one<OperationKind::floor>},
    {"Ceil", read_ceil},
    {"Round", read_one_to_one<round_half_even>, Folding::never, 1, {}, 11},
    {"LayerNormalization", read_layer_normalization},
    {"InstanceNormalization", read_instance_normalization},
};

}  // namespace

std::span<const Operator> real_operators() { return real_table; }

}  // namespace lastbit::onnx_format
