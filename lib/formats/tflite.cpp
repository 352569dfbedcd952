// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/io/tflite.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "formats/file.hpp"
#include "formats/kept_part.hpp"
#include "formats/tflite_operator.hpp"
#include "formats/tflite_shapes.hpp"
#include "formats/tflite_sizes.hpp"
#include "formats/tflite_sparse.hpp"
#include "formats/tflite_values.hpp"
#include "formats/unsupported.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::tflite_format {
namespace {

constexpr std::size_t alignment = 16;  // of everything that the format aligns

/// Parts of a file may be referred to any number of times; what is copied of them together stays in proportion to the file.
constexpr std::size_t copies_per_byte = 16;

template <class T>
std::size_t length_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}
template <class T>
auto at(const flatbuffers::Vector<T>* vector, std::size_t index) {
  return vector->Get(static_cast<flatbuffers::uoffset_t>(index));
}

/// The verifier proves vectors aligned to their length, not to their elements.
std::int64_t unaligned_at(const flatbuffers::Vector<std::int64_t>* vector, std::size_t index) {
  std::int64_t value = 0;
  std::memcpy(&value, vector->Data() + index * sizeof value, sizeof value);
  return value;
}

class FileReader {
 public:
  FileReader(std::span<const std::byte> bytes, std::string_view where, const Cut& cut, const GivenShapes& shapes)
      : bytes_(bytes), where_(where), cut_(cut), shapes_(shapes), budget_(bytes.size() * copies_per_byte), file_(verified(bytes)) {}

  /// What does not fit may be due to sizes that the file leaves open.
  lastbit::Model read() {
    const SubGraph& graph = main_subgraph();
    try {
      return read(graph);
    } catch (const Error& error) {
      std::vector<Diagnostic> problems = error.diagnostics();
      const bool may_fit = problems.front().code != ErrorCode::unsupported_operation && problems.front().code != ErrorCode::bad_input;
      for (Diagnostic& problem : problems) problem.message += may_fit ? open_inputs(graph) : "";
      throw Error(std::move(problems));
    }
  }

 private:
  lastbit::Model read(const SubGraph& graph) {
    if (graph.name() != nullptr) builder_.model.name = printable(graph.name()->string_view());
    left_out_ = operators_for_shapes(graph, codes_of(graph));
    const GraphOutline outline = outline_of(graph);
    std::optional<KeptPart> part;
    if (!cut_.is_whole()) part = kept_part(outline, cut_, std::string(where_));
    for (std::size_t i = 0; part && i < left_out_.size(); ++i)
      if (!part->nodes[i]) left_out_[i] = true;
    require_supported(graph, outline);
    if (!shapes_.empty()) resize(graph, part);
    find_used_tensors(graph, part);
    for (std::size_t i = 0; i < length_of(graph.tensors()); ++i) read_tensor(*at(graph.tensors(), i), i);
    for (std::size_t i = 0; i < length_of(graph.operators()); ++i)
      if (!left_out_[i]) read_operation(*at(graph.operators(), i), i);
    builder_.model.inputs = indices(graph.inputs(), "the subgraph's inputs");
    builder_.model.outputs = indices(graph.outputs(), "the subgraph's outputs");
    if (part) take_ends(*part);
    validate(builder_.model, where_);
    return std::move(builder_.model);
  }

  [[nodiscard]] std::string place(const std::string& part) const { return std::string(where_) + ": " + part; }
  [[noreturn]] void malformed(const std::string& part, const std::string& reason) const {
    throw Error(ErrorCode::malformed_file, place(part), reason);
  }
  [[noreturn]] void unsupported(const std::string& part, const std::string& reason) const {
    throw Error(ErrorCode::unsupported_operation, place(part), reason);
  }
  void spend(std::size_t bytes, const std::string& part) {
    if (bytes > budget_) malformed(part, "the file refers to the same data far more often than is sound");
    budget_ -= bytes;
  }

  const tflite_format::Model& verified(std::span<const std::byte> bytes) const {
    const auto refuse = [&](const char* reason) { throw Error(ErrorCode::malformed_file, std::string(where_), reason); };
    if (bytes.size() < 8 || !ModelBufferHasIdentifier(bytes.data())) refuse("not a .tflite file");
    flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (!VerifyModelBuffer(verifier)) refuse("truncated or corrupt .tflite file");
    return *GetModel(bytes.data());
  }

  /// The first: what an interpreter runs that is asked for no other. Operators that call another one are not supported.
  [[nodiscard]] const SubGraph& main_subgraph() const {
    if (length_of(file_.subgraphs()) == 0) malformed("model", "no subgraph");
    return *at(file_.subgraphs(), 0);
  }

  // The part that is read.

