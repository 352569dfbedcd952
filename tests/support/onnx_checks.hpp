// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What tests ask of a model that was read from an ONNX file.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/onnx_file.hpp"

namespace lastbit::test {

using K = OperationKind;
inline constexpr unsigned seed = 5;

inline std::vector<OperationKind> kinds(const Model& model) {
  std::vector<OperationKind> found;
  for (const Operation& operation : model.operations)
    if (operation.kind != K::transpose && operation.kind != K::reshape) found.push_back(operation.kind);
  return found;
}

inline long count(const Model& model, OperationKind kind) {
  return std::count_if(model.operations.begin(), model.operations.end(),
                       [&](const Operation& operation) { return operation.kind == kind; });
}

inline Tensor floats(const Shape& shape, unsigned offset = 0) {
  std::mt19937 random(seed + offset);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor tensor(ElementType::float32, shape);
  for (float& value : tensor.values<float>()) value = uniform(random);
  return tensor;
}

inline std::vector<float> listed(const Tensor& tensor) { return {tensor.values<float>().begin(), tensor.values<float>().end()}; }

inline std::vector<std::int8_t> codes(std::size_t count, unsigned offset = 0) {
  std::mt19937 random(seed + offset);
  std::uniform_int_distribution<int> uniform(-128, 127);
  std::vector<std::int8_t> values(count);
  for (auto& value : values) value = static_cast<std::int8_t>(uniform(random));
  return values;
}

inline std::vector<Tensor> outputs(const Model& model, const char* backend, const std::vector<Tensor>& inputs) {
  const Trace trace = run(model, find_backend(backend).backend, inputs);
  std::vector<Tensor> found;
  for (const std::int32_t index : model.outputs) found.push_back(*trace.tensors[static_cast<std::size_t>(index)]);
  return found;
}

inline const ModelTensor& tensor(const Model& model, const std::string& name) {
  const auto index = model.find_tensor(name);
  INFO(name);
  REQUIRE(index.has_value());
  return model.tensor(*index);
}

inline void require_near(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  for (std::size_t i = 0; i < a.values<float>().size(); ++i) {
    INFO(i);
    REQUIRE(std::abs(a.values<float>()[i] - b.values<float>()[i]) <= 1e-5F);
  }
}

inline std::string refusal(const OnnxFile& file) {
  try {
    static_cast<void>(file.read());
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace lastbit::test
