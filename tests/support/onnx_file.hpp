// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ONNX files written by tests, through the protobuf classes.
#pragma once

#include <onnx/onnx_pb.h>

#include <span>
#include <string>
#include <vector>

#include "lastbit/io/onnx.hpp"

namespace lastbit::test {

using Names = std::vector<std::string>;
using Integers = std::vector<std::int64_t>;

template <class T>
inline constexpr onnx::TensorProto::DataType onnx_type = [] {
  if constexpr (std::is_same_v<T, float>) return onnx::TensorProto::FLOAT;
  else if constexpr (std::is_same_v<T, std::int8_t>) return onnx::TensorProto::INT8;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return onnx::TensorProto::UINT8;
  else if constexpr (std::is_same_v<T, std::int32_t>) return onnx::TensorProto::INT32;
  else return onnx::TensorProto::INT64;
}();

class OnnxFile {
 public:
  explicit OnnxFile(std::int64_t opset = 13) {
    proto.set_ir_version(8);
    add_domain("", opset);
    proto.mutable_graph()->set_name("test");
  }
  void add_domain(const std::string& domain, std::int64_t version) {
    auto* set = proto.add_opset_import();
    set->set_domain(domain);
    set->set_version(version);
  }

  template <class T = float>
  OnnxFile& input(const std::string& name, const Integers& shape) {
    auto* value = graph().add_input();
    value->set_name(name);
    auto* type = value->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx_type<T>);
    auto* sizes = type->mutable_shape();  // a scalar has one too
    for (const std::int64_t size : shape) sizes->add_dim()->set_dim_value(size);
    return *this;
  }

  template <class T>
  onnx::TensorProto& constant(const std::string& name, const Integers& shape, const std::vector<T>& values) {
    auto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx_type<T>);
    for (const std::int64_t size : shape) tensor->add_dims(size);
    tensor->set_raw_data(values.data(), values.size() * sizeof(T));
    return *tensor;
  }

  /// A scale and a zero point, named `name`_scale and `name`_zero.
  template <class T>
  void scale(const std::string& name, float scale, T zero) {
    constant<float>(name + "_scale", {}, {scale});
    constant<T>(name + "_zero", {}, {zero});
  }

  onnx::NodeProto& node(const std::string& op, const Names& inputs, const Names& outputs) {
    auto* node = graph().add_node();
    node->set_op_type(op);
    for (const std::string& name : inputs) node->add_input(name);
    for (const std::string& name : outputs) node->add_output(name);
    return *node;
  }
  /// x → `x_q`, quantised by scale(name).
  void quantize(const std::string& from, const std::string& to, const std::string& scale) {
    node("QuantizeLinear", {from, scale + "_scale", scale + "_zero"}, {to});
  }
  void dequantize(const std::string& from, const std::string& to, const std::string& scale) {
    node("DequantizeLinear", {from, scale + "_scale", scale + "_zero"}, {to});
  }

  OnnxFile& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }

  [[nodiscard]] onnx::GraphProto& graph() { return *proto.mutable_graph(); }
  [[nodiscard]] Model read(const OnnxOptions& options = {}) const {
    const std::string bytes = proto.SerializeAsString();
    return parse_onnx(std::as_bytes(std::span(bytes)), "test.onnx", options);
  }

  onnx::ModelProto proto;
};

inline onnx::AttributeProto& attribute(onnx::NodeProto& node, const std::string& name, onnx::AttributeProto::AttributeType type) {
  auto* added = node.add_attribute();
  added->set_name(name);
  added->set_type(type);
  return *added;
}
inline void set(onnx::NodeProto& node, const std::string& name, int value) {
  attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, float value) {
  attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, const char* value) {
  attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, const Integers& values) {
  auto& added = attribute(node, name, onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) added.add_ints(value);
}

}  // namespace lastbit::test