  /// What is given may be of an input of the network, or of what the part begins with.
  void resize(const SubGraph& graph, const std::optional<KeptPart>& part) {
    std::vector<std::int32_t> inputs = part ? part->inputs : std::vector<std::int32_t>();
    if (graph.inputs() != nullptr) inputs.insert(inputs.end(), graph.inputs()->begin(), graph.inputs()->end());
    const std::vector<BuiltinOperator> codes = codes_of(graph);
    resized_ = resized_tensors(file_, graph, {codes, left_out_, std::move(inputs)}, shapes_, std::string(where_));
  }

  /// Numbers out of range are reported where they are read.
  [[nodiscard]] GraphOutline outline_of(const SubGraph& graph) const {
    GraphOutline outline;
    for (std::size_t i = 0; i < length_of(graph.tensors()); ++i) {
      const auto* const name = at(graph.tensors(), i)->name();
      outline.values.push_back(name == nullptr ? "" : name->str());
    }
    const auto values = [&](const flatbuffers::Vector<std::int32_t>* list) {
      std::vector<std::int32_t> known;
      for (std::size_t i = 0; i < length_of(list); ++i) {
        const bool exists = at(list, i) >= 0 && static_cast<std::size_t>(at(list, i)) < outline.values.size();
        known.push_back(exists ? at(list, i) : absent_tensor);
      }
      return known;
    };
    for (std::size_t i = 0; i < length_of(graph.operators()); ++i) {
      const Operator& source = *at(graph.operators(), i);
      outline.nodes.push_back({.name = {},
                               .inputs = values(source.inputs()),
                               .outputs = values(source.outputs()),
                               .is_supported = left_out_[i] || is_known(code_of(source, i)),
                               .computes = !left_out_[i]});
    }
    outline.outputs = values(graph.outputs());
    return outline;
  }

  void take_ends(const KeptPart& part) {
    std::vector<std::int32_t> inputs = part.inputs;
    for (const std::int32_t input : builder_.model.inputs)
      if (std::ranges::find(inputs, input) == inputs.end()) inputs.push_back(input);
    builder_.model.inputs = std::move(inputs);
    builder_.model.outputs = part.outputs;
    drop_unread_inputs(builder_.model);
  }

  // Operators.

  [[nodiscard]] const OperatorCode& code_of(const Operator& source, std::size_t index) const {
    if (source.opcode_index() >= length_of(file_.operator_codes())) {
      malformed("operation " + std::to_string(index),
                "operator code " + std::to_string(source.opcode_index()) + " of " + std::to_string(length_of(file_.operator_codes())));
    }
    return *at(file_.operator_codes(), source.opcode_index());
  }
  /// Codes outgrew the byte they were first stored in; the larger of both fields is meant.
  static BuiltinOperator builtin_of(const OperatorCode& code) {
    return std::max(code.builtin_code(), static_cast<BuiltinOperator>(code.deprecated_builtin_code()));
  }

  static std::string_view custom_of(const OperatorCode& code) {
    return code.custom_code() == nullptr ? std::string_view() : code.custom_code()->string_view();
  }

  static bool is_known(const OperatorCode& code) { return is_supported(builtin_of(code), custom_of(code)); }

  [[nodiscard]] std::vector<BuiltinOperator> codes_of(const SubGraph& graph) const {
    std::vector<BuiltinOperator> codes;
    for (std::size_t i = 0; i < length_of(graph.operators()); ++i) codes.push_back(builtin_of(code_of(*at(graph.operators(), i), i)));
    return codes;
  }

  void require_supported(const SubGraph& graph, const GraphOutline& outline) const {
    UnsupportedOperators unsupported;
    for (std::size_t i = 0; i < length_of(graph.operators()); ++i) {
      if (left_out_[i]) continue;
      const OperatorCode& code = code_of(*at(graph.operators(), i), i);
      if (is_known(code)) continue;
      std::string name = name_or_number(builtin_of(code));
      if (code.custom_code() != nullptr && !code.custom_code()->string_view().empty())
        name += " '" + printable(code.custom_code()->string_view()) + "'";
      unsupported.add(name);
    }
    unsupported.require_none(std::string(where_), outline, [this](const Cut& cut) { return trial_of(cut); });
  }

  [[nodiscard]] Trial trial_of(const Cut& cut) const {
    try {
      static_cast<void>(FileReader(bytes_, where_, cut, shapes_).read());
      return {.is_read = true};
    } catch (const Error&) {
      return {};
    }
  }

  [[nodiscard]] std::string open_inputs(const SubGraph& graph) const {
    std::string inputs;
    for (std::size_t i = 0; i < length_of(graph.inputs()); ++i) {
      const auto index = static_cast<std::size_t>(at(graph.inputs(), i));
      const std::string sizes = index < length_of(graph.tensors()) ? open_sizes(*at(graph.tensors(), index)) : "";
      if (!sizes.empty()) inputs += "; input '" + printable(at(graph.tensors(), index)->name()->string_view()) + "' is " + sizes;
    }
    return inputs;
  }

