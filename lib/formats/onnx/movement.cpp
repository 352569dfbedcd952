// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operators that only move values: Reshape, Flatten, Squeeze, Unsqueeze, Transpose, Identity, Dropout, Slice, Split, Concat, DepthToSpace,
// SpaceToDepth; Gather is in gather.cpp.
#include <algorithm>

#include "formats/onnx/operators.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::onnx_format {
namespace {

std::vector<std::int64_t> sizes_of(const Shape& shape) { return {shape.sizes().begin(), shape.sizes().end()}; }

void emit_reshape(const NodeReader& node, Shape shape) {
  node.define(std::move(shape));
  node.emit_plain(OperationKind::reshape, {node.plain()});
}

/// 0 stands for the input's own size, -1 for what is left.
void read_reshape(const NodeReader& node) {
  node.require_inputs(1, 2);
  std::vector<std::int64_t> sizes = node.has_input(1) ? node.constant_integers(1) : node.integers("shape");
  const bool zero_is_zero = node.integer("allowzero", 0) != 0;
  if (sizes.size() > largest_rank) node.malformed("more than 8 dimensions");
  std::int64_t known = 1;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 0 && !zero_is_zero && axis < node.shape().rank()) sizes[axis] = node.shape()[axis];
    if (sizes[axis] == -1) continue;
    if (sizes[axis] < 1 || sizes[axis] > largest_size / known) node.malformed("a size of " + std::to_string(sizes[axis]));
    known *= sizes[axis];
  }
  const auto open = std::find(sizes.begin(), sizes.end(), -1);
  if (open != sizes.end()) *open = node.shape().element_count() / known;
  emit_reshape(node, Shape(std::move(sizes)));
}

void read_flatten(const NodeReader& node) {
  node.require_inputs(1, 1);
  const auto rank = static_cast<std::int64_t>(node.shape().rank());
  std::int64_t axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank) node.malformed("axis " + std::to_string(axis) + " of " + node.shape().text());
  if (axis < 0) axis += rank;
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i < axis; ++i) rows *= node.shape()[static_cast<std::size_t>(i)];
  emit_reshape(node, {rows, node.shape().element_count() / rows});
}

void read_squeeze(const NodeReader& node) {
  node.require_inputs(1, 2);
  const std::vector<std::int64_t> axes = node.axes(1, node.shape().rank());
  std::vector<std::int64_t> sizes;
  for (std::size_t axis = 0; axis < node.shape().rank(); ++axis) {
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(axis));
    if (named && node.shape()[axis] != 1) node.malformed("axis " + std::to_string(axis) + " of " + node.shape().text() + " is not 1");
    if (!named && (!axes.empty() || node.shape()[axis] != 1)) sizes.push_back(node.shape()[axis]);
  }
  emit_reshape(node, Shape(std::move(sizes)));
}

void read_unsqueeze(const NodeReader& node) {
  node.require_inputs(1, 2);
  const std::size_t count = node.has_input(1) ? node.constant_integers(1).size() : node.integers("axes").size();
  const std::size_t rank = node.shape().rank() + count;
  if (rank > largest_rank) node.malformed("more than 8 dimensions");
  std::vector<std::int64_t> sizes = sizes_of(node.shape());
  for (const std::int64_t axis : node.axes(1, rank)) sizes.insert(sizes.begin() + axis, 1);
  emit_reshape(node, Shape(std::move(sizes)));
}

void read_transpose(const NodeReader& node) {
  node.require_inputs(1, 1);
  const std::size_t rank = node.shape().rank();
  std::vector<std::int64_t> permutation = node.integers("perm");
  if (permutation.empty())
    for (std::size_t axis = rank; axis-- > 0;) permutation.push_back(static_cast<std::int64_t>(axis));
  if (permutation.size() != rank) node.malformed("perm has " + std::to_string(permutation.size()) + " axes of " + std::to_string(rank));
  std::vector<std::int64_t> sizes;
  for (std::int64_t& axis : permutation) {
    axis = node.axis_of(axis, rank);
    sizes.push_back(node.shape()[static_cast<std::size_t>(axis)]);
  }
  node.define(Shape(std::move(sizes)));
  const std::int32_t source = node.plain();
  node.emit_plain(OperationKind::transpose, {source}, TransposeAttributes{permutation});
  // What turns NHWC into NCHW has its companion already.
  const bool from_channels_last = permutation == std::vector<std::int64_t>{0, 3, 1, 2};
  if (from_channels_last) node.graph()[node.output_id()].image = source;
}

