// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Windows that slide over an image, and what bounds an output: the words of a layer that need no network.
//
// For one spatial axis, with span = (filter-1)*dilation + 1:
//   same:     out = ceil(in / stride);  total padding = max(0, (out-1)*stride + span - in), half of it (floor) before, the rest after
//   valid:    out = floor((in - span) / stride) + 1
//   explicit: out = floor((in + before + after - span) / stride) + 1
// A transposed convolution is the same with its output in the place of `in` and its input in the place of `out`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lastbit {

/// absolute: the magnitude, of sums of products alone.
enum class Activation : std::uint8_t { none, relu, relu6, relu_n1_to_1, absolute };
[[nodiscard]] std::string_view name_of(Activation activation);
[[nodiscard]] std::optional<Activation> activation_from(std::string_view name);

/// Rows and columns.
struct Extent2d {
  std::int64_t height = 1;
  std::int64_t width = 1;
  friend constexpr bool operator==(const Extent2d&, const Extent2d&) = default;
};

enum class PaddingMode : std::uint8_t { same, valid, explicit_sizes };

/// `same`: before = max(0, (out-1)*stride + (k-1)*dilation+1 - in)/2 (floor), the rest after.
struct Padding2d {
  PaddingMode mode = PaddingMode::valid;
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;  ///< read only for explicit_sizes
  friend constexpr bool operator==(const Padding2d&, const Padding2d&) = default;
};

/// Pool windows that reach beyond the (padded) image. dropped: there are none. last_truncated: as many windows as it takes to reach the end,
/// 1 + ceil((in - filter) / stride). every_start: one wherever a window can start, (in - 1) / stride + 1.
enum class PartialWindows : std::uint8_t { dropped, last_truncated, every_start };
[[nodiscard]] std::string_view name_of(PartialWindows windows);
[[nodiscard]] std::optional<PartialWindows> partial_windows_from(std::string_view name);

/// Rows and columns of padding on each side.
struct ResolvedPadding {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  friend constexpr bool operator==(const ResolvedPadding&, const ResolvedPadding&) = default;
};

/// One spatial axis of a window operation.
struct WindowAxis {
  std::int64_t in, filter, stride, dilation;

  [[nodiscard]] constexpr std::int64_t span() const { return (filter - 1) * dilation + 1; }
  [[nodiscard]] constexpr std::int64_t count(std::int64_t padding) const {
    const std::int64_t room = in + padding - span();
    return room < 0 ? 0 : room / stride + 1;
  }
  [[nodiscard]] constexpr std::int64_t count(std::int64_t padding, PartialWindows windows) const {
    switch (windows) {
      case PartialWindows::last_truncated: return 1 + (std::max<std::int64_t>(0, in + padding - span()) + stride - 1) / stride;
      case PartialWindows::every_start: return (in + padding - 1) / stride + 1;
      case PartialWindows::dropped: break;
    }
    return count(padding);
  }
  [[nodiscard]] constexpr std::int64_t same_count() const { return (in + stride - 1) / stride; }
  [[nodiscard]] constexpr std::int64_t same_padding() const { return std::max<std::int64_t>(0, (same_count() - 1) * stride + span() - in); }
};

/// Padding in elements around an image of size `in`.
[[nodiscard]] constexpr ResolvedPadding resolve_padding(const Padding2d& padding, Extent2d in, Extent2d filter, Extent2d stride,
                                                        Extent2d dilation = {1, 1}) {
  if (padding.mode == PaddingMode::explicit_sizes) return {padding.top, padding.bottom, padding.left, padding.right};
  if (padding.mode == PaddingMode::valid) return {};
  const std::int64_t rows = WindowAxis{in.height, filter.height, stride.height, dilation.height}.same_padding();
  const std::int64_t columns = WindowAxis{in.width, filter.width, stride.width, dilation.width}.same_padding();
  return {rows / 2, rows - rows / 2, columns / 2, columns - columns / 2};
}

/// How many windows fit an image of size `in`, whose last ones may reach beyond the padded image; below 1 where not one does.
[[nodiscard]] constexpr Extent2d window_count(const Padding2d& padding, Extent2d in, Extent2d filter, Extent2d stride,
                                              Extent2d dilation = {1, 1}, PartialWindows windows = PartialWindows::dropped) {
  const WindowAxis vertical{in.height, filter.height, stride.height, dilation.height};
  const WindowAxis horizontal{in.width, filter.width, stride.width, dilation.width};
  if (padding.mode == PaddingMode::same) return {vertical.same_count(), horizontal.same_count()};
  const ResolvedPadding around = resolve_padding(padding, in, filter, stride, dilation);
  return {vertical.count(around.top + around.bottom, windows), horizontal.count(around.left + around.right, windows)};
}

/// The same for a pool.
[[nodiscard]] constexpr Extent2d pool_window_count(const Padding2d& padding, Extent2d in, Extent2d filter, Extent2d stride,
                                                   PartialWindows windows) {
  return window_count(padding, in, filter, stride, {1, 1}, windows);
}

}  // namespace lastbit
