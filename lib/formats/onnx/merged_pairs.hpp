// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/onnx/operators.hpp"

namespace lastbit::onnx_format {

/// States Value::merged where QuantizeLinear, DequantizeLinear, QuantizeLinear, DequantizeLinear stand one directly behind the other, each read by the
/// next one alone. Constants are known, nodes are not yet read.
void state_merged_pairs(const onnx::GraphProto& source, Graph& graph);

}  // namespace lastbit::onnx_format
