// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/fuzz_against/onnx_message.hpp"

#include <bit>

#include "lastbit/error.hpp"

namespace lastbit::onnx_message {
namespace {

/// How a field's value is laid out.
enum Wire : std::uint64_t { as_varint = 0, as_bytes = 2, as_32_bits = 5 };

// AttributeProto: field numbers, and the numbers of its types.
constexpr std::uint64_t attribute_name = 1, attribute_f = 2, attribute_i = 3, attribute_s = 4, attribute_ints = 8, attribute_type = 20;
constexpr std::int64_t type_float = 1, type_int = 2, type_string = 3, type_ints = 7;
constexpr std::uint64_t node_input = 1, node_output = 2, node_op_type = 4, node_attribute = 5, node_domain = 7;

Message attribute(std::string_view name, std::int64_t type) { return Message().text(attribute_name, name).integer(attribute_type, type); }

}  // namespace

void Message::varint(std::uint64_t value) {
  for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value % 128 + 128);
  bytes_ += static_cast<char>(value);
}

Message& Message::integer(std::uint64_t field, std::int64_t value) {
  varint(field << 3 | as_varint);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}

Message& Message::real(std::uint64_t field, float value) {
  varint(field << 3 | as_32_bits);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (std::uint32_t shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift & 255);
  return *this;
}

Message& Message::text(std::uint64_t field, std::string_view value) {
  varint(field << 3 | as_bytes);
  varint(value.size());
  bytes_ += value;
  return *this;
}

std::int64_t data_type_of(ElementType type) {
  switch (type) {
    case ElementType::float32: return 1;
    case ElementType::uint8: return 2;
    case ElementType::int8: return 3;
    case ElementType::int32: return 6;
    case ElementType::int64: return 7;
    default: break;
  }
  throw Error(ErrorCode::unsupported_operation, ".onnx", "tensors of " + std::string(name_of(type)) + " are not written");
}

Message tensor(const std::string& name, const Tensor& values) {
  Message message;
  for (const std::int64_t size : values.shape().sizes()) message.integer(1, size);
  message.integer(2, data_type_of(values.type())).text(8, name);
  return message.text(9, {reinterpret_cast<const char*>(values.bytes().data()), values.bytes().size()});
}

Message value_info(const std::string& name, ElementType type, const Shape& shape) {
  Message sizes;
  for (const std::int64_t size : shape.sizes()) sizes.message(1, Message().integer(1, size));
  const Message of_tensor = Message().integer(1, data_type_of(type)).message(2, sizes);
  return Message().text(1, name).message(2, Message().message(1, of_tensor));
}

Node::Node(std::string_view op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs, std::string_view domain) {
  for (const std::string& name : inputs) message_.text(node_input, name);
  for (const std::string& name : outputs) message_.text(node_output, name);
  message_.text(node_op_type, op);
  if (!domain.empty()) message_.text(node_domain, domain);
}

Node& Node::set(std::string_view name, std::int64_t value) {
  message_.message(node_attribute, attribute(name, type_int).integer(attribute_i, value));
  return *this;
}

Node& Node::set(std::string_view name, double value) {
  message_.message(node_attribute, attribute(name, type_float).real(attribute_f, static_cast<float>(value)));
  return *this;
}

Node& Node::set(std::string_view name, std::string_view value) {
  message_.message(node_attribute, attribute(name, type_string).text(attribute_s, value));
  return *this;
}

Node& Node::set(std::string_view name, const std::vector<std::int64_t>& values) {
  Message list = attribute(name, type_ints);
  for (const std::int64_t value : values) list.integer(attribute_ints, value);
  message_.message(node_attribute, list);
  return *this;
}

}  // namespace lastbit::onnx_message
