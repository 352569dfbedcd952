// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/graph_reader.hpp"

#include <algorithm>

#include "formats/onnx/constants.hpp"
#include "formats/onnx/merged_pairs.hpp"
#include "lastbit/printable.hpp"

namespace lastbit::onnx_format {

bool is_standard(const onnx::NodeProto& node, std::string_view name) {
  return node.op_type() == name && (node.domain().empty() || node.domain() == "ai.onnx");
}

std::string GraphReader::place_of_node(int index) const {
  const auto& node = source_.node(index);
  return where_ + ": " + printable(node.op_type()) + (node.name().empty() ? "" : " '" + printable(node.name()) + "'") + " (node " +
         std::to_string(index) + ")";
}

// Constants.

void GraphReader::define_constant(const std::string& name, Tensor values) {
  if (name.empty() || graph_[graph_.value(name)].known)
    graph_.fail(ErrorCode::malformed_file, "'" + printable(name) + "' is given twice, or without a name");
  defined_.insert(name);
  graph_.set_constant(graph_.value(name), std::move(values));
}

void GraphReader::define_constant(const std::string& name, const onnx::TensorProto& source) {
  const bool empty = std::find(source.dims().begin(), source.dims().end(), 0) != source.dims().end();
  if (!empty) return define_constant(name, tensor_from(source, file_.external, graph_.budget(), graph_.place()));
  if (name.empty() || graph_[graph_.value(name)].known)
    graph_.fail(ErrorCode::malformed_file, "'" + printable(name) + "' is given twice, or without a name");
  defined_.insert(name);
  Value& value = graph_[graph_.value(name)];
  value.known = value.empty = true;
}

void GraphReader::read_initializers() {
  if (source_.sparse_initializer_size() != 0) graph_.fail(ErrorCode::unsupported_operation, "sparse tensors are not supported");
  for (int i = 0; i < source_.initializer_size(); ++i) {
    const auto& initializer = source_.initializer(i);
    graph_.set_place(where_ + ": initializer " + std::to_string(i) + " '" + printable(initializer.name()) + "'");
    if (graph_.find(initializer.name()) != no_value) graph_.fail(ErrorCode::malformed_file, "the name is given already");
    define_constant(initializer.name(), initializer);
  }
}

template <class T>
void GraphReader::define_list(const std::string& name, Shape shape, const std::vector<T>& values) {
  if (values.empty()) graph_.fail(ErrorCode::malformed_file, "an empty list");
  graph_.budget().spend(values.size() * sizeof(T), graph_.place());
  define_constant(name, Tensor::from<T>(std::move(shape), values));
}

void GraphReader::read_constant(int index) {
  graph_.set_place(place_of_node(index));
  const auto& node = source_.node(index);
  if (node.output_size() != 1 || node.attribute_size() != 1) graph_.fail(ErrorCode::malformed_file, "one value is needed");
  const auto& attribute = node.attribute(0);
  if (attribute.name() == "value" && attribute.has_t()) return define_constant(node.output(0), attribute.t());
  if (attribute.name() == "value_float") return define_list<float>(node.output(0), {}, {attribute.f()});
  if (attribute.name() == "value_int") return define_list<std::int64_t>(node.output(0), {}, {attribute.i()});
  if (attribute.name() == "value_floats")
    return define_list<float>(node.output(0), {attribute.floats_size()}, {attribute.floats().begin(), attribute.floats().end()});
  if (attribute.name() == "value_ints")
    return define_list<std::int64_t>(node.output(0), {attribute.ints_size()}, {attribute.ints().begin(), attribute.ints().end()});
  graph_.fail(ErrorCode::unsupported_operation, "attribute " + printable(attribute.name()) + " is not supported");
}

// Nodes.

void GraphReader::name_outputs(int index) {
  graph_.set_place(place_of_node(index));
  for (const std::string& name : source_.node(index).output()) {
    if (name.empty()) continue;
    const bool is_new = graph_.find(name) == no_value && defined_.insert(name).second;
    if (!is_new) graph_.fail(ErrorCode::malformed_file, "output '" + printable(name) + "' is given already");
    static_cast<void>(graph_.value(name));
  }
}

void GraphReader::read_nodes() {
  for (int i = 0; i < source_.node_size(); ++i) name_outputs(i);
  for (int i = 0; i < source_.node_size(); ++i)
    if (is_standard(source_.node(i), "Constant")) read_constant(i);
  const Folder folder(source_, graph_, file_.opset);
  state_merged_pairs(source_, graph_);
  std::vector<bool> done(static_cast<std::size_t>(source_.node_size()), false);
  for (int i = 0; i < source_.node_size(); ++i) {
    if (done[static_cast<std::size_t>(i)] || is_standard(source_.node(i), "Constant")) continue;
    graph_.set_place(place_of_node(i));
    require_defined(i);
    if (compute(i, folder)) continue;
    if (is_standard(source_.node(i), "If")) {
      read_if(i, folder);
      continue;
    }
    const Operator& op = *find_operator(source_.node(i).domain(), source_.node(i).op_type());
    auto fold = folder.between_quantized(i, op);
    if (!fold) fold = folder.with_batch_normalization(i);
    graph_.set_place(place_of_node(i));
    const std::size_t first = graph_.operation_count();
    if (fold) {
      for (const int other : fold->nodes) done[static_cast<std::size_t>(other)] = true;
      op.read(NodeReader(graph_, source_.node(i), file_.opset, std::move(fold->operands)));
    } else {
      read_node(source_.node(i), op, folder.plain_operands(i));
    }
    graph_.name_node(first, source_.node(i).name());
  }
}

void GraphReader::require_defined(int index) const {
  for (const std::string& name : source_.node(index).input()) {
    const ValueId id = name.empty() ? no_value : graph_.find(name);
    if (name.empty() || (id != no_value && graph_[id].known)) continue;
    graph_.fail(ErrorCode::malformed_file, "input '" + printable(name) + "' is not computed before it is read");
  }
  const auto& outputs = source_.node(index).output();
  const bool may_lack_first = is_standard(source_.node(index), "LSTM");  // of which the last state alone may be read
  const bool has_some = std::ranges::any_of(outputs, [](const std::string& name) { return !name.empty(); });
  if (!has_some || (outputs[0].empty() && !may_lack_first)) graph_.fail(ErrorCode::malformed_file, "no output");
}

/// What follows from constants and shapes alone, if it does.
bool GraphReader::compute(int index, const Folder& folder) {
  constexpr std::int64_t first_opset = 7;  // before it broadcasting was asked for, and along an axis
  const ConstantOperator* const op = find_constant_operator(source_.node(index));
  if (op == nullptr) return false;
  const NodeReader node(graph_, source_.node(index), file_.opset, folder.plain_operands(index));
  const bool known = op->reads_shapes || (file_.opset >= first_opset && has_constant_inputs(node));
  if (known) op->compute(node);
  else if (find_operator(source_.node(index).domain(), op->name) == nullptr)
    graph_.fail(ErrorCode::unsupported_operation, "its inputs are computed; it is read of constants alone");
  return known;
}

/// What moves dequantised values moves the integers instead, and leaves their meaning to who reads them; unless it brings real values of its own.
void GraphReader::read_node(const onnx::NodeProto& source, const Operator& op, NodeOperands operands) {
  const ValueId input = operands.inputs.empty() ? no_value : operands.inputs.front();
  const bool moves = op.folding == Folding::equal && input != no_value;
  const bool moves_integers = moves && graph_[input].quantized != no_value && !graph_[input].quantization.per_channel() &&
                              operands.outputs.size() == 1 && operands.outputs.front() != no_value &&
                              !pads_with_a_real_value(NodeReader(graph_, source, file_.opset, operands));
  operands.inherits = moves && is_integer(graph_[input].type);
  if (!moves_integers) return op.read(NodeReader(graph_, source, file_.opset, std::move(operands)));
  const ValueId codes = graph_[input].quantized, output = operands.outputs.front();
  graph_.set_quantization(codes, graph_[input].quantization);
  const ValueId moved = graph_.hidden_value(graph_[output].name + " (quantised)", graph_[codes].type, {}, graph_[input].quantization);
  graph_[moved].typed = true;
  graph_[moved].merged = graph_[codes].merged;
  operands.inputs.front() = codes;
  operands.outputs.front() = moved;
  operands.folded = true;
  op.read(NodeReader(graph_, source, file_.opset, std::move(operands)));
  Value& value = graph_[output];
  value.known = true;
  value.type = ElementType::float32;
  value.shape = graph_[moved].shape;
  value.quantization = graph_[input].quantization;
  value.quantized = moved;
}

// If.

/// The branch that a constant condition takes stands in its place. By a condition that is computed both are, and one's outputs are chosen.
void GraphReader::read_if(int index, const Folder& folder) {
  const NodeReader node(graph_, source_.node(index), file_.opset, folder.plain_operands(index));
  node.require_inputs(1, 1);
  if (node.input().type != ElementType::boolean || node.shape().element_count() != 1) node.malformed("the condition is not one bool");
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < node.output_count(); ++i) outputs.push_back(node.has_output(i) ? node.output_id(i) : no_value);
  if (const Tensor* const condition = graph_.constant(node.input_id()))
    return read_branch(index, condition->bytes()[0] != std::byte{0} ? "then_branch" : "else_branch", outputs);
  const auto hidden = [&](const std::string& branch) {
    std::vector<ValueId> values;
    for (const ValueId output : outputs)
      values.push_back(output == no_value ? no_value
                                          : graph_.hidden_value(graph_[output].name + " (" + branch + ")", ElementType::float32, {}, {}));
    read_branch(index, branch, values);
    return values;
  };
  const std::vector<ValueId> taken = hidden("then_branch"), otherwise = hidden("else_branch");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == no_value) continue;
    graph_.set_place(place_of_node(index));
    if (graph_[taken[i]].empty || graph_[otherwise[i]].empty || graph_[taken[i]].shape != graph_[otherwise[i]].shape)
      node.unsupported("a computed condition between outputs of different shapes");
    emit_choice(NodeReader(graph_, source_.node(index), file_.opset,
                           {.inputs = {node.input_id(), taken[i], otherwise[i]}, .outputs = {outputs[i]}, .bounds = {}}));
  }
}

