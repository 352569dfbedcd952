// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a convolution allocates, from its sizes alone.
#pragma once

#include <cstddef>

#include "engine/ops/convolution.hpp"

namespace lastbit {

/// In bytes, as everywhere in these files: what stays from preparing to the last run, what one run holds, what each of its threads does.
struct OperationMemory {
  double prepared = 0, run = 0, thread = 0;
};

/// What decides which forms of weights and input there can be.
struct ConvValues {
  bool bytes = false;         ///< input and weights of 8 bits
  bool fits_32_bits = false;  ///< no sum can leave 32 bits, whatever the weights are
};

[[nodiscard]] OperationMemory memory_of(const ConvGeometry& geometry, const ConvValues& values);

}  // namespace lastbit
