// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Gather: at constant indices, which are slices, or at computed ones.
#include <algorithm>

#include "formats/onnx/operators.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::onnx_format {
namespace {

std::vector<std::int64_t> sizes_of(const Shape& shape) { return {shape.sizes().begin(), shape.sizes().end()}; }

/// [first, last] of indices in even steps, and the step.
struct Run {
  std::int64_t first, last, step, count;
};

std::vector<Run> runs_of(const std::vector<std::int64_t>& indices) {
  std::vector<Run> runs;
  for (const std::int64_t index : indices) {
    const bool starts =
        runs.empty() || index == runs.back().last || (runs.back().count > 1 && index - runs.back().last != runs.back().step);
    if (starts) runs.push_back({index, index, 1, 0});
    else runs.back().step = index - runs.back().last;
    runs.back().last = index;
    ++runs.back().count;
  }
  return runs;
}

std::int32_t joined_runs(const NodeReader& node, std::size_t axis, const std::vector<std::int64_t>& indices) {
  constexpr std::size_t most_runs = 1024;
  const std::vector<Run> runs = runs_of(indices);
  if (runs.size() > most_runs) node.unsupported("a gathering of more than " + std::to_string(most_runs) + " slices");
  Graph& graph = node.graph();
  const auto make = [&](const std::string& what, std::int64_t count) {
    std::vector<std::int64_t> sizes = sizes_of(node.shape());
    sizes[axis] = count;
    return graph.add_tensor(node.output().name + what, node.input().type, Shape(std::move(sizes)), node.input().quantization);
  };
  std::vector<std::int32_t> parts;
  for (const Run& run : runs) {
    SliceAttributes slice{.begin = std::vector<std::int64_t>(node.shape().rank(), 0),
                          .strides = std::vector<std::int64_t>(node.shape().rank(), 1)};
    slice.begin[axis] = run.first;
    slice.strides[axis] = run.step;
    parts.push_back(make(" (part)", run.count));
    graph.emit(OperationKind::strided_slice, {node.plain()}, {parts.back()}, std::move(slice));
  }
  if (parts.size() == 1) return parts[0];
  const std::int32_t all = make(" (joined)", static_cast<std::int64_t>(indices.size()));
  graph.emit(OperationKind::concat, std::move(parts), {all}, ConcatAttributes{static_cast<std::int64_t>(axis)});
  return all;
}

/// Indices that are computed, those below 0 counted from the end.
std::int32_t indices_from_first(const NodeReader& node, std::int64_t size) {
  const Value& indices = node.input(1);
  const ElementType type = indices.type;
  if (type != ElementType::int32 && type != ElementType::int64) node.unsupported("gathering at indices of " + std::string(name_of(type)));
  const Shape shape = indices.shape;
  const std::string name = node.output().name;
  Graph& graph = node.graph();
  const auto number = [&](std::int64_t value, const char* what) {
    Tensor one(type, {});
    if (type == ElementType::int32) one.values<std::int32_t>()[0] = static_cast<std::int32_t>(value);
    else one.values<std::int64_t>()[0] = value;
    return graph.add_constant(name + what, std::move(one));
  };
  const std::int32_t stated = node.plain(1);
  const std::int32_t is_below = graph.add_tensor(name + " (is below 0)", ElementType::boolean, shape);
  const std::int32_t moved = graph.add_tensor(name + " (from the end)", type, shape),
                     found = graph.add_tensor(name + " (places)", type, shape);
  graph.emit(OperationKind::less, {stated, number(0, " (0)")}, {is_below});
  graph.emit(OperationKind::add, {stated, number(size, " (size)")}, {moved}, ElementwiseAttributes{});
  graph.emit(OperationKind::select, {is_below, moved, stated}, {found});
  return found;
}

void read_computed_gather(const NodeReader& node, std::size_t axis) {
  std::vector<std::int64_t> sizes = sizes_of(node.shape()), places = sizes_of(node.shape(1));
  const std::int64_t size = sizes[axis];
  const auto at = sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  sizes.insert(at, places.begin(), places.end());
  if (sizes.size() > largest_rank) node.malformed("more than 8 dimensions");
  node.define(Shape(std::move(sizes)));
  const std::int32_t indices = indices_from_first(node, size);
  node.emit_plain(OperationKind::gather, {node.plain(), indices}, GatherAttributes{static_cast<std::int64_t>(axis)});
}

}  // namespace

/// At constant indices: slices, joined where their steps are uneven.
void read_gather(const NodeReader& node) {
  node.require_inputs(2, 2);
  const auto axis = static_cast<std::size_t>(node.axis_of(node.integer("axis", 0), node.shape().rank()));
  if (node.graph().constant(node.input_id(1)) == nullptr) return read_computed_gather(node, axis);
  const Tensor& stated = node.constant(1);
  if (!is_integer(stated.type())) node.malformed("the indices are " + std::string(name_of(stated.type())));
  const std::int64_t size = node.shape()[axis];
  std::vector<std::int64_t> indices;
  node.graph().budget().spend(static_cast<std::size_t>(stated.element_count()) * sizeof(std::int64_t), node.graph().place());
  for (std::int64_t i = 0; i < stated.element_count(); ++i) {
    const std::int64_t index = stated.integer_at(i);
    if (index < -size || index >= size) node.malformed("index " + std::to_string(index) + " of " + std::to_string(size));
    indices.push_back(index < 0 ? index + size : index);
  }
  const Shape kept = stated.shape();
  const std::int32_t gathered = joined_runs(node, axis, indices);
  std::vector<std::int64_t> sizes = sizes_of(node.shape());
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), kept.sizes().begin(), kept.sizes().end());
  node.define(Shape(std::move(sizes)));
  node.emit_plain(OperationKind::reshape, {gathered});
}

}  // namespace lastbit::onnx_format
