// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the X3's operator list admits on the BPU. Source: D-Robotics, "Supported operators and restrictions" of the X3 toolchain (documented;
// operations beyond it run on the CPU there).
#pragma once

#include <string>
#include <vector>

#include "lastbit/model.hpp"

namespace lastbit {

/// One line per limit that the operation exceeds, with the value found and the value allowed; empty: it may run on the BPU.
[[nodiscard]] std::vector<std::string> bernoulli2_limits(const Model& model, const Operation& operation);

}  // namespace lastbit
