// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What an operation becomes once it is prepared for a backend.
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "engine/parallel.hpp"
#include "lastbit/emulator.hpp"
#include "model/movement.hpp"

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
/// `executor`, and then each output value bounded by what the codes of its tensor in `quantized` stand for; float tensors are left as they are.
[[nodiscard]] Executor bounded_by_codes(Executor executor, const Model& quantized, const Operation& operation);
/// What only moves data is the same on both (model/movement.hpp).
[[nodiscard]] inline Executor executor_of(Movement movement) {
  return [movement = std::move(movement)](const Execution& run) {
    constexpr double nanoseconds_per_byte = 0.03;
    const auto bytes = static_cast<double>(run.outputs[0].bytes().size());
    for_each_part(movement.rows, units_per_part(nanoseconds_per_byte * bytes / static_cast<double>(movement.rows) + 1),
                  [&](std::int64_t first, std::int64_t last) { movement.move(run.inputs, run.outputs, first, last); });
  };
}

}  // namespace lastbit
