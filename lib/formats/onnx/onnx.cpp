// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/io/onnx.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "formats/file.hpp"
#include "formats/onnx/folding.hpp"
#include "lastbit/printable.hpp"

namespace lastbit::onnx_format {

const Operator* find_operator(std::string_view domain, std::string_view name) {
  const std::string_view known = domain == "ai.onnx" ? std::string_view() : domain;
  for (const auto& list : {convolution_operators(), elementwise_operators(), matrix_operators(), movement_operators(), pad_operators(),
                           pool_operators(), quantized_operators(), resize_operators()}) {
    for (const Operator& op : list)
      if (op.name == name && op.domain == known) return &op;
  }
  return nullptr;
}

namespace {

constexpr std::int64_t newest_opset = 22;

class FileReader {
 public:
  FileReader(const onnx::ModelProto& file, std::size_t size, std::string_view where, const OnnxOptions& options, ExternalData external)
      : file_(file), source_(file.graph()), where_(where), options_(options), external_(std::move(external)), graph_(where, size) {}

  Model read() {
    graph_.set_place(where_ + ": model");
    opset_ = stated_opset();
    if (source_.sparse_initializer_size() != 0) graph_.fail(ErrorCode::unsupported_operation, "sparse tensors are not supported");
    for (int i = 0; i < source_.node_size(); ++i) require_supported(i);
    for (int i = 0; i < source_.initializer_size(); ++i) read_initializer(source_.initializer(i), i);
    for (const auto& input : source_.input()) read_input(input);
    for (int i = 0; i < source_.node_size(); ++i) name_outputs(i);
    read_nodes();
    read_outputs();
    return graph_.finish(printable(source_.name()));
  }

 private:
  [[nodiscard]] std::int64_t stated_opset() const {
    for (const auto& set : file_.opset_import()) {
      if (!set.domain().empty() && set.domain() != "ai.onnx") continue;
      if (set.version() < 1 || set.version() > newest_opset)
        graph_.fail(ErrorCode::unsupported_operation,
                    "opset " + std::to_string(set.version()) + "; 7 to " + std::to_string(newest_opset) + " are supported");
      return set.version();
    }
    graph_.fail(ErrorCode::malformed_file, "no version of the operator set");
  }

  [[nodiscard]] std::string place_of_node(int index) const {
    const auto& node = source_.node(index);
    return where_ + ": " + printable(node.op_type()) + (node.name().empty() ? "" : " '" + printable(node.name()) + "'") + " (node " +
           std::to_string(index) + ")";
  }

  [[nodiscard]] bool is_constant_node(int index) const {
    return source_.node(index).op_type() == "Constant" &&
           (source_.node(index).domain().empty() || source_.node(index).domain() == "ai.onnx");
  }

  void require_supported(int index) {
    const auto& node = source_.node(index);
    if (is_constant_node(index)) return;
    const Operator* const op = find_operator(node.domain(), node.op_type());
    if (op != nullptr && opset_ >= op->since) return;
    graph_.set_place(place_of_node(index));
    if (op != nullptr)
      graph_.fail(ErrorCode::unsupported_operation, "opset " + std::to_string(opset_) + "; the operator is read as it is from opset 7 on");
    graph_.fail(ErrorCode::unsupported_operation,
                "the operator" + (node.domain().empty() ? "" : " of " + printable(node.domain())) + " is not supported");
  }

  // Values.

  void define_constant(const std::string& name, Tensor values) {
    if (name.empty() || graph_[graph_.value(name)].known)
      graph_.fail(ErrorCode::malformed_file, "'" + printable(name) + "' is given twice, or without a name");
    graph_.set_constant(graph_.value(name), std::move(values));
  }

  void read_initializer(const onnx::TensorProto& source, int index) {
    graph_.set_place(where_ + ": initializer " + std::to_string(index) + " '" + printable(source.name()) + "'");
    define_constant(source.name(), source);
  }

