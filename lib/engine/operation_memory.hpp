// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What an operation allocates besides its tensors.
#pragma once

#include "engine/ops/conv_memory.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// An upper bound, for the arithmetic that the backend takes to the operation; `model` is the user's. What it refuses may get any number.
[[nodiscard]] OperationMemory memory_of(const Model& model, const Operation& operation, const Backend& backend);

}  // namespace lastbit
