// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which layers a delegate leaves to the kernels beneath it, by the rule `delegated`.
#pragma once

#include <string>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// Whether the operation is one that the device's delegate may leave.
[[nodiscard]] bool may_be_left(const Operation& operation, const Backend& backend);

/// Of mean, add, sub, mul, requantize, clip, leaky_relu, logistic, tanh and resize of codes; other operations are never left. False where the backend has no delegate.
[[nodiscard]] bool is_left(const Model& model, const Operation& operation, const Backend& backend);

/// What the rule says, for formulas: "mean: 2^-8 <= in/out < 2^8, of axes 1 and 2 or 2 alone of four".
[[nodiscard]] std::vector<std::string> lines_of(const DelegatedLayers& layers);

}  // namespace lastbit
