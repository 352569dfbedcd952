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

/// A convolution of as many output as input channels, stride 1, as a chain of QLinearConv on one thread. Empty where the variable is not set.
[[nodiscard]] std::vector<Side> onnxruntime_sides(const std::function<Model()>& layer);

}  // namespace lastbit::bench
