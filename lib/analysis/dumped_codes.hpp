// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lastbit/model.hpp"

namespace lastbit {

/// Floats that a board's tool made of the codes of a tensor with one scale, as codes again. Throws Error(bad_input) naming the first that is none:
/// the nearest one is a hundredth of a step away, or more.
[[nodiscard]] Tensor codes_from_floats(const Tensor& values, const ModelTensor& described);

}  // namespace lastbit
