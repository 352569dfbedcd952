// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One operation with its tensors at hand, and how to say what is wrong with it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lastbit/error.hpp"
#include "lastbit/model.hpp"
#include "model/operation_signature.hpp"

namespace lastbit {

/// "file: conv2d 'name' (operation 3)"
[[nodiscard]] inline std::string place_of(std::string_view where, const Operation& operation, std::size_t index) {
  std::string place(where);
  if (!place.empty()) place += ": ";
  return place + std::string(name_of(operation.kind)) + " '" + operation.name + "' (operation " + std::to_string(index) + ")";
}

class OperationView {
 public:
  OperationView(const Model& model, std::size_t index, std::string_view where)
      : model_(model), operation_(model.operations[index]), index_(index), where_(where) {}

  [[nodiscard]] OperationKind kind() const { return operation_.kind; }
  [[nodiscard]] std::size_t input_count() const { return operation_.inputs.size(); }
  [[nodiscard]] std::size_t output_count() const { return operation_.outputs.size(); }
  [[nodiscard]] bool has_input(std::size_t position) const {
    return position < operation_.inputs.size() && operation_.inputs[position] != absent_tensor;
  }
  [[nodiscard]] const ModelTensor& input(std::size_t position = 0) const { return model_.tensor(operation_.inputs[position]); }
  [[nodiscard]] const ModelTensor& output(std::size_t position = 0) const { return model_.tensor(operation_.outputs[position]); }
  template <class T>
  [[nodiscard]] const T& attributes() const {
    return std::get<T>(operation_.attributes);
  }

  [[noreturn]] void fail(ErrorCode code, const std::string& message) const {
    throw Error(code, place_of(where_, operation_, index_), message);
  }
  void require(bool holds, ErrorCode code, std::string_view message) const {
    if (!holds) fail(code, std::string(message));
  }
  void require_shape(const ModelTensor& tensor, const Shape& expected) const {
    if (tensor.shape == expected) return;
    fail(ErrorCode::shape_mismatch, "tensor '" + tensor.name + "' is " + tensor.shape.text() + "; " + expected.text() + " is needed");
  }
  void require_rank(const ModelTensor& tensor, std::size_t rank) const {
    if (tensor.shape.rank() == rank) return;
    fail(ErrorCode::shape_mismatch,
         "tensor '" + tensor.name + "' is " + tensor.shape.text() + "; " + std::to_string(rank) + " dimensions are needed");
  }

 private:
  const Model& model_;
  const Operation& operation_;
  std::size_t index_;
  std::string_view where_;
};

/// The two halves of check_operations: element types with their quantisation, and shapes with attributes.
void check_types(const OperationView& operation);
void check_shapes(const OperationView& operation);

/// The axis of the weights along which their scales lie.
[[nodiscard]] std::int64_t output_channel_axis(const OperationView& operation);

}  // namespace lastbit
