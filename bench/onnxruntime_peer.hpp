// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ONNX Runtime, where the user has it: LASTBIT_ONNXRUNTIME names the folder of its package onnxruntime-node, the one form in which the shared
// library comes with a documented way to call it but without a header. Debian has neither.
#pragma once

#include <functional>
#include <vector>

#include "case.hpp"
#include "lastbit/model.hpp"

namespace lastbit::bench {

/// On one thread; empty where the variable is not set. A convolution of as many output as input channels, stride 1, as a chain of QLinearConv.
[[nodiscard]] std::vector<Side> onnxruntime_layer(const std::function<Model()>& layer);
/// A network of one image, as its operations are stated: QLinear operators, or DequantizeLinear and QuantizeLinear, which are fused.
[[nodiscard]] std::vector<Side> onnxruntime_network(const std::function<Model()>& network);

}  // namespace lastbit::bench
