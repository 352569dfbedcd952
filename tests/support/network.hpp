// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A network of several operations, tensor by tensor.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lastbit/model.hpp"

namespace lastbit::test {

/// A network under construction, by names.
class Network {
 public:
  Model model;

  std::int32_t tensor(const std::string& name, ElementType type, const Shape& shape, Quantization quantization = {}) {
    model.tensors.push_back({name, type, shape, std::move(quantization), {}});
    return static_cast<std::int32_t>(model.tensors.size()) - 1;
  }
  std::int32_t real(const std::string& name, const Shape& shape) { return tensor(name, ElementType::float32, shape); }
  template <class T>
  std::int32_t constant(const std::string& name, const Shape& shape, const std::vector<T>& values, Quantization quantization = {}) {
    const std::int32_t index = tensor(name, element_type_of<T>, shape, std::move(quantization));
    model.tensors.back().constant = Tensor::from<T>(shape, values);
    return index;
  }
  /// With the kind's default attributes.
  void operation(OperationKind kind, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs) {
    operation(kind, std::move(inputs), std::move(outputs), default_attributes(kind));
  }
  void operation(OperationKind kind, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs, Attributes attributes) {
    model.operations.push_back(
        {kind, "op" + std::to_string(model.operations.size()), std::move(inputs), std::move(outputs), std::move(attributes)});
  }
};

}  // namespace lastbit::test
