// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A network of several operations, tensor by tensor.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lastbit/model_builder.hpp"

namespace lastbit::test {

/// Tensors first; operations are numbered.
class Network : public ModelBuilder {
 public:
  using ModelBuilder::tensor;
  std::int32_t tensor(const std::string& name, ElementType type, const Shape& shape, Quantization quantization = {}) {
    return tensor({name, type, shape, std::move(quantization)});
  }
  std::int32_t real(const std::string& name, const Shape& shape) { return tensor(name, ElementType::float32, shape); }
  void operation(OperationKind kind, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs,
                 std::optional<Attributes> attributes = {}) {
    ModelBuilder::operation(kind, "op" + std::to_string(model.operations.size()), std::move(inputs), std::move(outputs),
                            std::move(attributes));
  }
};

}  // namespace lastbit::test