void read_identity(const NodeReader& node) {
  node.require_inputs(1, 1);
  emit_reshape(node, node.shape());
}

/// Nothing is dropped in inference; the mask says so.
void read_dropout(const NodeReader& node) {
  node.require_inputs(1, 3);
  const auto ratio = [&] { return node.has_input(1) ? node.constant_real(1) : 0.5; };
  if (node.has_input(2) && node.constant(2).bytes()[0] != std::byte{0} && ratio() != 0) node.unsupported("training");
  emit_reshape(node, node.shape());
  if (!node.has_output(1)) return;
  Tensor mask(ElementType::boolean, node.shape());
  node.graph().budget().spend(mask.bytes().size(), node.graph().place());
  std::fill(mask.bytes().begin(), mask.bytes().end(), std::byte{1});
  node.graph().set_constant(node.output_id(1), std::move(mask));
}

// Parts of a tensor.

/// Begins, sizes and steps per axis, in ONNX's layout.
struct Part {
  std::vector<std::int64_t> begin, sizes, steps;
};

/// The same on the companion of an image.
void emit_part(const NodeReader& node, Part part) {
  const std::size_t rank = part.sizes.size();
  const bool strided = std::any_of(part.steps.begin(), part.steps.end(), [](std::int64_t step) { return step != 1; });
  const OperationKind kind = strided ? OperationKind::strided_slice : OperationKind::slice;
  node.define(Shape(part.sizes));
  if (rank != 4 || !node.prefers_image())
    return node.emit_plain(kind, {node.plain()},
                           SliceAttributes{.begin = part.begin, .strides = strided ? part.steps : std::vector<std::int64_t>{}});
  SliceAttributes moved{.begin = part.begin, .strides = part.steps};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    moved.begin[image_axis(axis, rank)] = part.begin[axis];
    moved.strides[image_axis(axis, rank)] = part.steps[axis];
  }
  if (!strided) moved.strides.clear();
  node.emit_image(kind, {node.image()}, std::move(moved));
}

/// One axis of a slice: bounds count from the end if negative, and are cut to the axis.
void slice_axis(const NodeReader& node, Part& part, std::size_t axis, std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::int64_t size = node.shape()[axis];
  if (step == 0 || step < -largest_parameter || step > largest_parameter) node.malformed("a step of " + std::to_string(step));
  const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  const auto place = [&](std::int64_t index) {
    const std::int64_t near = std::clamp(index, -2 * largest_size, 2 * largest_size);
    return std::clamp(near < 0 ? near + size : near, lowest, highest);
  };
  const std::int64_t first = place(start), last = place(end);
  const std::int64_t distance = step > 0 ? last - first : first - last, stride = step > 0 ? step : -step;
  part.begin[axis] = first;
  part.steps[axis] = step;
  part.sizes[axis] = distance <= 0 ? 0 : (distance - 1) / stride + 1;
}

void read_slice(const NodeReader& node) {
  const bool by_inputs = node.opset() >= 10;
  node.require_inputs(by_inputs ? 3 : 1, by_inputs ? 5 : 1);
  const auto starts = by_inputs ? node.constant_integers(1) : node.integers("starts");
  const auto ends = by_inputs ? node.constant_integers(2) : node.integers("ends");
  auto axes = by_inputs && node.has_input(3) ? node.constant_integers(3) : node.integers("axes");
  auto steps = by_inputs && node.has_input(4) ? node.constant_integers(4) : std::vector<std::int64_t>();
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size() || starts.size() > node.shape().rank())
    node.malformed("starts, ends, axes and steps do not match");
  const std::size_t rank = node.shape().rank();
  Part part{std::vector<std::int64_t>(rank, 0), sizes_of(node.shape()), std::vector<std::int64_t>(rank, 1)};
  for (std::size_t i = 0; i < starts.size(); ++i)
    slice_axis(node, part, static_cast<std::size_t>(node.axis_of(axes[i], rank)), starts[i], ends[i], steps[i]);
  if (std::ranges::find(part.sizes, 0) == part.sizes.end()) return emit_part(node, std::move(part));
  if (node.graph().constant(node.input_id()) == nullptr) node.unsupported("an empty slice");
  Value& nothing = node.graph()[node.output_id()];
  nothing.known = nothing.empty = true;
}

