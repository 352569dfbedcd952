// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tensors with random quantisations and values, which a random network is made of.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/fuzz_against/random.hpp"
#include "lastbit/fuzz_against.hpp"

namespace lastbit {

/// Codes of a type: any; the extremes and the zero point; near the zero point; all the same.
[[nodiscard]] Tensor random_codes(ElementType type, const Shape& shape, std::int64_t zero_point, Random& random);

class TensorMaker {
 public:
  TensorMaker(FuzzFormat format, Random& random);

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] Model& model() { return model_; }
  [[nodiscard]] const ModelTensor& tensor(std::int32_t index) const { return model_.tensor(index); }

  /// Some scale, a power of two at times; some zero point, the smallest or largest code at times.
  [[nodiscard]] Quantization any_quantization();
  [[nodiscard]] Quantization with_scale(double scale);
  /// Of what an operation makes of values of this scale: the same at times, a power of two apart, or anything near.
  [[nodiscard]] Quantization near(double scale);

  std::int32_t add(const std::string& name, ElementType type, Shape shape, Quantization quantization, Constant constant = {});
  /// An input of the network.
  std::int32_t add_input(const Shape& shape, const Quantization& quantization);
  /// A constant of the data's type.
  std::int32_t add_constant(const Shape& shape, const Quantization& quantization);

  /// Weights of so many outputs along an axis, with one scale or, if `channels`, one per output.
  std::int32_t add_weights(const Shape& shape, std::int64_t outputs, std::int64_t axis, bool channels);
  /// A bias in the product of the scales; nothing at times.
  std::int32_t add_bias(std::int32_t data, std::int32_t weights, std::int64_t outputs);
  /// Of sums of so many products: most outputs are told apart, some saturate, some lie on ties.
  [[nodiscard]] Quantization of_sums(std::int32_t data, std::int32_t weights, std::int64_t terms);

 private:
  [[nodiscard]] std::int64_t zero_point();

  FuzzFormat format_;
  Random& random_;
  ElementType type_;
  bool wide_bias_ = false;  ///< of 16-bit data
  Model model_;
};

}  // namespace lastbit
