// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The shapes of an operation's inputs, the shape of its output that follows from them, and how to say that they do not serve.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lastbit/error.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

class InputShapes {
 public:
  InputShapes(const Model& model, const Operation& operation, std::int64_t outputs)
      : model_(model), operation_(operation), outputs_(outputs) {}

  [[nodiscard]] OperationKind kind() const { return operation_.kind; }
  [[nodiscard]] std::size_t count() const { return operation_.inputs.size(); }
  [[nodiscard]] std::int64_t outputs() const { return outputs_; }
  template <class T>
  [[nodiscard]] const T& attributes() const {
    return std::get<T>(operation_.attributes);
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::shape_mismatch, std::string(name_of(operation_.kind)), message);
  }

  [[nodiscard]] const Shape& input(std::size_t position) const {
    if (position >= count() || operation_.inputs[position] == absent_tensor) fail("input " + std::to_string(position) + " is missing");
    return model_.tensor(operation_.inputs[position]).shape;
  }
  [[nodiscard]] std::vector<std::int64_t> sizes_of(std::size_t position) const {
    return {input(position).sizes().begin(), input(position).sizes().end()};
  }
  [[nodiscard]] const Shape& ranked(std::size_t position, std::size_t rank) const {
    const Shape& shape = input(position);
    if (shape.rank() == rank) return shape;
    fail("'" + model_.tensor(operation_.inputs[position]).name + "' is " + shape.text() + "; " + std::to_string(rank) +
         " dimensions are needed");
  }
  [[nodiscard]] std::size_t axis(std::int64_t value) const {
    const auto rank = static_cast<std::int64_t>(input(0).rank());
    if (value < 0 || value >= rank) fail("axis " + std::to_string(value) + " of a tensor with " + std::to_string(rank) + " dimensions");
    return static_cast<std::size_t>(value);
  }

 private:
  const Model& model_;
  const Operation& operation_;
  std::int64_t outputs_;
};

[[nodiscard]] Shape shape_of_input(const InputShapes& of);  ///< of the first, also where the output's does not follow
[[nodiscard]] Shape shape_of_blocks(const InputShapes& of);
[[nodiscard]] Shape shape_of_block_product(const InputShapes& of);
[[nodiscard]] Shape shape_of_broadcast(const InputShapes& of);
[[nodiscard]] Shape shape_of_select(const InputShapes& of);
[[nodiscard]] Shape shape_of_concat(const InputShapes& of);
[[nodiscard]] Shape shape_of_convolution(const InputShapes& of);
[[nodiscard]] Shape shape_of_detected_boxes(const InputShapes& of);
[[nodiscard]] Shape shape_of_fused_convolution(const InputShapes& of);
[[nodiscard]] Shape shape_of_gather(const InputShapes& of);
[[nodiscard]] Shape shape_of_global_pool(const InputShapes& of);
[[nodiscard]] Shape shape_of_mean(const InputShapes& of);
[[nodiscard]] Shape shape_of_pad(const InputShapes& of);
[[nodiscard]] Shape shape_of_pool(const InputShapes& of);
[[nodiscard]] Shape shape_of_product(const InputShapes& of);
[[nodiscard]] Shape shape_of_recurrent(const InputShapes& of);
[[nodiscard]] Shape shape_of_rows(const InputShapes& of);
[[nodiscard]] Shape shape_of_split(const InputShapes& of);
[[nodiscard]] Shape shape_of_squeeze(const InputShapes& of);
[[nodiscard]] Shape shape_of_transpose(const InputShapes& of);
[[nodiscard]] Shape shape_of_transposed_convolution(const InputShapes& of);

}  // namespace lastbit