  void define_constant(const std::string& name, const onnx::TensorProto& source) {
    const bool empty = std::find(source.dims().begin(), source.dims().end(), 0) != source.dims().end();
    if (!empty) return define_constant(name, tensor_from(source, external_, graph_.budget(), graph_.place()));
    if (name.empty() || graph_[graph_.value(name)].known)
      graph_.fail(ErrorCode::malformed_file, "'" + printable(name) + "' is given twice, or without a name");
    Value& value = graph_[graph_.value(name)];
    value.known = value.empty = true;
  }

  /// Older files list constants among the inputs.
  void read_input(const onnx::ValueInfoProto& source) {
    graph_.set_place(where_ + ": input '" + printable(source.name()) + "'");
    const ValueId id = graph_.value(source.name());
    if (graph_[id].constant || graph_[id].empty) return;
    if (const auto bound = options_.constants.find(source.name()); bound != options_.constants.end())
      return define_constant(source.name(), bound->second);
    if (graph_[id].known || source.name().empty()) graph_.fail(ErrorCode::malformed_file, "given twice, or without a name");
    if (!source.type().has_tensor_type() || !source.type().tensor_type().has_shape())
      graph_.fail(ErrorCode::unsupported_operation, "it is no tensor of a stated shape");
    const auto& type = source.type().tensor_type();
    const auto element = element_type_from(type.elem_type());
    if (!element) graph_.fail(ErrorCode::unsupported_operation, "element type " + name_of_type(type.elem_type()) + " is not supported");
    Value& value = graph_[id];
    value.known = true;
    value.type = *element;
    value.shape = shape_of(type.shape());
    graph_.add_input(id);
  }

  /// An open batch is one sample.
  [[nodiscard]] Shape shape_of(const onnx::TensorShapeProto& source) const {
    std::vector<std::int64_t> sizes;
    for (int axis = 0; axis < source.dim_size(); ++axis) {
      const auto& dimension = source.dim(axis);
      const bool open = !dimension.has_dim_value() || dimension.dim_value() < 1;
      if (open && axis != 0) {
        graph_.fail(ErrorCode::unsupported_operation, "dimension " + std::to_string(axis) + " " +
                                                          (dimension.has_dim_param() ? "'" + printable(dimension.dim_param()) + "' " : "") +
                                                          "is not fixed; only the first, the batch, may be open");
      }
      sizes.push_back(open ? 1 : dimension.dim_value());
    }
    return Shape(std::move(sizes));
  }

  void name_outputs(int index) {
    graph_.set_place(place_of_node(index));
    for (const std::string& name : source_.node(index).output()) {
      if (name.empty()) continue;
      const bool is_new = graph_.find(name) == no_value && written_.insert(name).second;
      if (!is_new) graph_.fail(ErrorCode::malformed_file, "output '" + printable(name) + "' is given already");
      static_cast<void>(graph_.value(name));
    }
  }

  // Nodes.

