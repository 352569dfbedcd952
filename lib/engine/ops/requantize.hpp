// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Requantisation as requantize, the activations that read its rule, and a concatenation that rescales share it.
#pragma once

#include <vector>

#include "lastbit/arith/rescale.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// Two 8-bit types with one scale and zero points 128 apart: the same real values, so the codes move over unchanged.
[[nodiscard]] bool is_retyping(const ModelTensor& from, const ModelTensor& to);

/// The chain's operands from one input's scale, or scales, to the output's.
[[nodiscard]] std::vector<RescaleOperands> requantize_operands(const Operation& operation, const RescaleRule& rule,
                                                               const ModelTensor& input, const ModelTensor& output,
                                                               const OutputBounds& bounds);

}  // namespace lastbit
