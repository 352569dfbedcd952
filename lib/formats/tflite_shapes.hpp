// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operators that compute shapes: what Keras writes for a batch of any size. Every tensor of a file that can be read has its shape already.
#pragma once

#include <vector>

#include "tflite_subset_generated.h"

namespace lastbit::tflite_format {

/// Of each operator whether what it gives is read for nothing but the shape of another operator's output. `codes`: of each operator.
[[nodiscard]] std::vector<bool> operators_for_shapes(const SubGraph& graph, const std::vector<BuiltinOperator>& codes);

}  // namespace lastbit::tflite_format
