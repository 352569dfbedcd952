// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Activations as lines in real units.
#pragma once

#include <optional>
#include <vector>

#include "gna/toolchain/pwl_design.hpp"
#include "lastbit/model.hpp"

namespace lastbit::gna {

struct Function {
  std::vector<Line> lines;
  bool identity = false;
};

/// Of a fused activation, or bounds of float data.
[[nodiscard]] Function bounds_function(const OutputBounds& bounds);

/// Of an operation of its own; nothing where the device has none. Curved functions to `percent` of max - min.
[[nodiscard]] std::optional<Function> function_of(const Operation& operation, double percent);

}  // namespace lastbit::gna
