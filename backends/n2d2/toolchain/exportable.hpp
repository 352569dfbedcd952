// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A float network as N2D2's export takes it: rectifiers part of their layers, no softmax at the end, and nothing without a kernel.
#pragma once

#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model.hpp"
#include "lastbit/quantizer.hpp"

namespace lastbit::n2d2 {

/// Tensors keep their indices. Of a rectifier that is an operation of its own, behind a layer that nothing else reads, only the output is left.
[[nodiscard]] QuantizedNetwork exportable(const Model& model);

/// One diagnostic per operation that the device has no kernel for.
[[nodiscard]] std::vector<Diagnostic> unsupported(const Model& model, const Backend& backend);

[[nodiscard]] bool is_rectified(const OutputBounds& bounds);

}  // namespace lastbit::n2d2
