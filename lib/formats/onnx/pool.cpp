// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool, ReduceMean.
#include <algorithm>
#include <numeric>

#include "formats/onnx/operators.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::onnx_format {
namespace {

/// ceil_mode: windows that begin inside the image or the padding before it and end beyond the padding behind it count as well, so the padding
/// grows by what they lack.
Windows ceiled(const NodeReader& node, const Shape& image, Windows windows) {
  if (node.integer("ceil_mode", 0) == 0 || windows.padding.mode == PaddingMode::same) return windows;
  const Shape sizes = image_shape(image);
  Padding2d& padding = windows.padding;
  const auto lacking = [](std::int64_t in, std::int64_t before, std::int64_t after, std::int64_t span, std::int64_t stride) {
    const std::int64_t room = before + in + after - span;
    if (room < 0 || room % stride == 0) return std::int64_t{0};
    const std::int64_t begins = (room / stride + 1) * stride - before;
    return begins >= in ? std::int64_t{0} : stride - room % stride;
  };
  const Extent2d span{(windows.filter.height - 1) * windows.dilation.height + 1, (windows.filter.width - 1) * windows.dilation.width + 1};
  const std::int64_t rows = lacking(sizes[1], padding.top, padding.bottom, span.height, windows.stride.height);
  const std::int64_t columns = lacking(sizes[2], padding.left, padding.right, span.width, windows.stride.width);
  if (rows == 0 && columns == 0) return windows;
  padding.mode = PaddingMode::explicit_sizes;
  padding.bottom += rows;
  padding.right += columns;
  return windows;
}

/// Over an image of this plain shape.
Windows pool_windows(const NodeReader& node, const Shape& image) {
  require_image(node, image);
  const auto kernel = node.integers("kernel_shape");
  if (kernel.empty()) node.malformed("no kernel_shape");
  const Extent2d filter = extent_of(node, kernel, image.rank() - 2);
  return ceiled(node, image, windows_of(node, image, filter));
}

Pool2dAttributes attributes_of(const NodeReader& node, const Windows& windows) {
  return {.filter = windows.filter,
          .stride = windows.stride,
          .padding = windows.padding,
          .bounds = node.bounds(),
          .counted_padding = node.integer("count_include_pad", 0) != 0};
}

void read_max_pool(const NodeReader& node) {
  node.require_inputs(1, 1);
  node.require_outputs(1);
  const Windows windows = pool_windows(node, node.shape());
  if (windows.dilation != Extent2d{}) node.unsupported("a dilated pool");
  node.define(windowed_shape(node, node.shape(), windows, node.shape()[1]));
  node.emit_image(OperationKind::max_pool2d, {node.image()}, attributes_of(node, windows));
}

void read_average_pool(const NodeReader& node) {
  node.require_inputs(1, 1);
  emit_average_pool(node, ImageAxes::channels_first);
}

void read_global_max_pool(const NodeReader& node) {
  node.require_inputs(1, 1);
  const Shape in = node.shape();
  require_image(node, in);
  const Shape sizes = image_shape(in);
  std::vector<std::int64_t> out(in.rank(), 1);
  out[0] = in[0];
  out[1] = in[1];
  node.define(Shape(std::move(out)));
  node.emit_image(OperationKind::max_pool2d, {node.image()},
                  Pool2dAttributes{.filter = {sizes[1], sizes[2]}, .stride = {1, 1}, .padding = {}, .bounds = node.bounds()});
}

void read_global_average_pool(const NodeReader& node) {
  node.require_inputs(1, 1);
  emit_global_average_pool(node, ImageAxes::channels_first);
}

void read_reduce_mean(const NodeReader& node) {
  node.require_inputs(1, 2);
  const Shape in = node.shape();
  std::vector<std::int64_t> axes = node.axes(1, in.rank());
  const bool keep = node.integer("keepdims", 1) != 0;
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0) {
    node.define(in);
    return node.emit_plain(OperationKind::reshape, {node.plain()});
  }
  if (in.rank() == 0) node.unsupported("the mean of a scalar");
  if (axes.empty()) {
    axes.resize(in.rank());
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
  }
  std::vector<std::int64_t> out;
  for (std::size_t axis = 0; axis < in.rank(); ++axis) {
    const bool averaged = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
    if (!averaged) out.push_back(in[axis]);
    else if (keep) out.push_back(1);
  }
  node.define(Shape(std::move(out)));
  // In the file's layout, which the order of a sum in float32 follows.
  node.emit_plain(OperationKind::mean, {node.plain()}, MeanAttributes{.axes = std::move(axes), .keep_dims = keep});
}

