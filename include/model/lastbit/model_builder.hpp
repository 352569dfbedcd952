// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A network in a few lines, operation after operation:
//
//   ModelBuilder builder("one convolution");
//   const auto image = builder.input({"image", ElementType::int8, {1, 16, 16, 8}, {{0.05}, {3}}});
//   const auto weights = builder.constant("weights", values, {{0.0016}, {0}});
//   const auto output = builder.operation(OperationKind::conv2d, {image, weights}, {"conv", ElementType::int8, {1, 14, 14, 8}, {{0.05}, {0}}});
//   const Model model = builder.finished({output});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/model.hpp"

namespace lastbit {

/// A tensor that has no values yet.
struct TensorDescription {
  std::string name;
  ElementType type = ElementType::int8;
  Shape shape;
  Quantization quantization{};
};

/// Each function adds to the model and returns the index of the tensor that it added. Attributes that are left out are the kind's defaults.
/// Shapes: images N, H, W, C, weights as in model.hpp (O, H, W, I; depthwise 1, H, W, C). Units: the real value is scale * (code - zero point); a bias is
/// in units of the product of the scales of input and weights. What an operation takes, and its formula, is in its header of lastbit/op/.
/// Nothing is looked at until finished(), but for a constant whose values are not as many as its shape says: Error(shape_mismatch).
class ModelBuilder {
 public:
  Model model;  ///< so far

  explicit ModelBuilder(std::string name = {}) { model.name = std::move(name); }

  std::int32_t tensor(TensorDescription tensor);
  /// Given at run time.
  std::int32_t input(TensorDescription tensor);
  std::int32_t constant(std::string name, Tensor values, Quantization quantization = {});
  template <class T>
  std::int32_t constant(std::string name, const Shape& shape, const std::vector<T>& values, Quantization quantization = {}) {
    return constant(std::move(name), Tensor::from<T>(shape, values), std::move(quantization));
  }

  /// Named after its output.
  std::int32_t operation(OperationKind kind, std::vector<std::int32_t> inputs, TensorDescription output,
                         std::optional<Attributes> attributes = {});
  /// One whose outputs are there already.
  void operation(OperationKind kind, std::string name, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs,
                 std::optional<Attributes> attributes = {});

  /// The model with these outputs, validated (validate(), model.hpp). Throws Error naming `where`, with one diagnostic for each tensor or operation
  /// whose shapes, types, quantisation or attributes do not fit.
  [[nodiscard]] Model finished(std::vector<std::int32_t> outputs, std::string_view where = "model") const;
};

}  // namespace lastbit
