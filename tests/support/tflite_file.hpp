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
  std::function<flatbuffers::Offset<tflite_format::SparsityParameters>(flatbuffers::FlatBufferBuilder&)> sparsity = {};
  std::uint8_t quantization_details = 0;
  std::vector<std::int32_t> signature = {};  ///< the shape with -1 for sizes that are open
};

struct FileBuffer {
  std::uint64_t offset = 0, size = 0;
};

/// Without options.
struct FileOperator {
  tflite_format::BuiltinOperator code;
  std::vector<std::int32_t> inputs, outputs;
};

struct TfliteFile {
  std::vector<FileTensor> tensors;
  std::vector<std::int32_t> op_inputs, op_outputs, inputs, outputs;
  std::uint32_t opcode_index = 0;
  std::int8_t deprecated_code = 0;
  tflite_format::BuiltinOperator code = tflite_format::BuiltinOperator::ADD;
  std::string custom_code;
  std::vector<std::uint8_t> custom_options = {};
  tflite_format::BuiltinOptions options_type = tflite_format::BuiltinOptions::NONE;
  std::function<flatbuffers::Offset<void>(flatbuffers::FlatBufferBuilder&)> options;
  std::vector<FileBuffer> far_buffers;     ///< further buffers, which lie behind the FlatBuffer
  std::vector<FileOperator> earlier = {};  ///< operators before the one
  std::size_t subgraphs = 1;

  [[nodiscard]] std::vector<std::byte> bytes() const {
    using namespace tflite_format;
    flatbuffers::FlatBufferBuilder builder;
    std::vector<flatbuffers::Offset<Buffer>> buffers{CreateBuffer(builder)};
    std::vector<flatbuffers::Offset<tflite_format::Tensor>> written;
    for (const FileTensor& tensor : tensors) written.push_back(write(builder, tensor, buffers));
    for (const FileBuffer& far : far_buffers) buffers.push_back(CreateBuffer(builder, 0, far.offset, far.size));
    const auto payload = options ? options(builder) : flatbuffers::Offset<void>();
    std::vector<flatbuffers::Offset<Operator>> operators;
    std::vector codes{CreateOperatorCodeDirect(builder, deprecated_code, custom_code.empty() ? nullptr : custom_code.c_str(), 1, code)};
    for (const FileOperator& one : earlier) {
      operators.push_back(CreateOperator(builder, static_cast<std::uint32_t>(codes.size()), builder.CreateVector(one.inputs),
                                         builder.CreateVector(one.outputs)));
      codes.push_back(CreateOperatorCodeDirect(builder, 0, nullptr, 1, one.code));
    }
    const auto custom = custom_options.empty() ? 0 : builder.CreateVector(custom_options);
    operators.push_back(CreateOperator(builder, opcode_index, builder.CreateVector(op_inputs), builder.CreateVector(op_outputs),
                                       options_type, payload, custom));
    const auto graph = CreateSubGraphDirect(builder, &written, &inputs, &outputs, &operators, "main");
    const std::vector graphs(subgraphs, graph);
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
    const auto sparsity = tensor.sparsity ? tensor.sparsity(builder) : flatbuffers::Offset<SparsityParameters>();
    return CreateTensorDirect(builder, &tensor.shape, tensor.type, static_cast<std::uint32_t>(buffer), tensor.name.c_str(), quantization,
                              sparsity, tensor.signature.empty() ? nullptr : &tensor.signature);
  }
};

/// The bytes of a vector of int32, little-endian.
inline std::vector<std::uint8_t> int32_bytes(const std::vector<std::int32_t>& values) {
  std::vector<std::uint8_t> bytes;
  for (const std::byte byte : std::as_bytes(std::span(values))) bytes.push_back(std::to_integer<std::uint8_t>(byte));
  return bytes;
}

/// add(t0, constant t1) -> t2
inline TfliteFile add_file() {
  TfliteFile file;
  file.tensors = {{.shape = {1, 2}}, {.shape = {2}, .data = {1, 2}}, {.shape = {1, 2}}};
  file.op_inputs = {0, 1};
  file.op_outputs = file.outputs = {2};
  file.inputs = {0};
  return file;
}

/// transpose(t0, constant permutation t1) -> t2
inline TfliteFile transpose_file() {
  TfliteFile file = add_file();
  file.code = tflite_format::BuiltinOperator::TRANSPOSE;
  file.tensors[1] = {.shape = {2}, .type = tflite_format::TensorType::INT32, .data = int32_bytes({1, -2}), .scale = {}, .zero_point = {}};
  file.tensors[2].shape = {2, 1};
  return file;
}

/// strided_slice(t0, constants begin t1, end t2, strides t3) -> t4
inline TfliteFile strided_slice_file(std::vector<std::int32_t> shape, std::vector<std::int32_t> begin, std::vector<std::int32_t> end,
                                     std::vector<std::int32_t> strides, std::vector<std::int32_t> out, std::int32_t begin_mask = 0,
                                     std::int32_t end_mask = 0, std::int32_t shrink_mask = 0) {
  TfliteFile file;
  file.code = tflite_format::BuiltinOperator::STRIDED_SLICE;
  file.tensors = {{.shape = std::move(shape)}};
  for (const auto& numbers : {begin, end, strides}) {
    file.tensors.push_back({.shape = {static_cast<std::int32_t>(numbers.size())},
                            .type = tflite_format::TensorType::INT32,
                            .data = int32_bytes(numbers),
                            .scale = {},
                            .zero_point = {}});
  }
  file.tensors.push_back({.shape = std::move(out)});
  file.op_inputs = {0, 1, 2, 3};
  file.op_outputs = file.outputs = {4};
  file.inputs = {0};
  file.options_type = tflite_format::BuiltinOptions::StridedSliceOptions;
  file.options = [=](flatbuffers::FlatBufferBuilder& builder) {
    return tflite_format::CreateStridedSliceOptions(builder, begin_mask, end_mask, 0, 0, shrink_mask).Union();
  };
  return file;
}

/// The file with its operator's options, which `create` writes: CreateGatherOptions and the like.
template <class Create, class... Arguments>
TfliteFile with(TfliteFile file, tflite_format::BuiltinOptions type, Create create, Arguments... arguments) {
  file.options_type = type;
  file.options = [=](flatbuffers::FlatBufferBuilder& builder) { return create(builder, arguments...).Union(); };
  return file;
}

}  // namespace lastbit::test
