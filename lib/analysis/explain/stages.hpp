// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lastbit/explain.hpp"

namespace lastbit {

/// The kind and the rules it reads, sizes with their unit: "multiply 24 bits floor".
[[nodiscard]] std::string name_of_stage(const Stage& stage);

}  // namespace lastbit
