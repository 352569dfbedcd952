// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operators that are computed while the file is read, because all they read is constant: the shapes of tensors and what follows from them.
// Integers are computed in int64, and what leaves it or their type is refused; reals in double, each result rounded to its type once.
#pragma once

#include <span>
#include <string_view>

#include "formats/onnx/node.hpp"

namespace lastbit::onnx_format {

struct ConstantOperator {
  std::string_view name;
  void (*compute)(const NodeReader&);
  bool reads_shapes = false;  ///< reads nothing but the shapes of its inputs
};

[[nodiscard]] std::span<const ConstantOperator> arithmetic_of_constants();
[[nodiscard]] std::span<const ConstantOperator> movement_of_constants();

/// Null for an operator that is not computed so, or not of the standard's own.
[[nodiscard]] const ConstantOperator* find_constant_operator(const onnx::NodeProto& node);

/// Whether all its inputs have values, or none.
[[nodiscard]] bool has_constant_inputs(const NodeReader& node);

// Shared by both tables.

/// The output's value. Without elements it is an input left out.
void set_output(const NodeReader& node, Tensor values);
void set_empty_output(const NodeReader& node);
/// A tensor for the output; its bytes are spent.
[[nodiscard]] Tensor new_tensor(const NodeReader& node, ElementType type, Shape shape);
[[nodiscard]] Shape broadcast_of(const NodeReader& node, const Shape& a, const Shape& b);

/// The type in which values of an element type are computed.
template <class Use>
void with_numbers(ElementType type, Use&& use) {
  if (is_real(type)) use.template operator()<double>();
  else use.template operator()<std::int64_t>();
}
/// All values of a constant.
template <class Number>
[[nodiscard]] std::vector<Number> numbers_of(const NodeReader& node, const Tensor& tensor);
/// The other way: what the type cannot hold is refused; reals are rounded.
template <class Number>
[[nodiscard]] Tensor tensor_of(const NodeReader& node, ElementType type, Shape shape, const std::vector<Number>& numbers);

}  // namespace lastbit::onnx_format
