// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/shape.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lastbit {
namespace {

/// One spatial axis of a window operation.
struct Axis {
  std::int64_t in, filter, stride, dilation;

  [[nodiscard]] std::int64_t span() const { return (filter - 1) * dilation + 1; }
  [[nodiscard]] std::int64_t count(std::int64_t padding) const {
    const std::int64_t room = in + padding - span();
    return room < 0 ? 0 : room / stride + 1;
  }
  [[nodiscard]] std::int64_t count(std::int64_t padding, PartialWindows windows) const {
    switch (windows) {
      case PartialWindows::last_truncated: return 1 + (std::max<std::int64_t>(0, in + padding - span()) + stride - 1) / stride;
      case PartialWindows::every_start: return (in + padding - 1) / stride + 1;
      case PartialWindows::dropped: break;
    }
    return count(padding);
  }
  [[nodiscard]] std::int64_t same_count() const { return (in + stride - 1) / stride; }
  [[nodiscard]] std::int64_t same_padding() const { return std::max<std::int64_t>(0, (same_count() - 1) * stride + span() - in); }
};

std::pair<Axis, Axis> axes_of(Extent2d in, Extent2d filter, Extent2d stride, Extent2d dilation) {
  return {{in.height, filter.height, stride.height, dilation.height}, {in.width, filter.width, stride.width, dilation.width}};
}

}  // namespace

ResolvedPadding resolve_padding(const Padding2d& padding, Extent2d in, Extent2d filter, Extent2d stride, Extent2d dilation) {
  if (padding.mode == PaddingMode::explicit_sizes) return {padding.top, padding.bottom, padding.left, padding.right};
  if (padding.mode == PaddingMode::valid) return {};
  const auto [vertical, horizontal] = axes_of(in, filter, stride, dilation);
  const std::int64_t rows = vertical.same_padding(), columns = horizontal.same_padding();
  return {rows / 2, rows - rows / 2, columns / 2, columns - columns / 2};
}

Extent2d window_count(const Padding2d& padding, Extent2d in, Extent2d filter, Extent2d stride, Extent2d dilation) {
  const auto [vertical, horizontal] = axes_of(in, filter, stride, dilation);
  if (padding.mode == PaddingMode::same) return {vertical.same_count(), horizontal.same_count()};
  const ResolvedPadding around = resolve_padding(padding, in, filter, stride, dilation);
  return {vertical.count(around.top + around.bottom), horizontal.count(around.left + around.right)};
}

Extent2d pool_window_count(const Padding2d& padding, Extent2d in, Extent2d filter, Extent2d stride, PartialWindows windows) {
  if (padding.mode == PaddingMode::same) return window_count(padding, in, filter, stride);
  const auto [vertical, horizontal] = axes_of(in, filter, stride, {1, 1});
  const ResolvedPadding around = resolve_padding(padding, in, filter, stride);
  return {vertical.count(around.top + around.bottom, windows), horizontal.count(around.left + around.right, windows)};
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  std::vector<std::int64_t> sizes(longer.sizes().begin(), longer.sizes().end());
  const std::size_t lead = longer.rank() - shorter.rank();
  for (std::size_t axis = 0; axis < shorter.rank(); ++axis) {
    std::int64_t& size = sizes[lead + axis];
    if (size == 1) size = shorter[axis];
    else if (shorter[axis] != 1 && shorter[axis] != size) return std::nullopt;
  }
  return Shape(std::move(sizes));
}

}  // namespace lastbit
