// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/fuzz_against/onnx_graph.hpp"

#include "lastbit/error.hpp"

namespace lastbit {
namespace {

using onnx_message::Message;
using onnx_message::Node;

constexpr std::int64_t opset = 17, ir_version = 8;
constexpr std::uint64_t graph_name = 2, graph_initializer = 5, graph_input = 11, graph_output = 12;
constexpr std::uint64_t model_ir_version = 1, model_graph = 7, model_opset = 8;

Tensor scalar(float value) {
  Tensor one(ElementType::float32, {});
  one.values<float>()[0] = value;
  return one;
}

/// One value is a scalar, several are a list.
Tensor list_or_scalar(const std::vector<float>& values) {
  if (values.size() == 1) return scalar(values[0]);
  return Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values);
}

Tensor zero_points_of(const Quantization& quantization, ElementType type) {
  Tensor zeros(type, quantization.scales.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(quantization.scales.size())});
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      for (std::size_t i = 0; i < zeros.values<T>().size(); ++i) zeros.values<T>()[i] = static_cast<T>(quantization.zero_point(i));
  });
  return zeros;
}

const OutputBounds* stated_bounds(const Operation& operation) {
  return std::visit(
      []<class T>(const T& each) -> const OutputBounds* {
        if constexpr (requires { each.bounds; }) return &each.bounds;
        else return nullptr;
      },
      operation.attributes);
}

}  // namespace

void OnnxGraph::refuse(const Operation& operation, const std::string& what) {
  throw Error(ErrorCode::unsupported_operation, std::string(name_of(operation.kind)) + " '" + operation.name + "'",
              what + " is not written as .onnx");
}

std::int64_t OnnxGraph::file_axis(std::int64_t axis, std::size_t rank) {
  constexpr std::int64_t of_image[] = {0, 2, 3, 1};
  return rank == 4 ? of_image[axis] : axis;
}

std::string OnnxGraph::constant(const std::string& name, const Tensor& values) {
  if (written_.insert(name).second) graph_.message(graph_initializer, onnx_message::tensor(name, values));
  return name;
}

std::string OnnxGraph::codes(std::int32_t index, const std::optional<Permutation>& order) {
  const ModelTensor& source = tensor(index);
  if (!source.constant) return source.name;
  const Permutation used = order ? *order : source.shape.rank() == 4 ? channels_first : Permutation{};
  return constant(fresh(source.name), used.empty() ? *source.constant : permuted(*source.constant, used));
}

std::string OnnxGraph::scale(std::int32_t index) {
  const std::vector<double>& scales = tensor(index).quantization.scales;
  return constant(tensor(index).name + "_scale", list_or_scalar({scales.begin(), scales.end()}));
}

std::string OnnxGraph::zero(std::int32_t index) {
  return constant(tensor(index).name + "_zero", zero_points_of(tensor(index).quantization, tensor(index).type));
}

std::string OnnxGraph::dequantized(std::int32_t index, const std::optional<Permutation>& order, std::int64_t axis) {
  std::string real = fresh(tensor(index).name + "_real");
  Node dequantize("DequantizeLinear", {codes(index, order), scale(index), zero(index)}, {real});
  if (tensor(index).quantization.per_channel()) dequantize.set("axis", axis);
  node(dequantize);
  return real;
}

std::string OnnxGraph::dequantized_bias(const Operation& operation) {
  const std::int32_t index = operation.inputs[bias_input];
  const Quantization &data = tensor(operation.inputs[0]).quantization, &weights = tensor(operation.inputs[1]).quantization;
  std::vector<float> scales;
  for (const double scale : weights.scales) scales.push_back(static_cast<float>(data.scale()) * static_cast<float>(scale));
  std::string real = fresh("bias_real");
  Node dequantize("DequantizeLinear", {codes(index, Permutation{}), constant(fresh("bias_scale"), list_or_scalar(scales))}, {real});
  if (scales.size() > 1) dequantize.set("axis", std::int64_t{0});
  node(dequantize);
  return real;
}

std::string OnnxGraph::activated(const std::string& real, Activation activation) {
  std::string name = fresh("activated");
  if (activation == Activation::relu) {
    node(Node("Relu", {real}, {name}));
    return name;
  }
  const bool six = activation == Activation::relu6;
  const std::string low = constant(fresh("bound"), scalar(six ? 0.0F : -1.0F)), high = constant(fresh("bound"), scalar(six ? 6.0F : 1.0F));
  node(Node("Clip", {real, low, high}, {name}));
  return name;
}

void OnnxGraph::to_codes(const Operation& operation, const std::string& real) {
  const std::int32_t output = operation.outputs[0];
  node(Node("QuantizeLinear", {real, scale(output), zero(output)}, {tensor(output).name}));
}

void OnnxGraph::quantized(const Operation& operation, const Node& real_node, const std::string& real) {
  node(real_node);
  const Activation activation = activation_of(operation);
  to_codes(operation, activation == Activation::none ? real : activated(real, activation));
}

Activation OnnxGraph::activation_of(const Operation& operation) {
  const OutputBounds* const bounds = stated_bounds(operation);
  if (bounds == nullptr) return Activation::none;
  if (bounds->clamp || bounds->real_clamp || !bounds->accumulator_clip.empty()) refuse(operation, "a bound");
  if (states_registers(*bounds)) refuse(operation, "its registers");
  const auto* const conv = std::get_if<Conv2dAttributes>(&operation.attributes);
  if (conv != nullptr && conv->cross_terms) refuse(operation, "its cross terms");
  if (bounds->activation == Activation::absolute) refuse(operation, "the absolute value");
  return bounds->activation;
}

Message OnnxGraph::info(std::int32_t index) const {
  return onnx_message::value_info(tensor(index).name, tensor(index).type, file_shape(tensor(index).shape));
}

std::string OnnxGraph::finished() {
  for (const std::int32_t input : model_.inputs) graph_.message(graph_input, info(input));
  for (const std::int32_t output : model_.outputs) graph_.message(graph_output, info(output));
  graph_.text(graph_name, "random");
  Message file;
  file.integer(model_ir_version, ir_version).message(model_graph, graph_);
  file.message(model_opset, Message().text(1, "").integer(2, opset));
  file.message(model_opset, Message().text(1, "com.microsoft").integer(2, 1));
  return file.bytes();
}

}  // namespace lastbit
