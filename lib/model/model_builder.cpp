// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/model_builder.hpp"

namespace lastbit {

std::int32_t ModelBuilder::tensor(TensorDescription tensor) {
  model.tensors.push_back({std::move(tensor.name), tensor.type, std::move(tensor.shape), std::move(tensor.quantization), {}});
  return static_cast<std::int32_t>(model.tensors.size()) - 1;
}

std::int32_t ModelBuilder::input(TensorDescription description) {
  model.inputs.push_back(tensor(std::move(description)));
  return model.inputs.back();
}

std::int32_t ModelBuilder::constant(std::string name, Tensor values, Quantization quantization) {
  const std::int32_t index = tensor({std::move(name), values.type(), values.shape(), std::move(quantization)});
  model.tensors.back().constant = std::move(values);
  return index;
}

std::int32_t ModelBuilder::operation(OperationKind kind, std::vector<std::int32_t> inputs, TensorDescription output,
                                     std::optional<Attributes> attributes) {
  std::string name = output.name;
  const std::int32_t index = tensor(std::move(output));
  operation(kind, std::move(name), std::move(inputs), {index}, std::move(attributes));
  return index;
}

void ModelBuilder::operation(OperationKind kind, std::string name, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs,
                             std::optional<Attributes> attributes) {
  model.operations.push_back(
      {kind, std::move(name), std::move(inputs), std::move(outputs), attributes ? *std::move(attributes) : default_attributes(kind)});
}

Model ModelBuilder::finished(std::vector<std::int32_t> outputs, std::string_view where) const {
  Model built = model;
  built.outputs = std::move(outputs);
  validate(built, where);
  return built;
}

}  // namespace lastbit
