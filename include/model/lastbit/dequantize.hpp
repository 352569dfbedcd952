// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The real meaning of quantised data: real = scale * (q - zero point), in double, rounded once to float32.
#pragma once

#include "lastbit/model.hpp"
#include "lastbit/tensor_view.hpp"

namespace lastbit {

/// scale * (code - zero point)
[[nodiscard]] float real_of(std::int64_t code, double scale, std::int64_t zero_point);

/// The model with every quantised tensor and constant as float32.
[[nodiscard]] Model dequantized(const Model& model);

/// One tensor's values as float32.
[[nodiscard]] Tensor dequantized(const TensorView& tensor, const Quantization& quantization);

}  // namespace lastbit
