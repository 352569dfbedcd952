// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/tflite_operator.hpp"

#include <utility>

#include "lastbit/printable.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::tflite_format {

void OperatorReader::require_inputs(std::size_t least, std::size_t most) const {
  if (inputs_.size() < least || inputs_.size() > most) {
    const std::string allowed = least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
    malformed(count_of(std::ssize(inputs_), "input") + "; " + allowed + " needed");
  }
  for (std::size_t i = 0; i < least; ++i)
    if (inputs_[i] == absent_tensor) malformed("input " + std::to_string(i) + " is missing");
}

std::vector<std::int64_t> OperatorReader::constant_integers(std::size_t position) const {
  const ModelTensor& tensor = input(position);
  if (!tensor.constant) unsupported("input " + std::to_string(position) + " '" + tensor.name + "' is not a constant");
  if (tensor.type != ElementType::int32 && tensor.type != ElementType::int64) {
    malformed("input " + std::to_string(position) + " '" + tensor.name + "' is " + std::string(name_of(tensor.type)) + "; int32 is needed");
  }
  if (tensor.shape.rank() > 2) malformed("input " + std::to_string(position) + " has more than two dimensions");
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < tensor.constant->element_count(); ++i) values.push_back(tensor.constant->integer_at(i));
  return values;
}

std::int64_t OperatorReader::axis_of(std::int64_t axis, const ModelTensor& tensor) const {
  const auto rank = static_cast<std::int64_t>(tensor.shape.rank());
  if (axis < -rank || axis >= rank) malformed("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(rank) + " dimensions");
  return axis < 0 ? axis + rank : axis;
}

Activation OperatorReader::activation(ActivationFunctionType type) const {
  switch (type) {
    case ActivationFunctionType::NONE: return Activation::none;
    case ActivationFunctionType::RELU: return Activation::relu;
    case ActivationFunctionType::RELU6: return Activation::relu6;
    case ActivationFunctionType::RELU_N1_TO_1: return Activation::relu_n1_to_1;
    case ActivationFunctionType::TANH:
    case ActivationFunctionType::SIGN_BIT: break;
  }
  unsupported("fused activation " + std::to_string(static_cast<int>(type)));
}

Padding2d OperatorReader::padding(Padding mode) const {
  if (mode != Padding::SAME && mode != Padding::VALID) malformed("unknown padding " + std::to_string(static_cast<int>(mode)));
  Padding2d padding;
  padding.mode = mode == Padding::SAME ? PaddingMode::same : PaddingMode::valid;
  return padding;
}

namespace {

/// Many operators may refer to one long name, and one operator give many tensors its own.
std::string shortened(std::string_view name) {
  constexpr std::size_t longest_name = 100;
  return printable(name.substr(0, longest_name));
}

}  // namespace

std::int32_t OperatorReader::state_before(std::size_t position) const {
  ModelTensor tensor = input(position);
  if (tensor.constant) unsupported("state '" + tensor.name + "' with values of its own to begin with");
  if (tensor.name.empty()) tensor.name = "tensor " + std::to_string(inputs_[position]);
  tensor.name = shortened(tensor.name) + " (before)";
  const std::int32_t before =
      builder_.tensor({std::move(tensor.name), tensor.type, std::move(tensor.shape), std::move(tensor.quantization)});
  builder_.model.states.push_back({before, inputs_[position]});
  return before;
}

std::int32_t OperatorReader::add_zero_bias() const {
  const Shape& weights = input(1).shape;
  if (weights.rank() == 0) malformed("weights without sizes");
  return builder_.constant(name_ + " (no bias)", lastbit::Tensor(ElementType::int32, {weights[0]}));
}

void OperatorReader::emit(OperationKind kind, std::vector<std::int32_t> data_inputs, Attributes attributes,
                          const std::vector<std::int32_t>& more_outputs) const {
  std::vector<std::int32_t> outputs = outputs_;
  outputs.insert(outputs.end(), more_outputs.begin(), more_outputs.end());
  builder_.operation(kind, name_, std::move(data_inputs), std::move(outputs), std::move(attributes));
}

std::int32_t OperatorReader::emit_between(OperationKind kind, std::vector<std::int32_t> data_inputs, Attributes attributes,
                                          Shape between) const {
  return emit_of_type(output().type, output().quantization, kind, std::move(data_inputs), std::move(attributes), std::move(between));
}

std::int32_t OperatorReader::emit_of_type(ElementType type, Quantization quantization, OperationKind kind,
                                          std::vector<std::int32_t> data_inputs, Attributes attributes, Shape shape) const {
  if (!checked_element_count(shape.sizes(), type)) malformed("a tensor in between would be too large");
  const std::string name = shortened(name_) + "/" + std::to_string(builder_.model.tensors.size());
  const std::int32_t index = builder_.tensor({name, type, std::move(shape), std::move(quantization)});
  builder_.operation(kind, name, std::move(data_inputs), {index}, std::move(attributes));
  return index;
}

std::int32_t OperatorReader::add_integers(std::string_view what, const std::vector<std::int64_t>& values) const {
  std::vector<std::int32_t> narrowed;
  for (const std::int64_t value : values) narrowed.push_back(static_cast<std::int32_t>(value));
  const std::string name = shortened(name_) + "/" + std::string(what) + " " + std::to_string(builder_.model.tensors.size());
  return builder_.constant(name, Shape{static_cast<std::int64_t>(values.size())}, narrowed);
}

std::int32_t OperatorReader::add_constant(std::string_view what, lastbit::Tensor values) const {
  const std::string name = shortened(name_) + "/" + std::string(what) + " " + std::to_string(builder_.model.tensors.size());
  return builder_.constant(name, std::move(values));
}

void OperatorReader::state_shape(std::size_t output, Shape shape) const {
  Shape& stated = builder_.model.tensors[static_cast<std::size_t>(outputs_[output])].shape;
  if (stated.rank() == 0) stated = std::move(shape);
}

std::span<const std::uint8_t> OperatorReader::custom_options() const {
  const auto* const options = source_.custom_options();
  return options == nullptr ? std::span<const std::uint8_t>() : std::span<const std::uint8_t>(options->data(), options->size());
}

void OperatorReader::emit_output(OperationKind kind, std::vector<std::int32_t> data_inputs, Attributes attributes,
                                 std::size_t output) const {
  std::string name = builder_.model.tensor(outputs_[output]).name;
  if (name.empty()) name = shortened(name_) + "/" + std::to_string(output);
  builder_.operation(kind, std::move(name), std::move(data_inputs), {outputs_[output]}, std::move(attributes));
}

void OperatorReader::emit_then_reshape(OperationKind kind, std::vector<std::int32_t> data_inputs, Attributes attributes,
                                       Shape between) const {
  const ModelTensor& last = output();
  const std::int32_t index = builder_.tensor({last.name + "/before_reshape", last.type, std::move(between), last.quantization});
  builder_.operation(kind, name_, std::move(data_inputs), {index}, std::move(attributes));
  emit(OperationKind::reshape, {index});
}

}  // namespace lastbit::tflite_format
