// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pure data movement (pad, reshape, squeeze, transpose, slice, strided_slice, split) of any element type: the same on every device.
#pragma once

#include <functional>
#include <span>

#include "lastbit/model.hpp"

namespace lastbit {

/// From inputs to outputs of the operation's types and shapes; may be called from several threads at once.
using Movement = std::function<void(std::span<const Tensor* const> inputs, std::span<Tensor> outputs)>;

/// Throws Error naming the operation when it moves no data.
[[nodiscard]] Movement prepare_movement(const Model& model, const Operation& operation);

}  // namespace lastbit