/// Padding that counts in the average becomes part of the image; what ceil_mode added does not count.
std::int32_t with_counted_padding(const NodeReader& node, const Shape& plain, std::int32_t source, Windows& windows) {
  const Shape sizes = image_shape(plain);
  const Extent2d image{sizes[1], sizes[2]};
  const ResolvedPadding around = resolve_padding(windows.padding, image, windows.filter, windows.stride);
  const ResolvedPadding counted = resolve_padding(windows_of(node, plain, windows.filter).padding, image, windows.filter, windows.stride);
  if (counted == ResolvedPadding{}) return source;
  Graph& graph = node.graph();
  const Shape whole{sizes[0], sizes[1] + counted.top + counted.bottom, sizes[2] + counted.left + counted.right, sizes[3]};
  const std::int32_t padded =
      graph.add_tensor(node.output().name + " (padded)", node.input().type, whole, graph.tensor(source).quantization);
  graph.state_merged(padded, graph.tensor(source).merged);
  PadAttributes attributes;
  attributes.paddings = {{0, 0}, {counted.top, counted.bottom}, {counted.left, counted.right}, {0, 0}};
  graph.emit(OperationKind::pad, {source}, {padded}, std::move(attributes));
  windows.padding = {PaddingMode::explicit_sizes, 0, around.bottom - counted.bottom, 0, around.right - counted.right};
  return padded;
}

/// Of an image, in the order N, C, sizes.
Shape plain_shape(const NodeReader& node, ImageAxes axes) {
  const Shape& stated = node.shape();
  if (axes == ImageAxes::channels_first) return stated;
  if (stated.rank() != 4) node.unsupported("channels_last of " + stated.text());
  return {stated[0], stated[3], stated[1], stated[2]};
}

constexpr Operator pool_table[] = {
    {"MaxPool", read_max_pool, Folding::equal},
    {"AveragePool", read_average_pool, Folding::bounded},
    {"GlobalMaxPool", read_global_max_pool, Folding::equal, 1, {}, 1},
    {"GlobalAveragePool", read_global_average_pool, Folding::bounded, 1, {}, 1},
    {"ReduceMean", read_reduce_mean, Folding::any},
};

}  // namespace

void emit_average_pool(const NodeReader& node, ImageAxes axes) {
  const Shape plain = plain_shape(node, axes);
  Windows windows = pool_windows(node, plain);
  if (windows.dilation != Extent2d{}) node.unsupported("a dilated pool");
  const Shape out = windowed_shape(node, plain, windows, plain[1]);
  node.define(axes == ImageAxes::channels_last ? image_shape(out) : out);
  std::int32_t source = axes == ImageAxes::channels_last ? node.plain() : node.image();
  if (node.integer("count_include_pad", 0) != 0) source = with_counted_padding(node, plain, source, windows);
  if (axes == ImageAxes::channels_last) return node.emit_plain(OperationKind::average_pool2d, {source}, attributes_of(node, windows));
  node.emit_image(OperationKind::average_pool2d, {source}, attributes_of(node, windows));
}

void emit_global_average_pool(const NodeReader& node, ImageAxes axes) {
  const Shape plain = plain_shape(node, axes);
  require_image(node, plain);
  std::vector<std::int64_t> out(plain.rank(), 1);
  out[0] = plain[0];
  out[axes == ImageAxes::channels_last ? out.size() - 1 : 1] = plain[1];
  node.define(Shape(std::move(out)));
  const Pool2dAttributes attributes{.padding = {}, .bounds = node.bounds()};
  if (axes == ImageAxes::channels_last) return node.emit_plain(OperationKind::global_average_pool, {node.plain()}, attributes);
  node.emit_image(OperationKind::global_average_pool, {node.image()}, attributes);
}

std::span<const Operator> pool_operators() { return pool_table; }

}  // namespace lastbit::onnx_format
