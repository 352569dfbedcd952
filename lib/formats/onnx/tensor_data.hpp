// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A stored tensor of an ONNX file. The one header that includes the protobuf classes.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "lastbit/error.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit::onnx_format {

/// float16 is float32 in the model, widened exactly. Nothing for types that no operation takes.
[[nodiscard]] std::optional<ElementType> element_type_from(std::int32_t data_type);
[[nodiscard]] std::string name_of_type(std::int32_t data_type);

/// Bytes that reading may still copy: names, weights and folded constants stay in proportion to the file.
class Budget {
 public:
  explicit Budget(std::size_t file_bytes) { grant(file_bytes); }
  void grant(std::size_t file_bytes) { left_ += file_bytes * copies_per_byte; }
  void spend(std::size_t bytes, const std::string& place) {
    if (bytes > left_) throw Error(ErrorCode::malformed_file, place, "the file refers to the same data far more often than is sound");
    left_ -= bytes;
  }

 private:
  static constexpr std::size_t copies_per_byte = 16, any_file = std::size_t{1} << 22;
  std::size_t left_ = any_file;
};

/// Where data outside the file may lie.
struct ExternalData {
  std::optional<std::filesystem::path> folder;  ///< none: refused
  std::set<std::filesystem::path> seen;
};

/// Throws Error(malformed_file | unsupported_operation | unreadable_file) naming `place`.
[[nodiscard]] Tensor tensor_from(const onnx::TensorProto& source, ExternalData& external, Budget& budget, const std::string& place);

}  // namespace lastbit::onnx_format
