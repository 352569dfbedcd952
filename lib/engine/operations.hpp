// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How the engine computes each kind of operation: the one table of executors. Data movement is the model's (model/movement.hpp).
#pragma once

#include "engine/executor.hpp"

namespace lastbit {

/// Null where a kind has no such arithmetic.
struct OperationExecutors {
  OperationKind kind;
  Executor (*integer)(const Model&, const Operation&, const Backend&) = nullptr;
  Executor (*real)(const Model&, const Operation&) = nullptr;  ///< the golden path
  Executor (*float16)(const Model&, const Operation&, const Float16Arithmetic&) = nullptr;
};

[[nodiscard]] const OperationExecutors& executors_of(OperationKind kind);

}  // namespace lastbit
