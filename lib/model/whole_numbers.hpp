// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Numbers that stand for themselves: int32 and int64 without a scale, as indices, counts and sizes are. What is computed of them is no device's
// arithmetic (op/whole_number.hpp).
#pragma once

#include "lastbit/model.hpp"

namespace lastbit {

[[nodiscard]] inline bool is_whole_number(const ModelTensor& tensor) {
  return (tensor.type == ElementType::int32 || tensor.type == ElementType::int64) && !tensor.quantization.present();
}

/// Whether an operation, which is no movement, is on such numbers and on truth values alone; or a cast that begins or ends with an integer.
[[nodiscard]] bool is_on_whole_numbers(const Model& model, const Operation& operation);

}  // namespace lastbit