std::vector<std::int64_t> split_sizes(const NodeReader& node, std::int64_t size) {
  std::vector<std::int64_t> sizes = node.has_input(1) ? node.constant_integers(1) : node.integers("split");
  const auto parts = static_cast<std::int64_t>(node.output_count());
  const std::int64_t each = (size + parts - 1) / parts;
  if (sizes.empty()) {
    sizes.assign(node.output_count(), each);
    sizes.back() = size - each * (parts - 1);
  }
  if (sizes.size() != node.output_count())
    node.malformed(std::to_string(sizes.size()) + " sizes for " + std::to_string(parts) + " outputs");
  std::int64_t sum = 0;
  for (const std::int64_t part : sizes) {
    if (part < 1 || part > size) node.malformed("a part of " + std::to_string(part) + " of " + std::to_string(size));
    sum += part;
  }
  if (sum != size) node.malformed("the parts do not add up to " + std::to_string(size));
  return sizes;
}

void read_split(const NodeReader& node) {
  node.require_inputs(1, 2);
  const std::size_t rank = node.shape().rank();
  const auto axis = static_cast<std::size_t>(node.axis_of(node.integer("axis", 0), rank));
  const std::vector<std::int64_t> parts = split_sizes(node, node.shape()[axis]);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < parts.size(); begin += parts[i], ++i) {
    if (!node.has_output(i)) continue;
    Part part{std::vector<std::int64_t>(rank, 0), sizes_of(node.shape()), std::vector<std::int64_t>(rank, 1)};
    part.begin[axis] = begin;
    part.sizes[axis] = parts[i];
    emit_part(node.only(i), std::move(part));
  }
}

void read_concat(const NodeReader& node) {
  node.require_inputs(1, all_inputs);
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) node.malformed("input " + std::to_string(i) + " is missing");
    positions.push_back(i);
  }
  emit_concat(node, positions, node.integer("axis", 1));
}

/// To the type it has already, float16 counting as float32; between float32 and integers, and between bool and float32, int32 or int64.
void read_cast(const NodeReader& node) {
  node.require_inputs(1, 1);
  const std::int64_t code = node.integer("to", 0);
  const auto type = code > 0 && code < 64 ? element_type_from(static_cast<std::int32_t>(code)) : std::nullopt;
  if (type && *type == node.input().type) return emit_reshape(node, node.shape());
  const ElementType from = node.input().type;
  const auto is_number = [](ElementType each) { return each == ElementType::float32 || is_integer(each); };
  const auto is_comparable = [](ElementType each) {
    return each == ElementType::float32 || each == ElementType::int32 || each == ElementType::int64;
  };
  if (type && from == ElementType::boolean && is_comparable(*type)) return emit_truth_cast(node, *type);
  if (type && type == ElementType::boolean && is_comparable(from)) return emit_truth_cast(node, *type);
  if (type && is_number(*type) && is_number(from) && !node.input().quantization.present()) {
    node.declare(*type, {});
    return node.emit_same_shape(OperationKind::cast);
  }
  node.unsupported("a cast from " + std::string(name_of(node.input().type)) + " to " +
                   (code > 0 && code < 64 ? name_of_type(static_cast<std::int32_t>(code)) : std::to_string(code)));
}

std::int64_t block_of(const NodeReader& node) {
  node.require_inputs(1, 1);
  if (node.shape().rank() != 4) node.malformed("the input has " + std::to_string(node.shape().rank()) + " dimensions; 4 are needed");
  const std::int64_t block = node.integer("blocksize", 0);
  if (block < 1 || block > largest_parameter) node.malformed("a block of " + std::to_string(block));
  return block;
}

