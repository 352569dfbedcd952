// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What an operation becomes once it is prepared for a backend.
#pragma once

#include <functional>
#include <span>

#include "lastbit/emulator.hpp"

namespace lastbit {

/// Inputs in the operation's order: run-time tensors and constants alike; null only for an absent optional input.
/// Outputs are allocated with the model's types and shapes. `events` is null unless counted.
struct Execution {
  std::span<const Tensor* const> inputs;
  std::span<Tensor> outputs;
  Events* events = nullptr;
  SumRoutes* routes = nullptr;  ///< null unless measured
};

/// Called once per sample, from several threads at once; holds everything prepared and no state.
using Executor = std::function<void(const Execution&)>;

/// Throws Error naming the operation when the backend cannot do it.
[[nodiscard]] Executor prepare_integer(const Model& model, const Operation& operation, const Backend& backend);
/// The golden path: every tensor of the operation is float32 (lib/engine/float).
[[nodiscard]] Executor prepare_real(const Model& model, const Operation& operation);
/// Pure data movement (pad, reshape, squeeze, transpose, slice, strided_slice, split) of any element type.
[[nodiscard]] Executor prepare_movement(const Model& model, const Operation& operation);

}  // namespace lastbit
