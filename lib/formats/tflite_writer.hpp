// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One operation of a model on its way into a .tflite file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/error.hpp"
#include "lastbit/model.hpp"
#include "tflite_subset_generated.h"

namespace lastbit::tflite_format {

/// A tensor that stands in the file only to say what an attribute says in a model: shape, axes, paddings.
struct AddedConstant {
  std::string name;
  lastbit::Tensor values;
  Quantization quantization;
};

/// What stands in the file for one operation.
struct WrittenOperator {
  BuiltinOperator code = BuiltinOperator::ADD;
  std::int32_t version = 1;
  std::vector<std::int32_t> inputs;  ///< tensors; those from the number of the model's tensors on are added constants
  BuiltinOptions options_type = BuiltinOptions::NONE;
  flatbuffers::Offset<void> options;
};

/// The operation, and the file under construction as far as it needs to know it.
class OperatorWriter {
 public:
  OperatorWriter(const lastbit::Model& model, const Operation& operation, std::string place, flatbuffers::FlatBufferBuilder& builder,
                 std::vector<AddedConstant>& added)
      : model_(model), operation_(operation), place_(std::move(place)), builder_(builder), added_(added) {}

  [[noreturn]] void refuse(const std::string& reason) const {
    throw Error(ErrorCode::unsupported_operation, place_, reason + ", which a .tflite file cannot say");
  }
  [[nodiscard]] OperationKind kind() const { return operation_.kind; }
  [[nodiscard]] const std::vector<std::int32_t>& inputs() const { return operation_.inputs; }
  [[nodiscard]] std::int32_t input_index(std::size_t position) const {
    return position < inputs().size() ? inputs()[position] : absent_tensor;
  }
  [[nodiscard]] bool has_input(std::size_t position) const { return input_index(position) != absent_tensor; }
  [[nodiscard]] const ModelTensor& input(std::size_t position = 0) const { return model_.tensor(inputs()[position]); }
  [[nodiscard]] const ModelTensor& output() const { return model_.tensor(operation_.outputs.front()); }
  [[nodiscard]] std::size_t output_count() const { return operation_.outputs.size(); }
  template <class T>
  [[nodiscard]] const T& attributes() const {
    return std::get<T>(operation_.attributes);
  }
  [[nodiscard]] flatbuffers::FlatBufferBuilder& builder() const { return builder_; }

  /// A one-dimensional int32 constant; returns its number in the file.
  [[nodiscard]] std::int32_t add_integers(std::string_view what, const std::vector<std::int64_t>& values) const;
  [[nodiscard]] std::int32_t add_constant(std::string_view what, lastbit::Tensor values, Quantization quantization) const;

  /// Of bounds that are an activation and nothing else.
  [[nodiscard]] ActivationFunctionType activation(const OutputBounds& bounds) const;
  [[nodiscard]] ActivationFunctionType activation(Activation activation) const;
  /// `same` or `valid`, or explicit sizes that are those of one of them.
  [[nodiscard]] Padding padding(const Padding2d& padding, Extent2d in, Extent2d filter, Extent2d stride, Extent2d dilation) const;
  [[nodiscard]] std::int32_t narrow(std::int64_t value) const;

 private:
  const lastbit::Model& model_;
  const Operation& operation_;
  std::string place_;
  flatbuffers::FlatBufferBuilder& builder_;
  std::vector<AddedConstant>& added_;
};

/// Throws Error(unsupported_operation) for what the format has no operator for, or that its operator cannot say.
[[nodiscard]] WrittenOperator write_operator(const OperatorWriter& source);

}  // namespace lastbit::tflite_format
