// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong between a board and a folder of tensors.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lastbit/trace.hpp"

namespace lastbit::test {

/// Every value by itself.
template <class Change>
void change_values(Tensor& tensor, Change&& change) {
  visit_element_type(tensor.type(), [&]<class T>() {
    for (T& value : tensor.values<T>()) value = static_cast<T>(change(value));
  });
}

inline void invert_sign(Tensor& tensor) {
  change_values(tensor, []<class T>(T value) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return value ^ static_cast<T>(T{1} << (8 * sizeof(T) - 1));
    else return value;
  });
}

/// Without leaving the type.
inline void add_offset(Tensor& tensor, std::int64_t offset) {
  const IntegerRange range = range_of(tensor.type());
  change_values(tensor, [&]<class T>(T value) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return std::clamp(static_cast<std::int64_t>(value) + offset, range.min, range.max);
    else return value;
  });
}

/// NHWC as NCHW, sample by sample, under the same shape. False where nothing moves.
inline bool put_channels_first(Tensor& tensor, const Shape& shape) {
  const std::size_t rank = shape.rank();
  if (rank != 4 || shape[3] == 1 || shape[1] * shape[2] == 1) return false;
  const std::int64_t channels = shape[3], places = shape.element_count() / channels;
  visit_element_type(tensor.type(), [&]<class T>() {
    const std::vector<T> old(tensor.values<T>().begin(), tensor.values<T>().end());
    const auto values = tensor.values<T>();
    for (std::int64_t sample = 0; sample < tensor.element_count(); sample += channels * places) {
      for (std::int64_t i = 0; i < places; ++i) {
        for (std::int64_t c = 0; c < channels; ++c)
          values[static_cast<std::size_t>(sample + c * places + i)] = old[static_cast<std::size_t>(sample + i * channels + c)];
      }
    }
  });
  return true;
}

/// The first two samples exchanged.
inline bool exchange_samples(Tensor& tensor, const Shape& shape) {
  const auto size = static_cast<std::ptrdiff_t>(shape.element_count()) * static_cast<std::ptrdiff_t>(size_of(tensor.type()));
  if (tensor.bytes().size() < static_cast<std::size_t>(2 * size)) return false;
  std::swap_ranges(tensor.bytes().begin(), tensor.bytes().begin() + size, tensor.bytes().begin() + size);
  return true;
}

}  // namespace lastbit::test