  void read_constant(int index) {
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

  template <class T>
  void define_list(const std::string& name, Shape shape, const std::vector<T>& values) {
    if (values.empty()) graph_.fail(ErrorCode::malformed_file, "an empty list");
    graph_.budget().spend(values.size() * sizeof(T), graph_.place());
    define_constant(name, Tensor::from<T>(std::move(shape), values));
  }

  void read_nodes() {
    for (int i = 0; i < source_.node_size(); ++i)
      if (is_constant_node(i)) read_constant(i);
    const Folder folder(source_, graph_, opset_);
    std::vector<bool> done(static_cast<std::size_t>(source_.node_size()), false);
    for (int i = 0; i < source_.node_size(); ++i) {
      if (done[static_cast<std::size_t>(i)] || is_constant_node(i)) continue;
      graph_.set_place(place_of_node(i));
      require_defined(i);
      const Operator& op = *find_operator(source_.node(i).domain(), source_.node(i).op_type());
      auto fold = folder.between_quantized(i, op);
      if (!fold) fold = folder.with_batch_normalization(i);
      graph_.set_place(place_of_node(i));
      if (!fold) {
        read_node(i, op, folder.plain_operands(i));
        continue;
      }
      for (const int other : fold->nodes) done[static_cast<std::size_t>(other)] = true;
      op.read(NodeReader(graph_, source_.node(i), opset_, std::move(fold->operands)));
    }
  }

  void require_defined(int index) const {
    for (const std::string& name : source_.node(index).input()) {
      const ValueId id = name.empty() ? no_value : graph_.find(name);
      if (name.empty() || (id != no_value && graph_[id].known)) continue;
      graph_.fail(ErrorCode::malformed_file, "input '" + printable(name) + "' is not computed before it is read");
    }
    if (source_.node(index).output_size() == 0 || source_.node(index).output(0).empty())
      graph_.fail(ErrorCode::malformed_file, "no output");
  }

  /// What moves dequantised values moves the integers instead, and leaves their meaning to who reads them; unless it brings real values of its own.
  void read_node(int index, const Operator& op, NodeOperands operands) {
    const ValueId input = operands.inputs.empty() ? no_value : operands.inputs.front();
    const bool moves = op.folding == Folding::equal && input != no_value;
    const bool moves_integers = moves && graph_[input].quantized != no_value && !graph_[input].quantization.per_channel() &&
                                operands.outputs.size() == 1 && operands.outputs.front() != no_value &&
                                !pads_with_a_real_value(NodeReader(graph_, source_.node(index), opset_, operands));
    operands.inherits = moves && is_integer(graph_[input].type);
    if (!moves_integers) return op.read(NodeReader(graph_, source_.node(index), opset_, std::move(operands)));
    const ValueId codes = graph_[input].quantized, output = operands.outputs.front();
    graph_.set_quantization(codes, graph_[input].quantization);
    const ValueId moved = graph_.hidden_value(graph_[output].name + " (quantised)", graph_[codes].type, {}, graph_[input].quantization);
    graph_[moved].typed = true;
    operands.inputs.front() = codes;
    operands.outputs.front() = moved;
    operands.folded = true;
    op.read(NodeReader(graph_, source_.node(index), opset_, std::move(operands)));
    Value& value = graph_[output];
    value.known = true;
    value.type = ElementType::float32;
    value.shape = graph_[moved].shape;
    value.quantization = graph_[input].quantization;
    value.quantized = moved;
  }

  void read_outputs() {
    for (const auto& output : source_.output()) {
      graph_.set_place(where_ + ": output '" + printable(output.name()) + "'");
      const ValueId id = graph_.find(output.name());
      if (id == no_value || !graph_[id].known || graph_[id].empty) graph_.fail(ErrorCode::malformed_file, "nothing computes it");
      graph_.add_output(id);
    }
  }

  const onnx::ModelProto& file_;
  const onnx::GraphProto& source_;
  std::string where_;
  const OnnxOptions& options_;
  ExternalData external_;
  Graph graph_;
  std::int64_t opset_ = 0;
  std::unordered_set<std::string> written_;
};

/// Protobuf counts in int, and bounds its own recursion.
template <class Message>
Message parsed(std::span<const std::byte> bytes, std::string_view where, const char* what) {
  Message message;
  const bool fits = bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (!fits || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw Error(ErrorCode::malformed_file, std::string(where), what);
  return message;
}

Model parse(std::span<const std::byte> bytes, std::string_view where, const OnnxOptions& options, ExternalData external) {
  const auto file = parsed<onnx::ModelProto>(bytes, where, "truncated or corrupt .onnx file");
  if (!file.has_graph()) throw Error(ErrorCode::malformed_file, std::string(where), "not an .onnx model: it has no graph");
  return FileReader(file, bytes.size(), where, options, std::move(external)).read();
}

}  // namespace
}  // namespace lastbit::onnx_format

namespace lastbit {

Model parse_onnx(std::span<const std::byte> bytes, std::string_view where, const OnnxOptions& options) {
  return onnx_format::parse(bytes, where, options, {});
}

Model read_onnx(const std::filesystem::path& path, const OnnxOptions& options) {
  return onnx_format::parse(read_file(path), path.string(), options, {.folder = path.parent_path(), .seen = {}});
}

Tensor parse_onnx_tensor(std::span<const std::byte> bytes, std::string_view where) {
  const auto source = onnx_format::parsed<onnx::TensorProto>(bytes, where, "truncated or corrupt tensor");
  onnx_format::ExternalData external;
  onnx_format::Budget budget(bytes.size());
  return onnx_format::tensor_from(source, external, budget, std::string(where));
}

}  // namespace lastbit
