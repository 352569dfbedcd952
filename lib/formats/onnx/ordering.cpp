// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What orders, sums or picks values along axes: TopK, CumSum, LogSoftmax, GatherND at constant indices, OneHot.
#include <numeric>

#include "formats/onnx/operators.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::onnx_format {
namespace {

using enum OperationKind;
using Sizes = std::vector<std::int64_t>;

Sizes sizes_of(const Shape& shape) { return {shape.sizes().begin(), shape.sizes().end()}; }

void require_real(const NodeReader& node) {
  if (node.input().type != ElementType::float32) node.unsupported("an input of " + std::string(name_of(node.input().type)));
}

/// Values, indices; before opset 10 the count is an attribute, before 11 the largest are meant.
void read_top_k(const NodeReader& node) {
  const bool by_input = node.opset() >= 10;
  node.require_inputs(by_input ? 2 : 1, by_input ? 2 : 1);
  node.require_outputs(2);
  require_real(node);
  const Sizes counts = by_input ? node.constant_integers(1) : Sizes{node.integer("k", 0)};
  const auto axis = static_cast<std::size_t>(node.axis_of(node.integer("axis", -1), node.shape().rank()));
  Sizes sizes = sizes_of(node.shape());
  if (counts.size() != 1 || counts[0] < 1 || counts[0] > sizes[axis])
    node.malformed("the count is not between 1 and " + std::to_string(sizes[axis]));
  sizes[axis] = counts[0];
  Graph& graph = node.graph();
  const std::string name = node.output().name;
  node.define(Shape(sizes));
  const std::int32_t values = graph.begin_plain(node.output_id());
  std::int32_t indices = absent_tensor;
  if (node.has_output(1)) {
    node.declare(ElementType::int64, {}, 1);
    node.define(Shape(sizes), 1);
    indices = graph.begin_plain(node.output_id(1));
  } else {
    indices = graph.add_tensor(name + " (indices)", ElementType::int64, Shape(sizes));
  }
  graph.emit(top_k, {node.plain()}, {values, indices},
             TopKAttributes{.axis = static_cast<std::int64_t>(axis), .smallest = node.integer("largest", 1) == 0});
}

void read_cumsum(const NodeReader& node) {
  node.require_inputs(2, 2);
  require_real(node);
  const Sizes axis = node.constant_integers(1);
  if (axis.size() != 1) node.malformed("the axis is not one number");
  node.define(node.shape());
  node.emit_plain(cumsum, {node.plain()},
                  CumsumAttributes{.axis = node.axis_of(axis[0], node.shape().rank()),
                                   .exclusive = node.integer("exclusive", 0) != 0,
                                   .reverse = node.integer("reverse", 0) != 0});
}

/// Over one axis, which is moved to the end where it is not there; before opset 13 over all axes from this one on.
void read_log_softmax(const NodeReader& node) {
  node.require_inputs(1, 1);
  require_real(node);
  const Shape in = node.shape();
  const bool flattens = node.opset() < 13;
  const auto axis = static_cast<std::size_t>(node.axis_of(node.integer("axis", flattens ? 1 : -1), in.rank()));
  node.define(in);
  if (axis + 1 == in.rank()) return node.emit_plain(log_softmax, {node.plain()});
  Graph& graph = node.graph();
  const std::string name = node.output().name;
  if (flattens) {
    const auto rows =
        std::accumulate(in.sizes().begin(), in.sizes().begin() + static_cast<std::ptrdiff_t>(axis), std::int64_t{1}, std::multiplies<>());
    const Shape flat{rows, in.element_count() / rows};
    const std::int32_t from = graph.reshaped(node.plain(), flat, name + " (rows)");
    const std::int32_t to = graph.add_tensor(name + " (of rows)", ElementType::float32, flat);
    graph.emit(log_softmax, {from}, {to});
    return node.emit_plain(reshape, {to});
  }
  Sizes permutation(in.rank());
  std::iota(permutation.begin(), permutation.end(), std::int64_t{0});
  std::swap(permutation[axis], permutation.back());
  const std::int32_t from = graph.transposed(node.plain(), permutation, name + " (last axis)");
  const std::int32_t to = graph.add_tensor(name + " (over the last axis)", ElementType::float32, graph.tensor(from).shape);
  graph.emit(log_softmax, {from}, {to});
  node.emit_plain(transpose, {to}, TransposeAttributes{permutation});
}

/// The places of entries of the first `depth` axes, as one number each.
std::vector<std::int32_t> flat_indices(const NodeReader& node, const Tensor& indices, std::size_t depth) {
  node.graph().budget().spend(static_cast<std::size_t>(indices.element_count()) * sizeof(std::int32_t), node.graph().place());
  std::vector<std::int32_t> flat;
  for (std::int64_t i = 0; i < indices.element_count(); i += static_cast<std::int64_t>(depth)) {
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < depth; ++axis) {
      const std::int64_t size = node.shape()[axis], index = indices.integer_at(i + static_cast<std::int64_t>(axis));
      if (index < -size || index >= size) node.malformed("index " + std::to_string(index) + " of " + std::to_string(size));
      place = place * size + (index < 0 ? index + size : index);
    }
    flat.push_back(static_cast<std::int32_t>(place));
  }
  return flat;
}

