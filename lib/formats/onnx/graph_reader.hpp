// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The nodes of one graph of a file, in order: the network's, or a branch of an If, which sees the values of the graph around it.
#pragma once

#include <string>
#include <unordered_set>

#include "formats/onnx/folding.hpp"
#include "formats/proposed_cut.hpp"
#include "lastbit/io/onnx.hpp"

namespace lastbit::onnx_format {

inline constexpr std::int64_t no_opset = 0;  ///< of a file that states none of the standard's

/// What the graphs of a file share.
struct FileState {
  std::string where;
  const onnx::GraphProto* network;  ///< the graph that no other holds
  const OnnxOptions& options;
  ExternalData external;
  std::int64_t opset = no_opset;
  Graph graph;
  ReadPart read_part{};  ///< of the network, for proposals
};

[[nodiscard]] bool is_standard(const onnx::NodeProto& node, std::string_view name);

/// Names every operator that nothing here reads, or that is read of constants alone where its inputs are computed. Branches are left out:
/// one of them is read. What is supported needs the version of the operator set.
void require_supported(const FileState& file, const onnx::GraphProto& source, const std::string& where);

class GraphReader {
 public:
  /// `where` names the graph in messages.
  GraphReader(FileState& file, const onnx::GraphProto& source, std::string where)
      : file_(file), graph_(file.graph), source_(source), where_(std::move(where)) {}

  void read_initializers();
  void define_constant(const std::string& name, Tensor values);
  void read_nodes();

 private:
  [[nodiscard]] std::string place_of_node(int index) const;
  void define_constant(const std::string& name, const onnx::TensorProto& source);
  template <class T>
  void define_list(const std::string& name, Shape shape, const std::vector<T>& values);
  void read_constant(int index);
  void name_outputs(int index);
  void require_defined(int index) const;
  [[nodiscard]] bool compute(int index, const Folder& folder);
  void read_node(const onnx::NodeProto& source, const Operator& op, NodeOperands operands);
  void read_if(int index, const Folder& folder);
  void read_branch(int index, const std::string& name, const std::vector<ValueId>& outputs);

  FileState& file_;
  Graph& graph_;
  const onnx::GraphProto& source_;
  std::string where_;
  std::unordered_set<std::string> defined_;  ///< names of this graph
};

}  // namespace lastbit::onnx_format
