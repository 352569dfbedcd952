// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A loop over one block of elements that lies in N tensors, each with its own strides (0: the same element again; negative: backwards).
// Neighbouring axes that are contiguous in all of them are merged, so that the innermost rows are long.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lastbit/tensor.hpp"

namespace lastbit {

/// Elements from one index of an axis to the next, row-major.
inline std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t axis = sizes.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * sizes[axis];
  return strides;
}

struct StridedLayout {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};

[[nodiscard]] inline StridedLayout row_major(const Shape& shape) { return {0, row_major_strides(shape.sizes())}; }

/// Reads a tensor as if numpy had broadcast it to `to`, to which it must broadcast.
[[nodiscard]] inline StridedLayout broadcast_layout(const Shape& from, const Shape& to) {
  const auto strides = row_major_strides(from.sizes());
  StridedLayout layout{0, std::vector<std::int64_t>(to.rank(), 0)};
  const std::size_t missing = to.rank() - from.rank();
  for (std::size_t axis = 0; axis < from.rank(); ++axis) layout.strides[axis + missing] = from[axis] == 1 ? 0 : strides[axis];
  return layout;
}

/// The layout of an output of which these axes are reduced, kept or not, as a loop over the input sees it: they have stride 0.
[[nodiscard]] inline StridedLayout reduced_layout(const Shape& in, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> kept(in.sizes().begin(), in.sizes().end());
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  return broadcast_layout(Shape(kept), in);
}

template <std::size_t tensors>
class StridedLoop {
 public:
  StridedLoop(std::span<const std::int64_t> sizes, const std::array<StridedLayout, tensors>& layouts) {
    for (std::size_t i = 0; i < tensors; ++i) offsets_[i] = layouts[i].offset;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] == 1) continue;
      Axis next{sizes[axis], {}};
      for (std::size_t i = 0; i < tensors; ++i) next.strides[i] = layouts[i].strides[axis];
      if (axes_.empty() || !merges(axes_.back(), next)) axes_.push_back(next);
      else axes_.back() = {axes_.back().size * next.size, next.strides};
    }
    if (axes_.empty()) axes_.push_back({1, {}});
  }

  [[nodiscard]] std::int64_t row_length() const { return axes_.back().size; }
  /// Strides along a row.
  [[nodiscard]] const std::array<std::int64_t, tensors>& row_strides() const { return axes_.back().strides; }

  /// The longest axis for rows, where these are short: what is visited is the same, in another order.
  void lengthen_rows() {
    constexpr std::int64_t short_row = 16;
    if (row_length() >= short_row) return;
    const auto longest = std::ranges::max_element(axes_, {}, &Axis::size);
    std::iter_swap(longest, axes_.end() - 1);
  }

  /// Of the outermost axis; 1 where all is one row.
  [[nodiscard]] std::int64_t outer_size() const { return axes_.size() == 1 ? 1 : axes_[0].size; }
  /// The loop over [first, last) of that axis.
  [[nodiscard]] StridedLoop part(std::int64_t first, std::int64_t last) const {
    StridedLoop part = *this;
    if (axes_.size() == 1) return part;
    for (std::size_t i = 0; i < tensors; ++i) part.offsets_[i] += first * axes_[0].strides[i];
    part.axes_[0].size = last - first;
    return part;
  }

  /// Calls visit(offsets) with where each row begins in each tensor, in row-major order.
  template <class Visit>
  void each_row(Visit&& visit) const {
    const std::size_t outer = axes_.size() - 1;
    std::vector<std::int64_t> index(outer, 0);
    std::array<std::int64_t, tensors> at = offsets_;
    for (;;) {
      visit(at);
      std::size_t axis = outer;
      while (axis > 0 && !advance(axis - 1, index, at)) --axis;
      if (axis == 0) return;
    }
  }
  /// Where the first row begins.
  [[nodiscard]] const std::array<std::int64_t, tensors>& first_row() const { return offsets_; }

 private:
  struct Axis {
    std::int64_t size = 1;
    std::array<std::int64_t, tensors> strides{};
  };

  static bool merges(const Axis& outer, const Axis& inner) {
    for (std::size_t i = 0; i < tensors; ++i) {
      if (outer.strides[i] != inner.strides[i] * inner.size) return false;
    }
    return true;
  }

  /// One step along an axis; false when it wrapped to its start.
  bool advance(std::size_t axis, std::vector<std::int64_t>& index, std::array<std::int64_t, tensors>& at) const {
    const bool wraps = ++index[axis] == axes_[axis].size;
    const std::int64_t steps = wraps ? 1 - axes_[axis].size : 1;
    for (std::size_t i = 0; i < tensors; ++i) at[i] += steps * axes_[axis].strides[i];
    if (wraps) index[axis] = 0;
    return !wraps;
  }

  std::array<std::int64_t, tensors> offsets_{};
  std::vector<Axis> axes_;
};

/// A block of elements of so many bytes copied between two layouts: [0] is read, [1] is written.
template <std::int64_t size>
void copy_block(StridedLoop<2> loop, const std::byte* from, std::byte* to) {
  const auto is_contiguous = [&] { return loop.row_length() == 1 || (loop.row_strides()[0] == 1 && loop.row_strides()[1] == 1); };
  if (!is_contiguous()) loop.lengthen_rows();
  const bool contiguous = is_contiguous();
  const std::int64_t length = loop.row_length(), step_from = loop.row_strides()[0] * size, step_to = loop.row_strides()[1] * size;
  loop.each_row([&](const std::array<std::int64_t, 2>& at) {
    const std::byte* source = from + at[0] * size;
    std::byte* target = to + at[1] * size;
    if (contiguous) {
      std::memcpy(target, source, static_cast<std::size_t>(length * size));
      return;
    }
    for (std::int64_t i = 0; i < length; ++i) std::memcpy(target + i * step_to, source + i * step_from, size);
  });
}
inline void copy_block(const StridedLoop<2>& loop, std::size_t element_size, const std::byte* from, std::byte* to) {
  switch (element_size) {
    case 1: return copy_block<1>(loop, from, to);
    case 2: return copy_block<2>(loop, from, to);
    case 4: return copy_block<4>(loop, from, to);
    default: return copy_block<8>(loop, from, to);
  }
}

}  // namespace lastbit