/// The input as six axes, in another order, as an image of this shape.
void emit_blocks(const NodeReader& node, std::vector<std::int64_t> six, std::vector<std::int64_t> order, Shape out) {
  Graph& graph = node.graph();
  node.define(std::move(out));
  const std::string name = node.output().name;
  const std::int32_t parts = graph.reshaped(node.plain(), Shape(std::move(six)), name + " (blocks)");
  node.emit_plain(OperationKind::reshape, {graph.transposed(parts, std::move(order), name + " (turned blocks)")});
}

/// DCR: a channel of the input is (row, column, channel of the output); CRD: (channel, row, column).
void read_depth_to_space(const NodeReader& node) {
  const std::int64_t block = block_of(node), area = block * block;
  const std::string mode = node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") node.malformed("mode '" + mode + "'");
  const auto in = sizes_of(node.shape());
  if (in[1] % area != 0) node.malformed("blocks of " + std::to_string(block) + " do not fit the channels");
  const std::int64_t channels = in[1] / area;
  const Shape out{in[0], channels, in[2] * block, in[3] * block};
  if (mode == "DCR") return emit_blocks(node, {in[0], block, block, channels, in[2], in[3]}, {0, 3, 4, 1, 5, 2}, out);
  emit_blocks(node, {in[0], channels, block, block, in[2], in[3]}, {0, 1, 4, 2, 5, 3}, out);
}

/// A channel of the output is (row, column, channel of the input).
void read_space_to_depth(const NodeReader& node) {
  const std::int64_t block = block_of(node);
  const auto in = sizes_of(node.shape());
  if (in[2] % block != 0 || in[3] % block != 0) node.malformed("blocks of " + std::to_string(block) + " do not fit the image");
  const std::int64_t height = in[2] / block, width = in[3] / block;
  emit_blocks(node, {in[0], in[1], height, block, width, block}, {0, 3, 5, 1, 2, 4}, {in[0], in[1] * block * block, height, width});
}

constexpr Operator movement_table[] = {
    {"Reshape", read_reshape, Folding::equal},
    {"Flatten", read_flatten, Folding::equal},
    {"Squeeze", read_squeeze, Folding::equal},
    {"Unsqueeze", read_unsqueeze, Folding::equal},
    {"Transpose", read_transpose, Folding::equal},
    {"Identity", read_identity, Folding::equal},
    {"Dropout", read_dropout, Folding::equal},
    {"Slice", read_slice, Folding::equal},
    {"Gather", read_gather, Folding::equal},
    {"Split", read_split, Folding::equal},
    {"Concat", read_concat, Folding::any, all_inputs},
    {"Cast", read_cast},
    {"DepthToSpace", read_depth_to_space, Folding::equal, 1, {}, 1},
    {"SpaceToDepth", read_space_to_depth, Folding::equal, 1, {}, 1},
};

}  // namespace

void emit_concat(const NodeReader& node, const std::vector<std::size_t>& positions, std::int64_t stated_axis) {
  const std::size_t first = positions.front(), rank = node.shape(first).rank();
  const auto axis = static_cast<std::size_t>(node.axis_of(stated_axis, rank));
  std::vector<std::int64_t> sizes = sizes_of(node.shape(first));
  bool images = false;
  for (const std::size_t position : positions) {
    if (node.shape(position).rank() != rank) node.malformed("inputs of different ranks");
    if (position != first) sizes[axis] += node.shape(position)[axis];
    images = images || node.graph().has_image(node.input_id(position));
  }
  images = images && rank == 4;
  node.define(Shape(std::move(sizes)));
  std::vector<std::int32_t> parts;
  for (const std::size_t position : positions) parts.push_back(images ? node.image(position) : node.plain(position));
  if (images) node.emit_image(OperationKind::concat, std::move(parts), ConcatAttributes{static_cast<std::int64_t>(image_axis(axis, 4))});
  else node.emit_plain(OperationKind::concat, std::move(parts), ConcatAttributes{static_cast<std::int64_t>(axis)});
}

std::span<const Operator> movement_operators() { return movement_table; }

}  // namespace lastbit::onnx_format
