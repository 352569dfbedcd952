// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a graph can be read, told before any of them is.
#include <algorithm>

#include "formats/onnx/constants.hpp"
#include "formats/onnx/cut.hpp"
#include "formats/onnx/graph_reader.hpp"
#include "formats/unsupported.hpp"
#include "lastbit/printable.hpp"

namespace lastbit::onnx_format {
namespace {

class Support {
 public:
  Support(const FileState& file, const onnx::GraphProto& source) : file_(file), source_(source) {
    for (const auto& initializer : source.initializer()) constants_.insert(initializer.name());
    for (const auto& [name, value] : file.options.constants) constants_.insert(name);
  }

  void require(const std::string& where) {
    GraphOutline outline = outline_of(source_);
    for (int i = 0; i < source_.node_size(); ++i) {
      const auto& node = source_.node(i);
      GraphOutline::Node& outlined = outline.nodes[static_cast<std::size_t>(i)];
      outlined.computes = !makes_constants(node);
      if (!outlined.computes) constants_.insert(node.output().begin(), node.output().end());
      outlined.is_supported = !outlined.computes || is_read(node);
      if (!outlined.is_supported) unsupported_.add(name_of(node));
    }
    const bool is_branch = &source_ != file_.network;
    unsupported_.require_none(where, outline, is_branch ? ReadPart() : file_.read_part);
  }

 private:
  [[nodiscard]] bool is_constant(const std::string& name) const {
    if (name.empty() || constants_.contains(name)) return true;
    const ValueId outside = file_.graph.find(name);
    return outside != no_value && (file_.graph[outside].empty || file_.graph.constant(outside) != nullptr);
  }

  /// An If may: its branches are looked at where it is read.
  [[nodiscard]] bool makes_constants(const onnx::NodeProto& node) const {
    if (is_standard(node, "Constant")) return true;
    const ConstantOperator* const computed = find_constant_operator(node);
    if (computed != nullptr && computed->reads_shapes) return true;
    if (!std::ranges::all_of(node.input(), [&](const std::string& name) { return is_constant(name); })) return false;
    const Operator* const op = find_operator(node.domain(), node.op_type());
    const bool moves = std::ranges::any_of(movement_operators(), [op](const Operator& each) { return &each == op; });
    return computed != nullptr || is_standard(node, "If") || moves;
  }

  [[nodiscard]] static bool is_read(const onnx::NodeProto& node) {
    return is_standard(node, "If") || find_operator(node.domain(), node.op_type()) != nullptr;
  }

  [[nodiscard]] static std::string name_of(const onnx::NodeProto& node) {
    const std::string name = node.op_type().empty() ? "one without a name" : printable(node.op_type());
    if (find_constant_operator(node) != nullptr) return name + " of computed values";
    return node.domain().empty() ? name : printable(node.domain()) + ":" + name;
  }

  const FileState& file_;
  const onnx::GraphProto& source_;
  std::unordered_set<std::string> constants_;
  UnsupportedOperators unsupported_;
};

}  // namespace

void require_supported(const FileState& file, const onnx::GraphProto& source, const std::string& where) {
  Support(file, source).require(where);
  if (file.opset == no_opset) throw Error(ErrorCode::malformed_file, where + ": model", "no version of the operator set");
  for (const auto& node : source.node()) {
    const Operator* const op = find_operator(node.domain(), node.op_type());
    if (op == nullptr || file.opset >= op->since) continue;
    throw Error(ErrorCode::unsupported_operation, where + ": " + printable(node.op_type()),
                "opset " + std::to_string(file.opset) + "; the operator is read as it is from opset 7 on");
  }
}

}  // namespace lastbit::onnx_format
