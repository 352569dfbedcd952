// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Activations as lines in real units, and tables as a network holds them.
#pragma once

#include <optional>
#include <vector>

#include "lastbit/backends/gna_tables.hpp"
#include "lastbit/model.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit::gna {

struct Function {
  std::vector<Line> lines;
  bool identity = false;
};

/// Of a fused activation, or bounds of float data.
[[nodiscard]] Function bounds_function(const OutputBounds& bounds);

/// Of an operation of its own; nothing where the device has none. Curved functions to `percent` of max - min.
[[nodiscard]] std::optional<Function> function_of(const Operation& operation, double percent);

/// pwl_segments as records [segments, 3]: base with shift selector, y base, slope.
[[nodiscard]] Tensor pwl_table(std::vector<Line> lines, double input_factor, double output_factor, FlatEnds ends);

}  // namespace lastbit::gna
