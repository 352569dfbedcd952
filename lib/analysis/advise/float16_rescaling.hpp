// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of a float network can be scaled by a power of two, and what it does on a device.
#pragma once

#include <span>
#include <vector>

#include "lastbit/advise.hpp"

namespace lastbit {

/// Tensors that need an exponent of their own, by tensor (0: none), and why they need it is somebody else's business.
[[nodiscard]] Rescaling rescaling_for(const Model& model, const std::vector<int>& exponents);

[[nodiscard]] Float16Advice advise_float16(const Model& model, const Backend& a, const Backend& b,
                                           std::span<const std::vector<Tensor>> samples);

}  // namespace lastbit
