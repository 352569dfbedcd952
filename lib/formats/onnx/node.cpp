// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/node.hpp"

#include <algorithm>

#include "lastbit/printable.hpp"

namespace lastbit::onnx_format {

using Attribute = onnx::AttributeProto;

// Inputs and outputs.

void NodeReader::require_inputs(std::size_t least, std::size_t most) const {
  if (input_count() < least || input_count() > most) {
    const std::string allowed = least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
    malformed(count_of(static_cast<std::int64_t>(input_count()), "input") + "; " + allowed + " needed");
  }
  for (std::size_t i = 0; i < least; ++i)
    if (!has_input(i)) malformed("input " + std::to_string(i) + " is missing");
}

void NodeReader::require_outputs(std::size_t most) const {
  if (!has_output(0)) malformed("no output");
  for (std::size_t i = most; i < output_count(); ++i)
    if (has_output(i)) unsupported("output '" + output(i).name + "'");
}

const Tensor& NodeReader::constant(std::size_t position) const {
  const ValueId codes = input(position).quantized;
  if (codes != no_value && graph_.constant(codes) != nullptr) static_cast<void>(plain(position));  // its real values are made
  const Tensor* const found = graph_.constant(input_id(position));
  if (found == nullptr) graph_.fail(ErrorCode::unsupported_operation, "input '" + input(position).name + "' is not a constant");
  return *found;
}

std::vector<std::int64_t> NodeReader::constant_integers(std::size_t position) const {
  const Tensor& tensor = constant(position);
  if (!is_integer(tensor.type())) malformed("input '" + input(position).name + "' is " + std::string(name_of(tensor.type())));
  if (tensor.shape().rank() > 1) malformed("input '" + input(position).name + "' has more than one dimension");
  graph_.budget().spend(static_cast<std::size_t>(tensor.element_count()) * sizeof(std::int64_t), graph_.place());
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < tensor.element_count(); ++i) values.push_back(tensor.integer_at(i));
  return values;
}

std::vector<double> NodeReader::constant_reals(std::size_t position) const {
  const Tensor& tensor = constant(position);
  graph_.budget().spend(static_cast<std::size_t>(tensor.element_count()) * sizeof(double), graph_.place());
  if (tensor.type() == ElementType::float32) return {tensor.values<float>().begin(), tensor.values<float>().end()};
  if (tensor.type() == ElementType::float64) return {tensor.values<double>().begin(), tensor.values<double>().end()};
  malformed("input '" + input(position).name + "' is " + std::string(name_of(tensor.type())) + "; floats are needed");
}

double NodeReader::constant_real(std::size_t position) const {
  const auto values = constant_reals(position);
  if (values.size() != 1) malformed("input '" + input(position).name + "' is not one number");
  return values.front();
}

// Attributes.

const Attribute* NodeReader::find(std::string_view name) const {
  for (const auto& attribute : source_.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

const Attribute* NodeReader::find(std::string_view name, Attribute::AttributeType type) const {
  const Attribute* const attribute = find(name);
  if (attribute != nullptr && attribute->type() != type && attribute->type() != Attribute::UNDEFINED)
    malformed("attribute " + std::string(name) + " has the wrong type");
  return attribute;
}

std::int64_t NodeReader::integer(std::string_view name, std::int64_t otherwise) const {
  const Attribute* const attribute = find(name, Attribute::INT);
  return attribute == nullptr ? otherwise : attribute->i();
}

double NodeReader::real(std::string_view name, double otherwise) const {
  const Attribute* const attribute = find(name, Attribute::FLOAT);
  return attribute == nullptr ? otherwise : double{attribute->f()};
}

std::string NodeReader::text(std::string_view name, const std::string& otherwise) const {
  const Attribute* const attribute = find(name, Attribute::STRING);
  return attribute == nullptr ? otherwise : printable(attribute->s());
}

std::vector<std::int64_t> NodeReader::integers(std::string_view name) const {
  const Attribute* const attribute = find(name, Attribute::INTS);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<double> NodeReader::reals(std::string_view name) const {
  const Attribute* const attribute = find(name, Attribute::FLOATS);
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

std::optional<Tensor> NodeReader::tensor(std::string_view name) const {
  const Attribute* const attribute = find(name, Attribute::TENSOR);
  if (attribute == nullptr) return std::nullopt;
  ExternalData none;
  return tensor_from(attribute->t(), none, graph_.budget(), graph_.place());
}

void NodeReader::refuse(std::string_view flag, const std::string& what) const {
  if (integer(flag, 0) != 0) unsupported(what);
}

std::int64_t NodeReader::axis_of(std::int64_t axis, std::size_t rank) const {
  const auto dimensions = static_cast<std::int64_t>(rank);
  if (axis < -dimensions || axis >= dimensions)
    malformed("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(dimensions) + " dimensions");
  return axis < 0 ? axis + dimensions : axis;
}

std::vector<std::int64_t> NodeReader::axes(std::size_t position, std::size_t rank) const {
  std::vector<std::int64_t> axes = has_input(position) ? constant_integers(position) : integers("axes");
  for (std::int64_t& axis : axes) axis = axis_of(axis, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) malformed("an axis is named twice");
  return axes;
}

// What it becomes.

void NodeReader::define(Shape shape, std::size_t position) const {
  Value& value = graph_[output_id(position)];
  if (!value.typed) {
    value.type = input().type;
    value.quantization = operands_.inherits ? input().quantization : Quantization{};
  }
  value.shape = std::move(shape);
  value.known = true;
}

void NodeReader::declare(ElementType type, Quantization quantization, std::size_t position) const {
  Value& value = graph_[output_id(position)];
  value.type = type;
  value.quantization = std::move(quantization);
  value.typed = true;
}

NodeReader NodeReader::only(std::size_t position) const {
  NodeOperands operands = operands_;
  operands.outputs = {operands_.outputs[position]};
  return {graph_, source_, opset_, std::move(operands)};
}

void NodeReader::emit_plain(OperationKind kind, std::vector<std::int32_t> inputs, Attributes attributes) const {
  const std::int32_t target = graph_.begin_plain(output_id());
  graph_.emit(kind, std::move(inputs), {target}, std::move(attributes), operands_.stated);
}

void NodeReader::emit_plain(OperationKind kind, std::vector<std::int32_t> inputs) const {
  emit_plain(kind, std::move(inputs), default_attributes(kind));
}

void NodeReader::emit_image(OperationKind kind, std::vector<std::int32_t> inputs, Attributes attributes) const {
  const std::int32_t target = graph_.begin_image(output_id());
  graph_.emit(kind, std::move(inputs), {target}, std::move(attributes), operands_.stated);
  graph_.finish_image(output_id());
}

void NodeReader::emit_same_shape(OperationKind kind, Attributes attributes) const {
  define(shape());
  if (prefers_image()) emit_image(kind, {image()}, std::move(attributes));
  else emit_plain(kind, {plain()}, std::move(attributes));
}

}  // namespace lastbit::onnx_format
