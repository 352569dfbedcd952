// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A .tflite file of one operator as plain values, each of which a test can spoil before it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tflite_subset_generated.h"

namespace lastbit::test {

struct FileTensor {
  std::vector<std::int32_t> shape;
  tflite_format::TensorType type = tflite_format::TensorType::INT8;
  std::vector<std::uint8_t> data = {};  ///< a constant if not empty
  std::vector<float> scale{0.5F};
  std::vector<std::int64_t> zero_point{0};
  std::int32_t axis = 0;
  std::string name = "t";
  std::int64_t buffer = -1;  ///< chosen by data if negative
  bool sparse = false;
  std::uint8_t quantization_details = 0;
};

struct FileBuffer {
  std::uint64_t offset = 0, size = 0;
};

struct TfliteFile {
  std::vector<FileTensor> tensors;
  std::vector<std::int32_t> op_inputs, op_outputs, inputs, outputs;
  std::uint32_t opcode_index = 0;
  std::int8_t deprecated_code = 0;
  tflite_format::BuiltinOperator code = tflite_format::BuiltinOperator::ADD;
  std::string custom_code;
  tflite_format::BuiltinOptions options_type = tflite_format::BuiltinOptions::NONE;
  std::function<flatbuffers::Offset<void>(flatbuffers::FlatBufferBuilder&)> options;
  std::vector<FileBuffer> far_buffers;  ///< further buffers, which lie behind the FlatBuffer
  std::size_t subgraphs = 1;

  [[nodiscard]] std::vector<std::byte> bytes() const {
    using namespace tflite_format;
    flatbuffers::FlatBufferBuilder builder;
    std::vector<flatbuffers::Offset<Buffer>> buffers{CreateBuffer(builder)};
    std::vector<flatbuffers::Offset<tflite_format::Tensor>> written;
    for (const FileTensor& tensor : tensors) written.push_back(write(builder, tensor, buffers));
    for (const FileBuffer& far : far_buffers) buffers.push_back(CreateBuffer(builder, 0, far.offset, far.size));
    const auto payload = options ? options(builder) : flatbuffers::Offset<void>();
    const std::vector operators{
        CreateOperator(builder, opcode_index, builder.CreateVector(op_inputs), builder.CreateVector(op_outputs), options_type, payload)};
    const auto graph = CreateSubGraphDirect(builder, &written, &inputs, &outputs, &operators, "main");
    const std::vector graphs(subgraphs, graph);
    const std::vector codes{
        CreateOperatorCodeDirect(builder, deprecated_code, custom_code.empty() ? nullptr : custom_code.c_str(), 1, code)};
    FinishModelBuffer(builder, CreateModelDirect(builder, 3, &codes, &graphs, &buffers));
    std::vector<std::byte> result(builder.GetSize());
    std::memcpy(result.data(), builder.GetBufferPointer(), result.size());
    return result;
  }

 private:
  static flatbuffers::Offset<tflite_format::Tensor> write(flatbuffers::FlatBufferBuilder& builder, const FileTensor& tensor,
                                                          std::vector<flatbuffers::Offset<tflite_format::Buffer>>& buffers) {
    using namespace tflite_format;
    std::int64_t buffer = 0;
    if (!tensor.data.empty()) {
      buffer = static_cast<std::int64_t>(buffers.size());
      buffers.push_back(CreateBufferDirect(builder, &tensor.data));
    }
    if (tensor.buffer >= 0) buffer = tensor.buffer;
    const auto quantization =
        CreateQuantizationParametersDirect(builder, &tensor.scale, &tensor.zero_point, tensor.quantization_details, tensor.axis);
    const auto sparsity = tensor.sparse ? CreateSparsityParameters(builder) : flatbuffers::Offset<SparsityParameters>();
    return CreateTensorDirect(builder, &tensor.shape, tensor.type, static_cast<std::uint32_t>(buffer), tensor.name.c_str(), quantization,
                              sparsity);
  }
};

/// The bytes of a vector of int32, little-endian.
inline std::vector<std::uint8_t> int32_bytes(const std::vector<std::int32_t>& values) {
  std::vector<std::uint8_t> bytes;
  for (const std::byte byte : std::as_bytes(std::span(values))) bytes.push_back(std::to_integer<std::uint8_t>(byte));
  return bytes;
}

}  // namespace lastbit::test
