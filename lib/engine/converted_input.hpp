// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Values in another form than they were given: real values become codes, codes become real values.
#pragma once

#include <optional>

#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"
#include "lastbit/tensor_view.hpp"

namespace lastbit {

/// The codes of real values, float32, by the rule; the shapes are equal.
void quantize_by(const QuantizeArithmetic& rule, const TensorView& real, const Quantization& quantization, Tensor& codes);

/// The real values, float32, of codes with one scale.
[[nodiscard]] Tensor dequantized_by(const DequantizeArithmetic& rule, const Tensor& codes, const Quantization& quantization);

/// The values of a tensor in the type in which `reader` holds it. `coded` is the tensor with its codes' type and scales; real values become codes
/// by the reader's quantize, halves by its conversion. Throws Error(unsupported_operation) where the reader has none.
[[nodiscard]] Tensor in_form(const Tensor& given, ElementType wanted, const ModelTensor& coded, const Backend& reader);

/// What is given for the input `index` of `model`, in the type that it wants; nothing where it has that type. `user` is the model as it was read, of which
/// `model` is the dequantised form in the real domain. Throws Error for other types, and for values that no code stands for.
[[nodiscard]] std::optional<Tensor> converted_input(const Model& user, const Model& model, const Backend& backend, std::int32_t index,
                                                    const TensorView& given);

}  // namespace lastbit
