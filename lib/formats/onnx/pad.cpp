// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pad: a constant value around; or the image repeated or mirrored at its edges, which is parts of it joined to it.
#include <algorithm>
#include <array>
#include <cmath>

#include "formats/onnx/operators.hpp"
#include "lastbit/op/quantize.hpp"

namespace lastbit::onnx_format {
namespace {

using Paddings = std::vector<std::array<std::int64_t, 2>>;

Paddings paddings_of(const NodeReader& node) {
  const std::size_t rank = node.shape().rank();
  const bool by_inputs = node.opset() >= 11;
  const auto sizes = by_inputs ? node.constant_integers(1) : node.integers("pads");
  std::vector<std::int64_t> axes = by_inputs && node.has_input(3) ? node.constant_integers(3) : std::vector<std::int64_t>();
  if (axes.empty())
    for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  if (sizes.size() != 2 * axes.size()) node.malformed(std::to_string(sizes.size()) + " pads for " + std::to_string(axes.size()) + " axes");
  Paddings paddings(rank, {0, 0});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(node.axis_of(axes[i], rank));
    paddings[axis] = {sizes[i], sizes[i + axes.size()]};
    for (const std::int64_t size : paddings[axis])
      if (size > largest_parameter || size < -largest_parameter) node.malformed("a padding of " + std::to_string(size));
  }
  return paddings;
}

/// What a negative padding cuts off is gone before the rest is padded.
std::int32_t cropped(const NodeReader& node, Paddings& paddings) {
  std::vector<std::int64_t> begin, sizes;
  bool any = false;
  for (std::size_t axis = 0; axis < paddings.size(); ++axis) {
    auto& [before, after] = paddings[axis];
    begin.push_back(std::max<std::int64_t>(-before, 0));
    sizes.push_back(node.shape()[axis] - begin.back() - std::max<std::int64_t>(-after, 0));
    any = any || before < 0 || after < 0;
    before = std::max<std::int64_t>(before, 0);
    after = std::max<std::int64_t>(after, 0);
    if (sizes.back() < 1) node.malformed("negative pads leave nothing of axis " + std::to_string(axis));
  }
  if (!any) return node.plain();
  Graph& graph = node.graph();
  const std::int32_t part =
      graph.add_tensor(node.output().name + " (cropped)", node.input().type, Shape(std::move(sizes)), node.input().quantization);
  graph.emit(OperationKind::slice, {node.plain()}, {part}, SliceAttributes{.begin = std::move(begin), .strides = {}});
  return part;
}

/// Parts of one axis, in order: [before …, whole, after …].
class EdgeAxis {
 public:
  EdgeAxis(const NodeReader& node, std::int32_t whole, std::size_t axis, bool mirrors)
      : node_(node), whole_(whole), axis_(axis), mirrors_(mirrors) {}

  std::int32_t joined(std::int64_t before, std::int64_t after) {
    const std::int64_t size = node_.graph().tensor(whole_).shape[axis_];
    std::vector<std::int32_t> parts;
    add(parts, before, before, 0);
    parts.push_back(whole_);
    add(parts, after, size - 2, size - 1);
    Graph& graph = node_.graph();
    const ModelTensor like = graph.tensor(whole_);
    std::vector<std::int64_t> sizes(like.shape.sizes().begin(), like.shape.sizes().end());
    sizes[axis_] += before + after;
    const std::int32_t result = graph.add_tensor(label("joined"), like.type, Shape(std::move(sizes)), like.quantization);
    graph.emit(OperationKind::concat, std::move(parts), {result}, ConcatAttributes{static_cast<std::int64_t>(axis_)});
    return result;
  }

 private:
  /// Mirrored: `count` values backwards from `first`. Repeated: the value at `edge`, `count` times.
  void add(std::vector<std::int32_t>& parts, std::int64_t count, std::int64_t first, std::int64_t edge) {
    constexpr std::int64_t most_copies = 1024;
    const std::int64_t size = node_.graph().tensor(whole_).shape[axis_];
    if (count == 0) return;
    if (mirrors_ && count >= size)
      node_.malformed("a reflected padding of " + std::to_string(count) + " for a size of " + std::to_string(size));
    if (!mirrors_ && count > most_copies) node_.unsupported("an edge repeated more than " + std::to_string(most_copies) + " times");
    if (mirrors_) return parts.push_back(part(first, count, -1));
    parts.insert(parts.end(), static_cast<std::size_t>(count), part(edge, 1, 1));
  }

