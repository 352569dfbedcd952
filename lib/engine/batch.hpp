// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Samples of a batch: tensors with one extra leading dimension.
#pragma once

#include <cstdint>
#include <span>

#include "lastbit/model.hpp"
#include "lastbit/tensor_view.hpp"

namespace lastbit {

/// How many samples an input carries: 1 for the model's own shape, N for one extra leading dimension. Throws Error for any other shape.
[[nodiscard]] std::int64_t sample_count(const ModelTensor& expected, const Shape& given);

/// Whether what is given to the model is not one sample of it.
[[nodiscard]] bool is_batch(const Model& model, std::span<const Tensor> inputs);

[[nodiscard]] Shape with_samples(const Shape& shape, std::int64_t samples);

/// One of the samples, of this shape.
[[nodiscard]] Tensor slice_sample(const TensorView& batch, const Shape& shape, std::int64_t sample);

/// Copies one of several samples to its place, if the tensor has a place for it.
void keep_sample(Tensor& kept, const Tensor& value, std::int64_t sample);

}  // namespace lastbit
