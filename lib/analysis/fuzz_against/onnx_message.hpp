// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Protocol buffers by hand, and the messages of an .onnx file that a writer needs: field numbers from onnx.proto. Apart from the reader,
// which uses the classes that protoc makes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/tensor.hpp"

namespace lastbit::onnx_message {

class Message {
 public:
  Message& integer(std::uint64_t field, std::int64_t value);
  Message& real(std::uint64_t field, float value);
  Message& text(std::uint64_t field, std::string_view value);
  Message& message(std::uint64_t field, const Message& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value);
  std::string bytes_;
};

/// TensorProto.DataType.
[[nodiscard]] std::int64_t data_type_of(ElementType type);
[[nodiscard]] Message tensor(const std::string& name, const Tensor& values);
[[nodiscard]] Message value_info(const std::string& name, ElementType type, const Shape& shape);

/// NodeProto.
class Node {
 public:
  Node(std::string_view op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs, std::string_view domain = {});
  Node& set(std::string_view name, std::int64_t value);
  Node& set(std::string_view name, double value);
  Node& set(std::string_view name, std::string_view value);
  Node& set(std::string_view name, const std::vector<std::int64_t>& values);
  [[nodiscard]] const Message& message() const { return message_; }

 private:
  Message message_;
};

}  // namespace lastbit::onnx_message
