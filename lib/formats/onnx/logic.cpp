// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Comparisons, And, Or, Xor, Not, Where, and casts to and from bool.
#include <algorithm>

#include "formats/onnx/operators.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::onnx_format {
namespace {

std::int32_t truth(const NodeReader& node, bool value) {
  Tensor tensor(ElementType::boolean, {});
  tensor.values<bool>()[0] = value;
  return node.graph().add_constant(node.output().name + (value ? " (true)" : " (false)"), std::move(tensor));
}

std::int32_t number(const NodeReader& node, ElementType type, int value) {
  Tensor one(type, {});
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T>) one.values<T>()[0] = static_cast<T>(value);
  });
  return node.graph().add_constant(node.output().name + " (" + std::to_string(value) + ")", std::move(one));
}

Shape joined(const NodeReader& node, const Shape& a, const Shape& b) {
  const auto shape = broadcast(a, b);
  if (!shape) node.malformed("inputs " + a.text() + " and " + b.text() + " do not broadcast");
  return *shape;
}

/// `a` where the condition holds, else `b`; of the output's type.
void choose(const NodeReader& node, std::int32_t condition, std::int32_t a, std::int32_t b) {
  const Graph& graph = node.graph();
  node.declare(graph.tensor(a).type, {});
  node.define(joined(node, graph.tensor(condition).shape, joined(node, graph.tensor(a).shape, graph.tensor(b).shape)));
  node.emit_plain(OperationKind::select, {condition, a, b});
}

/// Where the order of the operands is the other one, so are they.
template <OperationKind kind, std::size_t first>
void read_comparison(const NodeReader& node) {
  node.require_inputs(2, 2);
  node.declare(ElementType::boolean, {});
  emit_binary(node, kind, first, 1 - first, std::monostate{});
}

enum class Connective : std::uint8_t { conjunction, disjunction, exclusion };

template <Connective connective>
void read_connective(const NodeReader& node) {
  node.require_inputs(2, 2);
  const std::int32_t a = node.plain(0), b = node.plain(1);
  if (connective == Connective::conjunction) return choose(node, a, b, a);
  if (connective == Connective::disjunction) return choose(node, a, a, b);
  Graph& graph = node.graph();
  const std::int32_t opposite = graph.add_tensor(node.output().name + " (not b)", ElementType::boolean, graph.tensor(b).shape);
  graph.emit(OperationKind::select, {b, truth(node, false), truth(node, true)}, {opposite});
  choose(node, a, opposite, b);
}

void read_not(const NodeReader& node) {
  node.require_inputs(1, 1);
  choose(node, node.plain(), truth(node, false), truth(node, true));
}

void read_where(const NodeReader& node) {
  node.require_inputs(3, 3);
  choose(node, node.plain(0), node.plain(1), node.plain(2));
}

constexpr Operator logic_table[] = {
    {"Less", read_comparison<OperationKind::less, 0>, Folding::never, 2, {}, 7},
    {"LessOrEqual", read_comparison<OperationKind::less_or_equal, 0>, Folding::never, 2},
    {"Greater", read_comparison<OperationKind::less, 1>, Folding::never, 2, {}, 7},
    {"GreaterOrEqual", read_comparison<OperationKind::less_or_equal, 1>, Folding::never, 2},
    {"Equal", read_comparison<OperationKind::equal, 0>, Folding::never, 2, {}, 7},
    {"And", read_connective<Connective::conjunction>, Folding::never, 2, {}, 7},
    {"Or", read_connective<Connective::disjunction>, Folding::never, 2, {}, 7},
    {"Xor", read_connective<Connective::exclusion>, Folding::never, 2, {}, 7},
    {"Not", read_not, Folding::never, 1, {}, 1},
    {"Where", read_where},
};

}  // namespace

void emit_choice(const NodeReader& node) {
  Graph& graph = node.graph();
  const std::int32_t condition = graph.reshaped(node.plain(0), {}, node.output().name + " (condition)");
  choose(node, condition, node.plain(1), node.plain(2));
}

void emit_truth_cast(const NodeReader& node, ElementType to) {
  if (node.input().type == ElementType::boolean) return choose(node, node.plain(), number(node, to, 1), number(node, to, 0));
  Graph& graph = node.graph();
  const std::int32_t zero = graph.add_tensor(node.output().name + " (is 0)", ElementType::boolean, node.shape());
  graph.emit(OperationKind::equal, {node.plain(), number(node, node.input().type, 0)}, {zero});
  choose(node, zero, truth(node, false), truth(node, true));
}

std::span<const Operator> logic_operators() { return logic_table; }

}  // namespace lastbit::onnx_format
