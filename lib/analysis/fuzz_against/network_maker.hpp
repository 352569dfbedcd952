// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A random network, operation by operation: each works on what the one before has made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/fuzz_against/tensor_maker.hpp"

namespace lastbit {

class NetworkMaker {
 public:
  NetworkMaker(FuzzFormat format, Random& random) : format_(format), random_(random), make_(format, random) {}

  /// The first tensor, of a rank that the operation takes.
  void begin(OperationKind first);
  /// Whether the operation takes what there is.
  [[nodiscard]] bool takes(OperationKind kind) const;
  /// Adds it. Throws Error where its parameters turn out not to fit.
  void append(OperationKind kind);
  /// The network as it is.
  [[nodiscard]] Model network();

  struct Mark {
    Model model;
    std::int32_t current;
  };
  [[nodiscard]] Mark mark() { return {make_.model(), current_}; }
  void go_back(Mark to);

 private:
  [[nodiscard]] const ModelTensor& now() const { return make_.tensor(current_); }
  [[nodiscard]] bool is_onnx() const { return format_ == FuzzFormat::onnx; }
  std::int64_t channels();
  Extent2d extent(std::int64_t most);
  OutputBounds bounds();
  Padding2d padding(Extent2d span, Extent2d stride, bool of_pool);
  void emit(OperationKind kind, std::vector<std::int32_t> inputs, Attributes attributes, Quantization of_output,
            std::optional<Shape> shape = {});
  std::int32_t other_operand(bool same_quantization);
  Quantization fixed(double scale, std::int64_t codes_below_zero);

  void flatten();
  void convolution();
  void depthwise();
  void transposed();
  void dense();
  void product();
  void pool(OperationKind kind);
  void reduction(OperationKind kind);
  void extreme(OperationKind kind);
  void largest();
  void element_wise(OperationKind kind);
  void concatenation();
  void pad();
  void resize();
  void unary(OperationKind kind);

  FuzzFormat format_;
  Random& random_;
  TensorMaker make_;
  std::int32_t current_ = 0;
};

}  // namespace lastbit
