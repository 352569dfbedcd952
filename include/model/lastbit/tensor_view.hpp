// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The values of a tensor, or of memory that somebody else owns.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "lastbit/tensor.hpp"

namespace lastbit {

/// Contiguous, row-major values of one element type, aligned as its C++ type. Whoever owns them keeps them, unchanged, as long as the view is used.
class TensorView {
 public:
  TensorView(const Tensor& tensor)  // NOLINT(google-explicit-constructor): a tensor is one of the things that can be looked at
      : type_(tensor.type()), shape_(tensor.shape()), bytes_(tensor.bytes()), tensor_(&tensor) {}
  /// `bytes` are as many as the shape needs.
  TensorView(ElementType type, Shape shape, std::span<const std::byte> bytes) : type_(type), shape_(std::move(shape)), bytes_(bytes) {}

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  /// As Tensor::values().
  template <class T>
  [[nodiscard]] std::span<const T> values() const {
    require_type<T>(type_);
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  /// Null: what is looked at is no tensor.
  [[nodiscard]] const Tensor* tensor() const { return tensor_; }
  [[nodiscard]] Tensor copy() const;

 private:
  ElementType type_;
  Shape shape_;
  std::span<const std::byte> bytes_;
  const Tensor* tensor_ = nullptr;
};

}  // namespace lastbit
