// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of an ONNX graph are one operation of a model.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/onnx/operators.hpp"

namespace lastbit::onnx_format {

/// Who reads and who writes what: names to nodes.
class Uses {
 public:
  explicit Uses(const onnx::GraphProto& graph);
  /// The one node that reads a value nobody else reads; absent for a graph output.
  [[nodiscard]] std::optional<int> only_reader(const std::string& name) const;
  /// By one node, or as a graph output.
  [[nodiscard]] bool is_read_once(const std::string& name) const;
  [[nodiscard]] std::optional<int> writer(const std::string& name) const;

 private:
  static constexpr int outside = -1;  ///< of the graph's nodes
  void add_readers_inside(const onnx::NodeProto& node);

  std::unordered_map<std::string, std::vector<int>> readers_;
  std::unordered_map<std::string, int> writers_;
};

/// What a node reads and writes together with the nodes that are done with it.
struct Fold {
  NodeOperands operands;
  std::vector<int> nodes;
};

class Folder {
 public:
  Folder(const onnx::GraphProto& source, Graph& graph, std::int64_t opset) : source_(source), graph_(graph), opset_(opset), uses_(source) {}

  /// The values that a node names.
  [[nodiscard]] NodeOperands plain_operands(int node) const;
  /// DequantizeLinear before and QuantizeLinear after; nothing if that is not all there is.
  [[nodiscard]] std::optional<Fold> between_quantized(int node, const Operator& op) const;
  /// A convolution and the BatchNormalization after it.
  [[nodiscard]] std::optional<Fold> with_batch_normalization(int node) const;

 private:
  struct Target {
    ValueId value = no_value;
    ElementType type = ElementType::int8;
    Quantization quantization;
    OutputBounds bounds;
    std::vector<int> nodes;
  };
  [[nodiscard]] NodeReader reader(int node) const { return {graph_, source_.node(node), opset_, plain_operands(node)}; }
  [[nodiscard]] bool is(int node, std::string_view name) const;
  [[nodiscard]] std::optional<Target> target_of(const std::string& name, bool through_activation) const;
  [[nodiscard]] std::optional<OutputBounds> bounds_from(int activation, const Target& target) const;
  [[nodiscard]] bool takes_inputs(int node, const Operator& op, const NodeOperands& operands) const;
  [[nodiscard]] bool takes_weights(int node, const NodeOperands& operands) const;
  [[nodiscard]] ElementType type_by_default(ValueId codes, ElementType type) const;
  [[nodiscard]] ElementType input_type_by_default(int node, std::size_t position, ValueId codes) const;
  [[nodiscard]] Statement statement_of(int node, const Operator& op, const NodeOperands& operands,
                                       const std::vector<Target>& targets) const;
  void read_integers(const Operator& op, NodeOperands& operands) const;

  const onnx::GraphProto& source_;
  Graph& graph_;
  std::int64_t opset_;
  Uses uses_;
};

}  // namespace lastbit::onnx_format
