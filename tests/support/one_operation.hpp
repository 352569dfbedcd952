// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model of one operation, all of whose inputs come at run time.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "engine/executor.hpp"
#include "lastbit/model_builder.hpp"

namespace lastbit::test {

inline Model one_operation(OperationKind kind, const Attributes& attributes, const std::vector<Tensor>& inputs,
                           const std::vector<Shape>& outputs, ElementType output_type) {
  ModelBuilder builder;
  std::vector<std::int32_t> in, out;
  const auto next_name = [&](const std::string& name) { return name + std::to_string(builder.model.tensors.size()); };
  for (const Tensor& input : inputs) in.push_back(builder.input({next_name("input"), input.type(), input.shape()}));
  for (const Shape& shape : outputs) out.push_back(builder.tensor({next_name("output"), output_type, shape}));
  builder.operation(kind, "tested", in, out, attributes);
  return builder.finished(out, "test");
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
