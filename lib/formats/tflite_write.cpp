// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model as a .tflite file. Tensor i of the model is tensor i of the file; constants that say what attributes say in a model follow.
#include <algorithm>
#include <limits>
#include <utility>

#include "formats/file.hpp"
#include "formats/tflite_writer.hpp"
#include "lastbit/io/tflite.hpp"

namespace lastbit::tflite_format {
namespace {

std::optional<TensorType> tensor_type_of(ElementType type) {
  switch (type) {
    case ElementType::float32: return TensorType::FLOAT32;
    case ElementType::int8: return TensorType::INT8;
    case ElementType::uint8: return TensorType::UINT8;
    case ElementType::int16: return TensorType::INT16;
    case ElementType::uint16: return TensorType::UINT16;
    case ElementType::int32: return TensorType::INT32;
    case ElementType::int64: return TensorType::INT64;
    case ElementType::boolean: return TensorType::BOOL;
    case ElementType::float64: return TensorType::FLOAT64;
    case ElementType::float16:
    case ElementType::uint32: break;
  }
  return std::nullopt;
}

class FileWriter {
 public:
  FileWriter(const lastbit::Model& model, std::string_view where) : model_(model), where_(where) {}

  std::vector<std::byte> write() {
    if (!model_.states.empty()) refuse("the model remembers states", "");
    find_used_tensors();
    buffers_.push_back(CreateBuffer(builder_));  // by convention the empty one
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) tensors_.push_back(used_[i] ? tensor(model_.tensors[i]) : placeholder(i));
    for (std::size_t i = 0; i < model_.operations.size(); ++i) write_operation(model_.operations[i], i);
    for (const AddedConstant& each : added_)
      tensors_.push_back(tensor({each.name, each.values.type(), each.values.shape(), each.quantization, each.values}));
    return finish();
  }

 private:
  [[noreturn]] void refuse(const std::string& reason, const std::string& part) const {
    throw Error(ErrorCode::unsupported_operation, std::string(where_) + part, reason + ", which a .tflite file cannot say");
  }

  void find_used_tensors() {
    used_.assign(model_.tensors.size(), false);
    const auto mark = [&](const std::vector<std::int32_t>& list) {
      for (const std::int32_t index : list)
        if (index != absent_tensor) used_[static_cast<std::size_t>(index)] = true;
    };
    for (const auto* list : {&model_.inputs, &model_.outputs}) mark(*list);
    for (const Operation& operation : model_.operations) {
      mark(operation.inputs);
      mark(operation.outputs);
    }
  }

  /// Keeps the numbers of the tensors behind it.
  flatbuffers::Offset<Tensor> placeholder(std::size_t index) {
    const std::vector<std::int32_t> scalar;
    return CreateTensorDirect(builder_, &scalar, TensorType::INT8, 0, model_.tensors[index].name.c_str());
  }

  flatbuffers::Offset<Tensor> tensor(const ModelTensor& source) {
    const std::string part = ": tensor '" + source.name + "'";
    const auto type = tensor_type_of(source.type);
    if (!type) refuse("element type " + std::string(name_of(source.type)), part);
    std::vector<std::int32_t> shape;
    for (const std::int64_t size : source.shape.sizes()) shape.push_back(static_cast<std::int32_t>(size));  // largest_tensor_bytes
    const std::uint32_t buffer = source.constant ? add_buffer(*source.constant) : 0;
    const auto quantized = quantization(source.quantization, part);
    return CreateTensorDirect(builder_, &shape, *type, buffer, source.name.c_str(), quantized);
  }

  std::uint32_t add_buffer(const lastbit::Tensor& constant) {
    builder_.ForceVectorAlignment(constant.bytes().size(), 1, 16);
    const auto data = builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(constant.bytes().data()), constant.bytes().size());
    buffers_.push_back(CreateBuffer(builder_, data));
    return static_cast<std::uint32_t>(buffers_.size() - 1);
  }

  flatbuffers::Offset<QuantizationParameters> quantization(const Quantization& source, const std::string& part) {
    if (!source.present()) return 0;
    std::vector<float> scales;
    for (const double scale : source.scales) {
      scales.push_back(static_cast<float>(scale));
      if (static_cast<double>(scales.back()) != scale) refuse("a scale that is no 32-bit float", part);
    }
    return CreateQuantizationParametersDirect(builder_, &scales, &source.zero_points, 0, static_cast<std::int32_t>(source.axis));
  }

  void write_operation(const Operation& operation, std::size_t index) {
    const std::string part = std::string(where_) + ": " + std::string(name_of(operation.kind)) + " '" + operation.name + "' (operation " +
                             std::to_string(index) + ")";
    const WrittenOperator written = write_operator(OperatorWriter(model_, operation, part, builder_, added_));
    operators_.push_back(CreateOperator(builder_, code_index(written.code, written.version), builder_.CreateVector(written.inputs),
                                        builder_.CreateVector(operation.outputs), written.options_type, written.options));
  }

  std::uint32_t code_index(BuiltinOperator code, std::int32_t version) {
    const std::pair entry{code, version};
    const auto found = std::find(codes_.begin(), codes_.end(), entry);
    if (found != codes_.end()) return static_cast<std::uint32_t>(found - codes_.begin());
    codes_.push_back(entry);
    return static_cast<std::uint32_t>(codes_.size() - 1);
  }

  std::vector<std::byte> finish() {
    constexpr std::int32_t largest_deprecated = std::numeric_limits<std::int8_t>::max();
    std::vector<flatbuffers::Offset<OperatorCode>> codes;
    for (const auto& [code, version] : codes_) {
      const auto deprecated = static_cast<std::int8_t>(std::min(static_cast<std::int32_t>(code), largest_deprecated));
      codes.push_back(CreateOperatorCode(builder_, deprecated, 0, version, code));
    }
    const std::vector graphs{CreateSubGraphDirect(builder_, &tensors_, &model_.inputs, &model_.outputs, &operators_, model_.name.c_str())};
    FinishModelBuffer(builder_, CreateModelDirect(builder_, 3, &codes, &graphs, &buffers_));
    const auto bytes = std::as_bytes(std::span(builder_.GetBufferPointer(), builder_.GetSize()));
    return {bytes.begin(), bytes.end()};
  }

  const lastbit::Model& model_;
  std::string_view where_;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<bool> used_;
  std::vector<AddedConstant> added_;
  std::vector<flatbuffers::Offset<Buffer>> buffers_;
  std::vector<flatbuffers::Offset<Tensor>> tensors_;
  std::vector<flatbuffers::Offset<Operator>> operators_;
  std::vector<std::pair<BuiltinOperator, std::int32_t>> codes_;
};

}  // namespace
}  // namespace lastbit::tflite_format

namespace lastbit {

std::vector<std::byte> tflite_bytes(const Model& model, std::string_view where) { return tflite_format::FileWriter(model, where).write(); }

void write_tflite(const Model& model, const std::filesystem::path& path) { write_file(path, {}, tflite_bytes(model, path.string())); }

}  // namespace lastbit
