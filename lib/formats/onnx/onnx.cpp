// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/io/onnx.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "formats/file.hpp"
#include "formats/onnx/cut.hpp"
#include "formats/onnx/graph_reader.hpp"
#include "formats/onnx/input_shapes.hpp"
#include "formats/onnx/planar_pools.hpp"
#include "lastbit/printable.hpp"

namespace lastbit::onnx_format {

const Operator* find_operator(std::string_view domain, std::string_view name) {
  const std::string_view known = domain == "ai.onnx" ? std::string_view() : domain;
  for (const auto& list :
       {convolution_operators(), elementwise_operators(), logic_operators(), matrix_operators(), movement_operators(), ordering_operators(),
        pad_operators(), pool_operators(), quantized_operators(), real_operators(), recurrent_operators(), resize_operators()}) {
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
      : file_(file),
        source_(file.graph()),
        state_{std::string(where), &source_, options, std::move(external), 0, Graph(where, size)},
        nodes_(state_, source_, state_.where) {}

  void propose_by(ReadPart read) { state_.read_part = std::move(read); }

  Model read() {
    state_.graph.set_place(state_.where + ": model");
    state_.opset = stated_opset();
    require_supported(state_, source_, state_.where);
    nodes_.read_initializers();
    read_inputs();
    read_nodes();
    read_outputs();
    Model model = state_.graph.finish(printable(source_.name()));
    state_planar_pools(model);
    if (!state_.options.cut.is_whole()) drop_unread_inputs(model);
    return model;
  }

 private:
  [[nodiscard]] std::int64_t stated_opset() const {
    for (const auto& set : file_.opset_import()) {
      if (!set.domain().empty() && set.domain() != "ai.onnx") continue;
      if (set.version() < 1 || set.version() > newest_opset)
        state_.graph.fail(ErrorCode::unsupported_operation,
                          "opset " + std::to_string(set.version()) + "; 7 to " + std::to_string(newest_opset) + " are supported");
      return set.version();
    }
    return no_opset;
  }

  void set_place_of_input(const onnx::ValueInfoProto& source) {
    state_.graph.set_place(state_.where + ": input '" + printable(source.name()) + "'");
  }

  /// A constant that is given is of an input, and of its type.
  void require_bound_inputs() const {
    for (const auto& [name, value] : state_.options.constants) {
      const std::string text = "a constant is given for '" + printable(name) + "'";
      const auto input = std::ranges::find(source_.input(), name, &onnx::ValueInfoProto::name);
      if (input == source_.input().end()) throw Error(ErrorCode::bad_input, state_.where, text + ", which is no input");
      const std::int32_t stated = input->type().tensor_type().elem_type();
      if (stated != 0 && element_type_from(stated) != value.type())
        throw Error(ErrorCode::bad_input, state_.where,
                    text + " of " + std::string(name_of(value.type())) + "; the file says " + name_of_type(stated));
    }
  }

  /// Older files list constants among the inputs.
  void read_inputs() {
    require_bound_inputs();
    std::vector<const onnx::ValueInfoProto*> open;
    for (const auto& input : source_.input()) {
      set_place_of_input(input);
      const ValueId id = state_.graph.find(input.name());
      if (id != no_value && (state_.graph[id].constant || state_.graph[id].empty)) continue;
      const auto bound = state_.options.constants.find(input.name());
      if (!input.type().has_tensor_type()) state_.graph.fail(ErrorCode::unsupported_operation, "it is no tensor");
      if (bound != state_.options.constants.end()) nodes_.define_constant(input.name(), bound->second);
      else open.push_back(&input);
    }
    const auto shapes = input_shapes(open, state_.options, state_.where);
    batches_ = open_batches(open, state_.options, state_.where);
    for (const auto* const input : open) {
      set_place_of_input(*input);
      read_input(*input, shapes.at(input->name()));
    }
  }

  void read_input(const onnx::ValueInfoProto& source, const Shape& shape) {
    Graph& graph = state_.graph;
    const ValueId id = graph.value(source.name());
    if (graph[id].known || source.name().empty()) graph.fail(ErrorCode::malformed_file, "given twice, or without a name");
    const std::int32_t code = source.type().tensor_type().elem_type();
    const auto element = element_type_from(code);
    if (!element) graph.fail(ErrorCode::unsupported_operation, "element type " + name_of_type(code) + " is not supported");
    Value& value = graph[id];
    value.known = true;
    value.type = *element;
    value.shape = shape;
    if (*element != ElementType::float32 && shape.element_count() == 1) numbers_.push_back(source.name());
    graph.add_input(id);
  }

  /// What does not fit may fit when the user states more.
  void read_nodes() {
    try {
      nodes_.read_nodes();
    } catch (const Error& error) {
      std::vector<Diagnostic> problems = error.diagnostics();
      for (Diagnostic& problem : problems) problem.message += advice(problem.code);
      throw Error(std::move(problems));
    }
  }

  [[nodiscard]] std::string advice(ErrorCode code) const {
    if (code == ErrorCode::shape_mismatch && !batches_.empty())
      return "; a batch that the file leaves open counts as 1:" + batches_ + " states it";
    std::string bindings;
    for (const std::string& name : numbers_) bindings += " --bind " + printable(name) + "=FILE.npy";
    return !bindings.empty() ? "; an input can be a constant:" + bindings : "";
  }

  void read_outputs() {
    Graph& graph = state_.graph;
    for (const auto& output : source_.output()) {
      graph.set_place(state_.where + ": output '" + printable(output.name()) + "'");
      const ValueId id = graph.find(output.name());
      if (id == no_value || !graph[id].known || graph[id].empty) graph.fail(ErrorCode::malformed_file, "nothing computes it");
      graph.add_output(id);
    }
  }

  const onnx::ModelProto& file_;
  const onnx::GraphProto& source_;
  FileState state_;
  GraphReader nodes_;
  std::string batches_;               ///< open_batches()
  std::vector<std::string> numbers_;  ///< inputs of one value that is no float
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

/// Cuts the graph; of the options, what is left of them then.
OnnxOptions cut_file(onnx::ModelProto& file, const OnnxOptions& options, std::string_view where) {
  std::vector<std::string> former;
  for (const auto& input : file.graph().input()) former.push_back(input.name());
  cut_graph(*file.mutable_graph(), options.cut, std::string(where));
  const auto is_gone = [&](const auto& named) {
    const auto is_named = [&](const auto& input) { return input.name() == named.first; };
    return std::ranges::find(former, named.first) != former.end() && std::ranges::none_of(file.graph().input(), is_named);
  };
  OnnxOptions left = options;
  std::erase_if(left.constants, is_gone);
  std::erase_if(left.shapes, is_gone);
  return left;
}

/// Of inputs of the part that the file gives no shape, that of what the nodes before them compute, where these can be read.
void state_computed_shapes(onnx::GraphProto& part, onnx::ModelProto whole, std::size_t size, std::string_view where,
                           const OnnxOptions& options, const ExternalData& external) {
  Cut before{{}, inputs_without_shape(part)};
  std::erase_if(before.to, [&](const std::string& name) { return options.shapes.contains(name); });
  if (before.to.empty()) return;
  OnnxOptions of_whole{.constants = options.constants, .shapes = options.shapes, .cut = before};
  for (const std::string& name : options.cut.from) of_whole.shapes.erase(name);
  std::optional<Model> model;
  try {
    const OnnxOptions left = cut_file(whole, of_whole, where);
    model = FileReader(whole, size, where, left, external).read();
  } catch (const Error&) {
    return;  // the message about the shape says how to give it
  }
  for (std::size_t i = 0; i < before.to.size(); ++i) {
    const auto input = std::ranges::find(*part.mutable_input(), before.to[i], &onnx::ValueInfoProto::name);
    auto& stated = *input->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const std::int64_t extent : model->tensor(model->outputs[i]).shape.sizes()) stated.add_dim()->set_dim_value(extent);
  }
}

Trial trial_of(const onnx::ModelProto& whole, std::size_t size, std::string_view where, const OnnxOptions& options,
               const ExternalData& external) {
  onnx::ModelProto part = whole;
  Trial trial;
  try {
    const OnnxOptions left = cut_file(part, options, where);
    if (!options.cut.from.empty()) state_computed_shapes(*part.mutable_graph(), whole, size, where, options, external);
    trial.open = inputs_without_shape(part.graph());
    trial.is_read = trial.open.empty() && !FileReader(part, size, where, left, external).read().operations.empty();
  } catch (const Error&) {
    trial.open.clear();
  }
  return trial;
}

Model parse(std::span<const std::byte> bytes, std::string_view where, const OnnxOptions& options, ExternalData external) {
  auto file = parsed<onnx::ModelProto>(bytes, where, "truncated or corrupt .onnx file");
  if (!file.has_graph()) throw Error(ErrorCode::malformed_file, std::string(where), "not an .onnx model: it has no graph");
  if (options.cut.is_whole()) {
    FileReader reader(file, bytes.size(), where, options, external);
    reader.propose_by([&](const Cut& cut) {
      OnnxOptions of_part = options;
      of_part.cut = cut;
      return trial_of(file, bytes.size(), where, of_part, external);
    });
    return reader.read();
  }
  const onnx::ModelProto whole = options.cut.from.empty() ? onnx::ModelProto() : file;
  const OnnxOptions of_part = cut_file(file, options, where);
  if (!options.cut.from.empty()) state_computed_shapes(*file.mutable_graph(), whole, bytes.size(), where, options, external);
  return FileReader(file, bytes.size(), where, of_part, std::move(external)).read();
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
