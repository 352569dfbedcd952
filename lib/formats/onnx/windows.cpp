// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "formats/onnx/operators.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::onnx_format {
namespace {

Padding2d explicit_padding(const NodeReader& node, std::size_t spatial) {
  const std::vector<std::int64_t> pads = node.integers("pads");
  if (pads.empty()) return {};
  if (pads.size() != 2 * spatial) node.malformed(std::to_string(pads.size()) + " pads for " + std::to_string(spatial) + " spatial axes");
  bool any = false;
  for (const std::int64_t size : pads) {
    if (size < 0 || size > largest_parameter) node.unsupported("a padding of " + std::to_string(size));
    any = any || size != 0;
  }
  if (!any) return {};
  if (spatial == 1) return {PaddingMode::explicit_sizes, 0, 0, pads[0], pads[1]};
  return {PaddingMode::explicit_sizes, pads[0], pads[2], pads[1], pads[3]};
}

/// As SAME_UPPER, with the odd element before the image instead of after it.
Padding2d same_lower(Extent2d image, const Windows& windows) {
  const ResolvedPadding upper = resolve_padding({.mode = PaddingMode::same}, image, windows.filter, windows.stride, windows.dilation);
  return {PaddingMode::explicit_sizes, upper.bottom, upper.top, upper.right, upper.left};
}

/// SAME_UPPER, SAME_LOWER where strides leave out so much behind the last window that the standard's padding is negative: implementations begin their
/// windows in different places inside the image then.
void require_no_cropping(const NodeReader& node, Extent2d image, const Windows& windows) {
  const auto total = [](std::int64_t in, std::int64_t filter, std::int64_t stride, std::int64_t dilation) {
    return (in - 1) / stride * stride + (filter - 1) * dilation + 1 - in;
  };
  const std::int64_t rows = total(image.height, windows.filter.height, windows.stride.height, windows.dilation.height);
  const std::int64_t columns = total(image.width, windows.filter.width, windows.stride.width, windows.dilation.width);
  if (std::min(rows, columns) < -1) node.unsupported("auto_pad with a padding of " + std::to_string(std::min(rows, columns)));
}

}  // namespace

void require_image(const NodeReader& node, const Shape& shape) {
  if (is_image(shape)) return;
  const std::size_t spatial = shape.rank() < 2 ? 0 : shape.rank() - 2;
  node.graph().fail(ErrorCode::unsupported_operation, std::to_string(spatial) + " spatial axes are not supported; one or two are");
}

Extent2d extent_of(const NodeReader& node, const std::vector<std::int64_t>& values, std::size_t spatial_axes) {
  if (values.empty()) return {1, 1};
  if (values.size() != spatial_axes)
    node.malformed(std::to_string(values.size()) + " sizes for " + std::to_string(spatial_axes) + " spatial axes");
  for (const std::int64_t size : values)
    if (size < 1 || size > largest_parameter) node.malformed("a stride, dilation or filter of " + std::to_string(size));
  return {spatial_axes == 1 ? 1 : values.front(), values.back()};
}

Windows windows_of(const NodeReader& node, const Shape& image, Extent2d filter) {
  const std::size_t spatial = image.rank() - 2;
  Windows windows{.filter = filter,
                  .stride = extent_of(node, node.integers("strides"), spatial),
                  .dilation = extent_of(node, node.integers("dilations"), spatial),
                  .padding = {}};
  const std::string mode = node.text("auto_pad", "NOTSET");
  const Shape sizes = image_shape(image);
  if (mode == "NOTSET") windows.padding = explicit_padding(node, spatial);
  if (mode == "NOTSET" || mode == "VALID") return windows;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") node.malformed("auto_pad '" + mode + "'");
  require_no_cropping(node, {sizes[1], sizes[2]}, windows);
  windows.padding = mode == "SAME_UPPER" ? Padding2d{PaddingMode::same} : same_lower({sizes[1], sizes[2]}, windows);
  return windows;
}

Shape windowed_shape(const NodeReader& node, const Shape& image, const Windows& windows, std::int64_t channels) {
  const Shape sizes = image_shape(image);
  const Extent2d count = window_count(windows.padding, {sizes[1], sizes[2]}, windows.filter, windows.stride, windows.dilation);
  if (count.height < 1 || count.width < 1) node.graph().fail(ErrorCode::shape_mismatch, "the window is larger than the padded image");
  if (image.rank() == 3) return {image[0], channels, count.width};
  return {image[0], channels, count.height, count.width};
}

}  // namespace lastbit::onnx_format