/// Its outputs become these values.
void GraphReader::read_branch(int index, const std::string& name, const std::vector<ValueId>& outputs) {
  const auto& node = source_.node(index);
  const std::string where = place_of_node(index) + ", " + name;
  const auto found = std::ranges::find(node.attribute(), name, &onnx::AttributeProto::name);
  graph_.set_place(place_of_node(index));
  if (found == node.attribute().end() || !found->has_g() || static_cast<std::size_t>(found->g().output_size()) != outputs.size())
    graph_.fail(ErrorCode::malformed_file, "no " + name + " with as many outputs");
  const auto& branch = found->g();
  require_supported(file_, branch, where);
  GraphReader reader(file_, branch, where);
  reader.read_initializers();
  reader.read_nodes();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& output = branch.output(static_cast<int>(i)).name();
    graph_.set_place(where + ": output '" + printable(output) + "'");
    const ValueId from = graph_.find(output);
    if (from == no_value || !graph_[from].known) graph_.fail(ErrorCode::malformed_file, "nothing computes it");
    if (outputs[i] == no_value) continue;
    if (graph_[from].empty) graph_[outputs[i]].known = graph_[outputs[i]].empty = true;
    else read_node(node, *find_operator("", "Identity"), {.inputs = {from}, .outputs = {outputs[i]}, .bounds = {}});
  }
  for (const std::string& given : reader.defined_) graph_.forget(given);
}

}  // namespace lastbit::onnx_format