  void read_operation(const Operator& source, std::size_t index) {
    const BuiltinOperator code = builtin_of(code_of(source, index));
    const std::string part = name_or_number(code) + " (operation " + std::to_string(index) + ")";
    std::vector<std::int32_t> inputs = indices(source.inputs(), part), outputs = indices(source.outputs(), part);
    if (outputs.empty()) malformed(part, "no output");
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] == absent_tensor) malformed(part, "output " + std::to_string(i) + " is missing");
    const std::string& output_name = builder_.model.tensor(outputs.front()).name;
    std::string name = output_name.empty() ? "operation " + std::to_string(index) : output_name;
    spend(name.size(), part);
    read_operator(code, custom_of(code_of(source, index)),
                  OperatorReader(builder_, source, std::move(name), place(part), std::move(inputs), std::move(outputs)));
  }

  std::vector<std::int32_t> indices(const flatbuffers::Vector<std::int32_t>* source, const std::string& part) {
    spend(length_of(source) * sizeof(std::int32_t), part);
    std::vector<std::int32_t> result;
    for (std::size_t i = 0; i < length_of(source); ++i) {
      const std::int32_t index = at(source, i);
      if (index != absent_tensor && (index < 0 || static_cast<std::size_t>(index) >= builder_.model.tensors.size())) {
        malformed(part, "tensor " + std::to_string(index) + " of " + std::to_string(builder_.model.tensors.size()));
      }
      result.push_back(index);
    }
    return result;
  }

  // Tensors.

  void find_used_tensors(const SubGraph& graph, const std::optional<KeptPart>& part) {
    used_.assign(length_of(graph.tensors()), false);
    const auto mark = [&](const flatbuffers::Vector<std::int32_t>* list) {
      for (std::size_t i = 0; i < length_of(list); ++i) {
        const auto index = static_cast<std::size_t>(at(list, i));  // one out of range is reported where it is read
        if (index < used_.size()) used_[index] = true;
      }
    };
    if (!part) {
      for (const auto* list : {graph.inputs(), graph.outputs()}) mark(list);
    } else {
      for (const auto* list : {&part->inputs, &part->outputs})
        for (const std::int32_t index : *list)
          if (index >= 0) used_[static_cast<std::size_t>(index)] = true;
    }
    for (std::size_t i = 0; i < length_of(graph.operators()); ++i) {
      if (left_out_[i]) continue;
      mark(at(graph.operators(), i)->inputs());
      mark(at(graph.operators(), i)->outputs());
    }
  }

  void read_tensor(const Tensor& source, std::size_t index) {
    ModelTensor tensor;
    std::string part = "tensor " + std::to_string(index);
    if (source.name() != nullptr && source.name()->size() != 0) {
      spend(source.name()->size(), part);
      tensor.name = source.name()->str();
      if (!is_printable(tensor.name)) malformed(part, "the name is not printable text");
      part += " '" + tensor.name + "'";
    }
    if (!used_[index] ||
        is_empty_list(source)) {  // only takes its number, as the scratch tensors of an operator do, whatever their type and shape
      builder_.model.tensors.push_back(std::move(tensor));
      return;
    }
    const auto type = tflite_format::element_type_from(source.type());
    if (!type) unsupported(part, "element type " + std::string(EnumNameTensorType(source.type())) + " is not supported");
    tensor.type = *type;
    const auto resized = resized_.find(index);
    tensor.shape = resized == resized_.end() ? shape_of(source, part) : resized->second;
    if (!checked_element_count(tensor.shape.sizes(), tensor.type)) malformed(part, "shape " + tensor.shape.text() + " is too large");
    if (is_integer(tensor.type) && source.quantization() != nullptr)
      tensor.quantization = quantization_of(*source.quantization(), tensor.shape.rank(), part);
    if (const auto data = data_of(source, part); !data.empty()) tensor.constant = constant_of(source, tensor, data, part);
    builder_.model.tensors.push_back(std::move(tensor));
  }

  /// The shape of a single value, as RESHAPE is given it: the output says so already.
  static bool is_empty_list(const Tensor& source) {
    const bool is_list = source.type() == TensorType::INT32 || source.type() == TensorType::INT64;
    return is_list && length_of(source.shape()) == 1 && at(source.shape(), 0) == 0;
  }

  Shape shape_of(const Tensor& source, const std::string& part) const {
    if (length_of(source.shape()) > largest_rank) malformed(part, "more than " + std::to_string(largest_rank) + " dimensions");
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < length_of(source.shape()); ++i) {
      sizes.push_back(at(source.shape(), i));
      if (sizes.back() < 1)
        malformed(part,
                  "dimension " + std::to_string(i) + " has size " + std::to_string(sizes.back()) + "; sizes must be fixed and at least 1");
    }
    return Shape(std::move(sizes));
  }

  Quantization quantization_of(const QuantizationParameters& source, std::size_t rank, const std::string& part) {
    if (source.details_type() != 0) unsupported(part, "custom quantization is not supported");
    Quantization quantization;
    quantization.axis = rank == 1 ? 0 : source.quantized_dimension();  // older converters give a bias the axis of its weights
    if (length_of(source.scale()) == 0) return {};                     // only the range seen in training, say
    spend((length_of(source.scale()) + length_of(source.zero_point())) * sizeof(double), part);
    for (std::size_t i = 0; i < length_of(source.scale()); ++i) quantization.scales.push_back(static_cast<double>(at(source.scale(), i)));
    for (std::size_t i = 0; i < length_of(source.zero_point()); ++i)
      quantization.zero_points.push_back(unaligned_at(source.zero_point(), i));
    return quantization;
  }

  /// The tensor's buffer, inside the FlatBuffer or, in files of more than 2 GB, behind it. Empty: not a constant.
  [[nodiscard]] std::span<const std::byte> data_of(const Tensor& source, const std::string& part) const {
    if (source.buffer() == 0) return {};  // by convention
    if (source.buffer() >= length_of(file_.buffers())) {
      malformed(part, "buffer " + std::to_string(source.buffer()) + " of " + std::to_string(length_of(file_.buffers())));
    }
    const Buffer& buffer = *at(file_.buffers(), source.buffer());
    if (buffer.offset() > 1) {
      if (buffer.offset() > bytes_.size() || buffer.size() > bytes_.size() - buffer.offset())
        malformed(part, "its buffer lies outside the file");
      return bytes_.subspan(buffer.offset(), buffer.size());
    }
    if (buffer.data() == nullptr) return {};
    return std::as_bytes(std::span(buffer.data()->data(), buffer.data()->size()));
  }

  lastbit::Tensor constant_of(const Tensor& source, const ModelTensor& tensor, std::span<const std::byte> data, const std::string& part) {
    const bool half = source.type() == TensorType::FLOAT16;
    const std::size_t count = static_cast<std::size_t>(tensor.shape.element_count());
    const std::size_t stored_size = half ? sizeof(std::uint16_t) : size_of(tensor.type);
    if (source.sparsity() == nullptr && data.size() != count * stored_size) {
      malformed(part, "its buffer has " + std::to_string(data.size()) + " bytes; shape " + tensor.shape.text() + " needs " +
                          std::to_string(count * stored_size));
    }
    spend(count * size_of(tensor.type), part);
    if (source.sparsity() == nullptr) return stored_values(tensor.type, half, data, tensor.shape);
    const std::size_t stored = data.size() / stored_size;
    const auto places = places_of_stored_values(*source.sparsity(), tensor.shape, stored);
    if (const auto* const reason = std::get_if<std::string>(&places)) malformed(part, *reason);
    const lastbit::Tensor values =
        stored_values(tensor.type, half, data.first(stored * stored_size), Shape{static_cast<std::int64_t>(stored)});
    lastbit::Tensor constant(tensor.type, tensor.shape);
    std::size_t next = 0;
    for (const std::int64_t place : std::get<std::vector<std::int64_t>>(places)) {
      const std::size_t size = size_of(tensor.type);
      std::memcpy(constant.bytes().data() + static_cast<std::size_t>(place) * size, values.bytes().data() + next++ * size, size);
    }
    return constant;
  }

  std::span<const std::byte> bytes_;
  std::string_view where_;
  const Cut& cut_;
  const GivenShapes& shapes_;
  std::size_t budget_;
  const tflite_format::Model& file_;
  std::map<std::size_t, Shape> resized_;  ///< tensors of another shape than the file puts
  std::vector<bool> left_out_;            ///< operators that compute a shape alone, or lie outside the part
  std::vector<bool> used_;                ///< tensors that an operator or the graph refers to
  lastbit::ModelBuilder builder_;
};

}  // namespace
}  // namespace lastbit::tflite_format

namespace lastbit {

Model parse_tflite(std::span<const std::byte> bytes, std::string_view where, const Cut& cut, const tflite_format::GivenShapes& shapes) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % tflite_format::alignment == 0;
  if (is_aligned) return tflite_format::FileReader(bytes, where, cut, shapes).read();
  const std::vector<std::byte> aligned(bytes.begin(), bytes.end());
  return tflite_format::FileReader(aligned, where, cut, shapes).read();
}

Model read_tflite(const std::filesystem::path& path, const Cut& cut, const tflite_format::GivenShapes& shapes) {
  return parse_tflite(read_file(path), path.string(), cut, shapes);
}

}  // namespace lastbit