  std::int32_t part(std::int64_t first, std::int64_t count, std::int64_t step) {
    Graph& graph = node_.graph();
    const ModelTensor like = graph.tensor(whole_);
    std::vector<std::int64_t> sizes(like.shape.sizes().begin(), like.shape.sizes().end());
    SliceAttributes slice{.begin = std::vector<std::int64_t>(sizes.size(), 0), .strides = std::vector<std::int64_t>(sizes.size(), 1)};
    sizes[axis_] = count;
    slice.begin[axis_] = first;
    slice.strides[axis_] = step;
    const std::int32_t result = graph.add_tensor(label("edge"), like.type, Shape(std::move(sizes)), like.quantization);
    graph.emit(OperationKind::strided_slice, {whole_}, {result}, std::move(slice));
    return result;
  }

  [[nodiscard]] std::string label(const std::string& what) const {
    return node_.output().name + " (axis " + std::to_string(axis_) + " " + what + ")";
  }

  const NodeReader& node_;
  std::int32_t whole_;
  std::size_t axis_;
  bool mirrors_;
};

bool is_coded(const NodeReader& node) { return node.opset() >= 11 && node.has_input(2) && is_integer(node.input(2).type); }

/// 0 where none is stated.
double real_padding(const NodeReader& node) {
  if (node.opset() < 11) return node.real("value", 0);
  return node.has_input(2) ? node.constant_real(2) : 0.0;
}

/// The padding's value in the input's own terms; 0 is the zero point.
PadAttributes constant_padding(const NodeReader& node, Paddings paddings) {
  PadAttributes attributes{.paddings = std::move(paddings), .value = {}, .real_value = {}};
  const ElementType type = node.input().type;
  if (is_coded(node)) {
    if (node.constant(2).element_count() != 1 || !is_integer(type)) node.malformed("the padding value is not one of the input's");
    attributes.value = node.constant(2).integer_at(0);
    return attributes;
  }
  const double value = real_padding(node);
  if (value == 0) return attributes;
  const Quantization& quantization = node.input().quantization;
  if (!is_integer(type)) attributes.real_value = value;
  else if (quantization.present()) {
    attributes.value = quantize(standard_quantize, static_cast<float>(value), static_cast<float>(quantization.scale()),
                                quantization.zero_point(), range_of(type));
  } else node.unsupported("a real padding value for integers");
  return attributes;
}

void read_pad(const NodeReader& node) {
  const bool by_inputs = node.opset() >= 11;
  node.require_inputs(by_inputs ? 2 : 1, by_inputs ? 4 : 1);
  const std::string mode = node.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge") node.unsupported("mode '" + mode + "'");
  Paddings paddings = paddings_of(node);
  std::vector<std::int64_t> sizes;
  for (std::size_t axis = 0; axis < paddings.size(); ++axis) sizes.push_back(node.shape()[axis] + paddings[axis][0] + paddings[axis][1]);
  node.define(Shape(std::move(sizes)));
  std::int32_t whole = cropped(node, paddings);
  if (mode == "constant") {
    if (whole != node.plain() || node.shape().rank() != 4 || !node.prefers_image())
      return node.emit_plain(OperationKind::pad, {whole}, constant_padding(node, std::move(paddings)));
    return node.emit_image(OperationKind::pad, {node.image()},
                           constant_padding(node, {paddings[0], paddings[2], paddings[3], paddings[1]}));
  }
  for (std::size_t axis = 0; axis < paddings.size(); ++axis) {
    const auto [before, after] = paddings[axis];
    if (before + after > 0) whole = EdgeAxis(node, whole, axis, mode == "reflect").joined(before, after);
  }
  node.emit_plain(OperationKind::reshape, {whole});
}

constexpr Operator pad_table[] = {{"Pad", read_pad, Folding::equal}};

}  // namespace

bool pads_with_a_real_value(const NodeReader& node) {
  return node.source().op_type() == "Pad" && node.text("mode", "constant") == "constant" && !is_coded(node) && real_padding(node) != 0;
}

std::span<const Operator> pad_operators() { return pad_table; }

}  // namespace lastbit::onnx_format
