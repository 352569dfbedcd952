// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/cut.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"

namespace lastbit::onnx_format {
namespace {

constexpr int most_nested = 16;

/// Names that the nodes of a branch read and nothing in it defines.
void add_captured(const onnx::GraphProto& branch, int depth, std::unordered_set<std::string>& names) {
  if (depth > most_nested) return;  // the reader refuses it
  std::unordered_set<std::string> own, read;
  for (const auto& initializer : branch.initializer()) own.insert(initializer.name());
  for (const auto& node : branch.node()) {
    own.insert(node.output().begin(), node.output().end());
    read.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) add_captured(attribute.g(), depth + 1, read);
  }
  for (const auto& output : branch.output()) read.insert(output.name());
  for (const std::string& name : read)
    if (!own.contains(name)) names.insert(name);
}

class Outliner {
 public:
  explicit Outliner(const onnx::GraphProto& graph) {
    for (const auto& input : graph.input()) value(input.name());
    for (const auto& node : graph.node()) {
      GraphOutline::Node& outlined = outline_.nodes.emplace_back();
      outlined.name = node.name();
      std::unordered_set<std::string> captured;
      for (const auto& attribute : node.attribute())
        if (attribute.has_g()) add_captured(attribute.g(), 0, captured);
      for (const std::string& name : node.input()) outlined.inputs.push_back(value(name));
      for (const std::string& name : captured) outlined.inputs.push_back(value(name));
      for (const std::string& name : node.output()) outlined.outputs.push_back(value(name));
    }
    for (const auto& output : graph.output()) outline_.outputs.push_back(value(output.name()));
  }
  GraphOutline take() { return std::move(outline_); }

 private:
  std::int32_t value(const std::string& name) {
    if (name.empty()) return -1;
    const auto [at, added] = numbers_.emplace(name, static_cast<std::int32_t>(outline_.values.size()));
    if (added) outline_.values.push_back(name);
    return at->second;
  }

  GraphOutline outline_;
  std::unordered_map<std::string, std::int32_t> numbers_;
};

/// What the file says of a value, or null.
const onnx::ValueInfoProto* stated(const onnx::GraphProto& graph, const std::string& name) {
  for (const auto* const list : {&graph.input(), &graph.output(), &graph.value_info()}) {
    const auto found = std::ranges::find(*list, name, &onnx::ValueInfoProto::name);
    if (found != list->end() && found->type().has_tensor_type()) return &*found;
  }
  return nullptr;
}

/// Of a zero point, input 2: the type of the codes.
std::int32_t type_of_zero_point(const onnx::GraphProto& graph, const onnx::NodeProto& node) {
  if (node.input_size() < 3) return onnx::TensorProto::UINT8;
  const auto found = std::ranges::find(graph.initializer(), node.input(2), &onnx::TensorProto::name);
  return found == graph.initializer().end() ? std::int32_t{onnx::TensorProto::UINT8} : found->data_type();
}

/// Where the file states no type.
std::int32_t probable_type(const onnx::GraphProto& graph, const std::string& name) {
  for (const auto& node : graph.node()) {
    if (std::ranges::find(node.output(), name) == node.output().end()) continue;
    const std::string& op = node.op_type();
    if (op == "QuantizeLinear") return type_of_zero_point(graph, node);
    if (op == "Shape" || op == "ArgMax" || op == "ArgMin" || op == "Size" || op == "NonZero") return onnx::TensorProto::INT64;
    constexpr std::array logic{"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "And", "Or", "Xor", "Not"};
    if (std::ranges::find(logic, op) != logic.end()) return onnx::TensorProto::BOOL;
    const auto to = std::ranges::find(node.attribute(), "to", &onnx::AttributeProto::name);
    if (op == "Cast" && to != node.attribute().end()) return static_cast<std::int32_t>(to->i());
  }
  for (const auto& node : graph.node())
    if (node.op_type() == "DequantizeLinear" && node.input_size() > 0 && node.input(0) == name) return type_of_zero_point(graph, node);
  return onnx::TensorProto::FLOAT;
}

onnx::ValueInfoProto described(const onnx::GraphProto& graph, const std::string& name) {
  const onnx::ValueInfoProto* const found = stated(graph, name);
  onnx::ValueInfoProto value = found == nullptr ? onnx::ValueInfoProto() : *found;
  value.set_name(name);
  auto& type = *value.mutable_type()->mutable_tensor_type();
  if (type.elem_type() == onnx::TensorProto::UNDEFINED) type.set_elem_type(probable_type(graph, name));
  return value;
}

template <class List, class Keep>
void keep_if(List& list, const Keep& keep) {
  int kept = 0;
  for (int i = 0; i < list.size(); ++i)
    if (keep(i)) list.SwapElements(kept++, i);
  list.DeleteSubrange(kept, list.size() - kept);
}

}  // namespace

GraphOutline outline_of(const onnx::GraphProto& graph) { return Outliner(graph).take(); }

void cut_graph(onnx::GraphProto& graph, const Cut& cut, const std::string& where) {
  const GraphOutline outline = outline_of(graph);
  const KeptPart part = kept_part(outline, cut, where);
  std::vector<onnx::ValueInfoProto> inputs, outputs;
  std::unordered_set<std::string> given, read;
  for (const std::int32_t value : part.inputs) {
    const std::string& name = outline.values[static_cast<std::size_t>(value)];
    const auto constant = std::ranges::find(graph.initializer(), name, &onnx::TensorProto::name);
    if (constant != graph.initializer().end())
      throw Error(ErrorCode::bad_input, where, "--from '" + printable(name) + "': it is a constant");
    if (given.insert(name).second) inputs.push_back(described(graph, name));
  }
  for (const std::int32_t value : part.outputs) outputs.push_back(described(graph, outline.values[static_cast<std::size_t>(value)]));
  for (std::size_t i = 0; i < outline.nodes.size(); ++i) {
    if (!part.nodes[i]) continue;
    for (const std::int32_t input : outline.nodes[i].inputs)
      if (input >= 0) read.insert(outline.values[static_cast<std::size_t>(input)]);
  }
  for (const onnx::ValueInfoProto& output : outputs) read.insert(output.name());
  keep_if(*graph.mutable_node(), [&](int i) { return part.nodes[static_cast<std::size_t>(i)]; });
  keep_if(*graph.mutable_initializer(), [&](int i) { return read.contains(graph.initializer(i).name()); });
  for (const onnx::ValueInfoProto& input : graph.input())
    if (read.contains(input.name()) && !given.contains(input.name())) inputs.push_back(input);
  graph.clear_input();
  for (onnx::ValueInfoProto& input : inputs) *graph.add_input() = std::move(input);
  graph.clear_output();
  for (onnx::ValueInfoProto& output : outputs) *graph.add_output() = std::move(output);
}

std::vector<std::string> inputs_without_shape(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& input : graph.input())
    if (!input.type().tensor_type().has_shape()) names.push_back(input.name());
  return names;
}

}  // namespace lastbit::onnx_format
