// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model of one operation, all of whose inputs come at run time.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "engine/executor.hpp"
#include "lastbit/model.hpp"

namespace lastbit::test {

inline Model one_operation(OperationKind kind, const Attributes& attributes, const std::vector<Tensor>& inputs,
                           const std::vector<Shape>& outputs, ElementType output_type) {
  Model model;
  Operation operation{kind, "tested", {}, {}, attributes};
  const auto add = [&](const std::string& name, ElementType type, const Shape& shape, std::vector<std::int32_t>& in_operation,
                       std::vector<std::int32_t>& in_model) {
    in_operation.push_back(static_cast<std::int32_t>(model.tensors.size()));
    in_model.push_back(in_operation.back());
    model.tensors.push_back({name + std::to_string(model.tensors.size()), type, shape, {}, {}});
  };
  for (const Tensor& input : inputs) add("input", input.type(), input.shape(), operation.inputs, model.inputs);
  for (const Shape& shape : outputs) add("output", output_type, shape, operation.outputs, model.outputs);
  model.operations.push_back(std::move(operation));
  validate(model, "test");
  return model;
}

inline std::vector<Tensor> execute(const Model& model, const Executor& executor, const std::vector<Tensor>& inputs) {
  std::vector<const Tensor*> in;
  for (const Tensor& input : inputs) in.push_back(&input);
  std::vector<Tensor> out;
  for (const auto index : model.operations[0].outputs) out.emplace_back(model.tensor(index).type, model.tensor(index).shape);
  executor({in, out, nullptr});
  return out;
}

/// Reals of about unit size; `random` is seeded by the test, which prints the seed.
inline Tensor random_real(const Shape& shape, std::mt19937& random) {
  Tensor tensor(ElementType::float32, shape);
  for (float& value : tensor.values<float>()) value = (static_cast<float>(random() % 20001) - 10000.0F) / 5000.0F;
  return tensor;
}

template <class T>
Tensor counting(const Shape& shape) {
  Tensor tensor(element_type_of<T>, shape);
  std::int64_t next = 1;
  for (T& value : tensor.values<T>()) value = static_cast<T>(next++);
  return tensor;
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  return {tensor.values<T>().begin(), tensor.values<T>().end()};
}

}  // namespace lastbit::test
