// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The model under construction, seen through the values of an ONNX graph. A value is one name of the file; it may be a constant, a tensor in
// ONNX's layout (`plain`), that tensor's companion in the layout of images (`image`), or a dequantised value nobody has asked for yet.
// Each is made when it is first asked for; an operation is checked as soon as it is appended.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/onnx/tensor_data.hpp"
#include "lastbit/model_builder.hpp"

namespace lastbit::onnx_format {

using ValueId = std::int32_t;
inline constexpr ValueId no_value = -1;

struct Value {
  std::string name;
  bool known = false;  ///< type and shape are stated
  bool empty = false;  ///< a constant without elements: an input left out
  bool typed = false;  ///< type and quantisation are stated ahead of the shape
  ElementType type = ElementType::float32;
  Shape shape;
  Quantization quantization;
  std::optional<Quantization> merged;  ///< ModelTensor::merged
  Constant constant;
  std::int32_t plain = absent_tensor;
  std::int32_t image = absent_tensor;
  ValueId quantized = no_value;  ///< the integers whose dequantised values these are, by their own `quantization`
};

/// Sizes of an image of N, C and one or two spatial axes, in the library's layout.
[[nodiscard]] Shape image_shape(const Shape& plain);
[[nodiscard]] bool is_image(const Shape& plain);
/// Which axis of the companion an axis of the image is.
[[nodiscard]] std::size_t image_axis(std::size_t axis, std::size_t rank);

class Graph {
 public:
  Graph(std::string_view where, std::size_t file_bytes) : where_(where), budget_(file_bytes) {}

  // Values.
  /// The value of a name, made unknown if it is new.
  [[nodiscard]] ValueId value(const std::string& name);
  [[nodiscard]] ValueId find(const std::string& name) const;
  /// The name is another value's from here on.
  void forget(const std::string& name) { ids_.erase(name); }
  /// A value without a name in the file.
  [[nodiscard]] ValueId hidden_value(const std::string& name, ElementType type, Shape shape, Quantization quantization);
  [[nodiscard]] Value& operator[](ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Value& operator[](ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  /// A constant's values: stored, or found while reading.
  [[nodiscard]] const Tensor* constant(ValueId id) const;
  void set_constant(ValueId id, Tensor tensor);
  /// States the quantisation of integers that had none, and of those they were moved from. Throws if they have another.
  void set_quantization(ValueId id, const Quantization& quantization);
  /// As many scales as the axis has indices.
  void require_channels(const Shape& shape, const Quantization& quantization) const;

  // Tensors, made when first asked for.
  [[nodiscard]] std::int32_t plain(ValueId id);
  [[nodiscard]] std::int32_t image(ValueId id);
  [[nodiscard]] bool has_image(ValueId id) const { return (*this)[id].image != absent_tensor; }
  [[nodiscard]] std::int32_t add_tensor(const std::string& name, ElementType type, Shape shape, Quantization quantization = {});
  void state_merged(std::int32_t index, const std::optional<Quantization>& merged) {
    builder_.model.tensors[static_cast<std::size_t>(index)].merged = merged;
  }
  [[nodiscard]] std::int32_t add_constant(const std::string& name, Tensor values, Quantization quantization = {});
  [[nodiscard]] const ModelTensor& tensor(std::int32_t index) const { return builder_.model.tensor(index); }
  /// A transposed or reshaped copy; of a constant, a constant.
  [[nodiscard]] std::int32_t transposed(std::int32_t index, std::vector<std::int64_t> permutation, const std::string& name);
  [[nodiscard]] std::int32_t reshaped(std::int32_t index, Shape shape, const std::string& name);

  // Operations.
  void emit(OperationKind kind, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs, Attributes attributes,
            Statement stated = Statement::on_codes);
  void emit(OperationKind kind, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs) {
    emit(kind, std::move(inputs), std::move(outputs), default_attributes(kind));
  }
  /// The tensor that an operation is to write for a value: in ONNX's layout, or the companion, from which finish_image makes the former.
  [[nodiscard]] std::int32_t begin_plain(ValueId id);
  [[nodiscard]] std::int32_t begin_image(ValueId id);
  void finish_image(ValueId id);
  [[nodiscard]] std::size_t operation_count() const { return builder_.model.operations.size(); }
  /// Of the operations since `first`, which a node became, the one that computes its output is called as the node is.
  void name_node(std::size_t first, const std::string& name);
  [[nodiscard]] const Operation& last_operation() const { return builder_.model.operations.back(); }

  void add_input(ValueId id);
  void add_output(ValueId id);
  /// Drops what nothing refers to, and checks the whole.
  [[nodiscard]] Model finish(std::string name);

  void set_place(std::string place) { place_ = std::move(place); }
  [[nodiscard]] const std::string& place() const { return place_; }
  [[noreturn]] void fail(ErrorCode code, const std::string& reason) const { throw Error(code, place_, reason); }
  [[nodiscard]] Budget& budget() { return budget_; }

 private:
  [[nodiscard]] std::string unused_name(const std::string& wanted);
  void check_last_operation() const;
  void fold_last_operation();
  void drop_unused_constants();

  std::string where_, place_;
  Budget budget_;
  ModelBuilder builder_;
  std::vector<Value> values_;
  std::unordered_map<std::string, ValueId> ids_;
  std::unordered_set<std::string> tensor_names_;
  std::unordered_map<std::string, int> name_copies_;
  static constexpr std::int32_t no_writer = -1;
  std::vector<std::int32_t> writers_;  ///< of each tensor: the operation that writes it
};

}  // namespace lastbit::onnx_format
