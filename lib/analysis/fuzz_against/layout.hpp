// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Images of a network are NHWC, those of an .onnx file NCHW.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "lastbit/tensor.hpp"

namespace lastbit {

using Permutation = std::vector<std::size_t>;
inline const Permutation channels_first{0, 3, 1, 2}, channels_last{0, 2, 3, 1};

[[nodiscard]] inline Shape permuted(const Shape& shape, const Permutation& order) {
  std::vector<std::int64_t> sizes;
  for (const std::size_t axis : order) sizes.push_back(shape[axis]);
  return Shape(std::move(sizes));
}

/// Axis i of the result is axis order[i] of the tensor.
[[nodiscard]] inline Tensor permuted(const Tensor& tensor, const Permutation& order) {
  const Shape& in = tensor.shape();
  Tensor result(tensor.type(), permuted(in, order));
  std::vector<std::int64_t> steps(order.size(), 1), at(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t axis = order[i] + 1; axis < in.rank(); ++axis) steps[i] *= in[axis];
  const std::size_t size = size_of(tensor.type());
  for (std::int64_t to = 0; to < tensor.element_count(); ++to) {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < at.size(); ++i) from += at[i] * steps[i];
    std::memcpy(result.bytes().data() + static_cast<std::size_t>(to) * size, tensor.bytes().data() + static_cast<std::size_t>(from) * size,
                size);
    for (std::size_t i = at.size(); i-- > 0 && ++at[i] == result.shape()[i];) at[i] = 0;
  }
  return result;
}

[[nodiscard]] inline Tensor to_file_layout(const Tensor& tensor) {
  return tensor.shape().rank() == 4 ? permuted(tensor, channels_first) : tensor;
}
[[nodiscard]] inline Tensor from_file_layout(const Tensor& tensor) {
  return tensor.shape().rank() == 4 ? permuted(tensor, channels_last) : tensor;
}

}  // namespace lastbit
