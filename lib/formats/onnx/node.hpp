// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One node of an ONNX graph on its way into a model: what it says, and the values it reads and writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/onnx/graph.hpp"

namespace lastbit::onnx_format {

/// The values that operators see: those of the file, or, where a node stands between DequantizeLinear and QuantizeLinear, the integers
/// before and after, with what an activation in between makes of the output.
struct NodeOperands {
  std::vector<ValueId> inputs;   ///< no_value: left out
  std::vector<ValueId> outputs;  ///< no_value: nobody asked for it
  OutputBounds bounds;
  Statement stated = Statement::on_codes;
  bool folded = false;
  bool inherits = false;  ///< what is computed of integers keeps their quantisation
};

class NodeReader {
 public:
  NodeReader(Graph& graph, const onnx::NodeProto& source, std::int64_t opset, NodeOperands operands)
      : graph_(graph), source_(source), opset_(opset), operands_(std::move(operands)) {}

  [[noreturn]] void malformed(const std::string& reason) const { graph_.fail(ErrorCode::malformed_file, reason); }
  /// "`what` is not supported"
  [[noreturn]] void unsupported(const std::string& what) const {
    graph_.fail(ErrorCode::unsupported_operation, what + " is not supported");
  }

  [[nodiscard]] Graph& graph() const { return graph_; }
  [[nodiscard]] const onnx::NodeProto& source() const { return source_; }
  [[nodiscard]] std::int64_t opset() const { return opset_; }
  [[nodiscard]] bool folded() const { return operands_.folded; }
  [[nodiscard]] Statement stated() const { return operands_.stated; }
  [[nodiscard]] const OutputBounds& bounds() const { return operands_.bounds; }

  // Inputs and outputs.
  /// Counts, checked before any is asked for; every input up to `least` is there.
  void require_inputs(std::size_t least, std::size_t most) const;
  void require_outputs(std::size_t most) const;
  [[nodiscard]] std::size_t input_count() const { return operands_.inputs.size(); }
  [[nodiscard]] std::size_t output_count() const { return operands_.outputs.size(); }
  [[nodiscard]] bool has_input(std::size_t position) const {
    return position < operands_.inputs.size() && operands_.inputs[position] != no_value;
  }
  [[nodiscard]] bool has_output(std::size_t position) const {
    return position < operands_.outputs.size() && operands_.outputs[position] != no_value;
  }
  [[nodiscard]] ValueId input_id(std::size_t position = 0) const { return operands_.inputs[position]; }
  [[nodiscard]] ValueId output_id(std::size_t position = 0) const { return operands_.outputs[position]; }
  [[nodiscard]] const Value& input(std::size_t position = 0) const { return graph_[input_id(position)]; }
  [[nodiscard]] const Value& output(std::size_t position = 0) const { return graph_[output_id(position)]; }
  [[nodiscard]] const Shape& shape(std::size_t position = 0) const { return input(position).shape; }
  /// The same node with one of its outputs alone.
  [[nodiscard]] NodeReader only(std::size_t position) const;
  [[nodiscard]] NodeReader with_opset(std::int64_t opset) const { return {graph_, source_, opset, operands_}; }
  /// The plain tensor of an input; absent_tensor for one left out.
  [[nodiscard]] std::int32_t plain(std::size_t position = 0) const {
    return has_input(position) ? graph_.plain(input_id(position)) : absent_tensor;
  }
  [[nodiscard]] std::int32_t image(std::size_t position = 0) const { return graph_.image(input_id(position)); }

  /// The values of an input that is stored, as codes perhaps. An input that is computed is refused.
  [[nodiscard]] const Tensor& constant(std::size_t position) const;
  [[nodiscard]] std::vector<std::int64_t> constant_integers(std::size_t position) const;
  [[nodiscard]] std::vector<double> constant_reals(std::size_t position) const;
  [[nodiscard]] double constant_real(std::size_t position) const;

  // Attributes.
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view name, double otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, const std::string& otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;
  [[nodiscard]] std::vector<double> reals(std::string_view name) const;
  [[nodiscard]] std::optional<Tensor> tensor(std::string_view name) const;
  /// A flag other than 0 is refused: `what` it would ask for.
  void refuse(std::string_view flag, const std::string& what) const;
  [[nodiscard]] std::int64_t axis_of(std::int64_t axis, std::size_t rank) const;
  /// Axes in an attribute, or since some version in an input; negative ones counted from the end, each once, in ascending order.
  [[nodiscard]] std::vector<std::int64_t> axes(std::size_t position, std::size_t rank) const;

  // What it becomes.
  /// States an output's type and quantisation where they are not those of the first input.
  void declare(ElementType type, Quantization quantization, std::size_t position = 0) const;
  /// States an output's shape.
  void define(Shape shape, std::size_t position = 0) const;
  /// An operation in ONNX's layout, from these tensors to the first output.
  void emit_plain(OperationKind kind, std::vector<std::int32_t> inputs, Attributes attributes) const;
  void emit_plain(OperationKind kind, std::vector<std::int32_t> inputs) const;
  /// The same on companions.
  void emit_image(OperationKind kind, std::vector<std::int32_t> inputs, Attributes attributes) const;
  /// Whether an operation that may run in either layout should run on the companion of its first input.
  [[nodiscard]] bool prefers_image() const { return graph_.has_image(input_id()); }
  /// An operation of one input and an output of its shape, in the layout at hand.
  void emit_same_shape(OperationKind kind, Attributes attributes) const;
  void emit_same_shape(OperationKind kind) const { emit_same_shape(kind, default_attributes(kind)); }

 private:
  [[nodiscard]] const onnx::AttributeProto* find(std::string_view name) const;
  [[nodiscard]] const onnx::AttributeProto* find(std::string_view name, onnx::AttributeProto::AttributeType type) const;

  Graph& graph_;
  const onnx::NodeProto& source_;
  std::int64_t opset_;
  NodeOperands operands_;
};

/// Which sizes fit together is checked afterwards; here only that no sum or product of them can overflow.
inline constexpr std::int64_t largest_parameter = std::int64_t{1} << 24;
inline constexpr std::int64_t largest_size = std::int64_t{1} << 40;

}  // namespace lastbit::onnx_format
