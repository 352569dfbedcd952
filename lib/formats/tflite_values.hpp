// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a tensor of a .tflite file holds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "lastbit/tensor.hpp"
#include "tflite_subset_generated.h"

namespace lastbit::tflite_format {

/// Float16 counts as float32.
[[nodiscard]] std::optional<ElementType> element_type_from(TensorType type);

/// As many values as the shape has. `half`: of binary16.
[[nodiscard]] lastbit::Tensor stored_values(ElementType type, bool half, std::span<const std::byte> data, const Shape& shape);

}  // namespace lastbit::tflite_format
