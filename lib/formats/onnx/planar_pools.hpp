// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lastbit/model.hpp"

namespace lastbit::onnx_format {

/// States Pool2dAttributes::planar of averages: images of several channels are planar from the inputs on, and whatever is a view or a product of matrices;
/// a convolution makes them channels last, as PyTorch's quantised ones do. What lies between keeps what it is given, of several inputs what the first is.
void state_planar_pools(Model& model);

}  // namespace lastbit::onnx_format