/// At constant indices [..., depth]: each names an entry of the first `depth` axes, which become one.
void read_gather_nd(const NodeReader& node) {
  node.require_inputs(2, 2);
  node.refuse("batch_dims", "batch_dims");
  const Tensor& indices = node.constant(1);
  const Shape &data = node.shape(), &stated = indices.shape();
  if (!is_integer(indices.type())) node.malformed("the indices are " + std::string(name_of(indices.type())));
  if (stated.rank() == 0 || stated.back() < 1 || stated.back() > static_cast<std::int64_t>(data.rank()))
    node.malformed("indices of " + stated.text() + " into " + data.text());
  const auto depth = static_cast<std::size_t>(stated.back());
  const std::vector<std::int32_t> places = flat_indices(node, indices, depth);
  Sizes entries{1}, out = sizes_of(stated);
  out.pop_back();
  for (std::size_t axis = 0; axis < data.rank(); ++axis) {
    if (axis < depth) entries[0] *= data[axis];
    else {
      entries.push_back(data[axis]);
      out.push_back(data[axis]);
    }
  }
  if (out.size() > largest_rank) node.malformed("more than 8 dimensions");
  Graph& graph = node.graph();
  const std::string name = node.output().name;
  const std::int32_t rows = graph.reshaped(node.plain(), Shape(entries), name + " (entries)");
  const std::int32_t at = graph.add_constant(name + " (places)", Tensor::from<std::int32_t>({std::ssize(places)}, places));
  entries[0] = std::ssize(places);
  node.define(Shape(std::move(out)));
  const std::int32_t gathered = graph.add_tensor(name + " (gathered)", node.input().type, Shape(entries), node.input().quantization);
  graph.emit(gather, {rows, at}, {gathered}, GatherAttributes{0});
  node.emit_plain(reshape, {gathered});
}

// OneHot.

/// depth numbers from `first`, along one axis of `rank`.
template <class T>
Tensor numbers(std::int64_t depth, std::int64_t first, std::size_t axis, std::size_t rank) {
  Sizes sizes(rank, 1);
  sizes[axis] = depth;
  Tensor all(element_type_of<T>, Shape(std::move(sizes)));
  for (std::int64_t i = 0; i < depth; ++i) all.values<T>()[static_cast<std::size_t>(i)] = static_cast<T>(first + i);
  return all;
}

Tensor numbers_of(const NodeReader& node, std::int64_t depth, std::int64_t first, std::size_t axis, std::size_t rank) {
  switch (node.input().type) {
    case ElementType::float32: return numbers<float>(depth, first, axis, rank);
    case ElementType::int32: return numbers<std::int32_t>(depth, first, axis, rank);
    case ElementType::int64: return numbers<std::int64_t>(depth, first, axis, rank);
    default: node.unsupported("indices of " + std::string(name_of(node.input().type)));
  }
}

/// One of the constant [off, on].
std::int32_t choice_of(const NodeReader& node, std::int64_t position) {
  const Tensor& both = node.constant(2);
  if (both.element_count() != 2) node.malformed("the values are not two");
  Tensor one(both.type(), {});
  const std::size_t size = size_of(both.type());
  std::ranges::copy(both.bytes().subspan(static_cast<std::size_t>(position) * size, size), one.bytes().begin());
  return node.graph().add_constant(node.output().name + (position == 0 ? " (off)" : " (on)"), std::move(one));
}

std::int64_t depth_of(const NodeReader& node) {
  const bool is_real = node.constant(1).type() == ElementType::float32;
  const std::vector<double> stated = is_real ? node.constant_reals(1) : std::vector<double>{};
  const Sizes counted = is_real ? Sizes{} : node.constant_integers(1);
  const double depth = stated.size() == 1 ? stated[0] : counted.size() == 1 ? static_cast<double>(counted[0]) : 0;
  if (!(depth >= 1 && depth <= static_cast<double>(largest_parameter))) node.malformed("the depth is no size");
  return static_cast<std::int64_t>(depth);
}

/// On where the index is the place, or the place counted from the end.
void read_one_hot(const NodeReader& node) {
  node.require_inputs(3, 3);
  const std::int64_t depth = depth_of(node);
  const std::size_t rank = node.shape().rank() + 1;
  if (rank > largest_rank) node.malformed("more than 8 dimensions");
  const auto axis = static_cast<std::size_t>(node.axis_of(node.integer("axis", -1), rank));
  Sizes single = sizes_of(node.shape()), sizes = single;
  single.insert(single.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  Graph& graph = node.graph();
  node.declare(node.constant(2).type(), {});
  node.define(Shape(sizes));
  const std::string name = node.output().name;
  graph.budget().spend(2 * static_cast<std::size_t>(depth) * sizeof(std::int64_t), graph.place());
  const std::int32_t indices = graph.reshaped(node.plain(), Shape(single), name + " (indices)");
  const auto equals = [&](std::int64_t first, const std::string& what) {
    const std::int32_t places = graph.add_constant(name + " (places" + what + ")", numbers_of(node, depth, first, axis, rank));
    const std::int32_t truths = graph.add_tensor(name + " (there" + what + ")", ElementType::boolean, Shape(sizes));
    graph.emit(equal, {indices, places}, {truths});
    return truths;
  };
  const std::int32_t from_start = equals(0, ""), from_end = equals(-depth, " from the end");
  const std::int32_t is_there = graph.add_tensor(name + " (is there)", ElementType::boolean, Shape(sizes));
  graph.emit(OperationKind::select, {from_start, from_start, from_end}, {is_there});
  const std::int32_t off = choice_of(node, 0);
  node.emit_plain(OperationKind::select, {is_there, choice_of(node, 1), off});
}

constexpr Operator ordering_table[] = {
    {"TopK", read_top_k},
    {"CumSum", read_cumsum},
    {"LogSoftmax", read_log_softmax, Folding::never, 1, {}, 1},
    {"GatherND", read_gather_nd, Folding::equal},
    {"OneHot", read_one_hot},
};

}  // namespace

std::span<const Operator> ordering_operators() { return ordering_table; }

}  // namespace lastbit::onnx_format
