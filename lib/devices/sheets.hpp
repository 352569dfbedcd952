// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The spec sheets of each vendor's folder. A new vendor: a line here, a line in registry.cpp, a line in CMakeLists.txt.
#pragma once

#include <vector>

#include "lastbit/backend.hpp"

namespace lastbit {

[[nodiscard]] std::vector<SpecSheet> tflite_sheets();
[[nodiscard]] std::vector<SpecSheet> xnnpack_sheets();
[[nodiscard]] std::vector<SpecSheet> onnxruntime_sheets();
[[nodiscard]] std::vector<SpecSheet> vipnano_sheets();
[[nodiscard]] std::vector<SpecSheet> n2d2_sheets();
[[nodiscard]] std::vector<SpecSheet> ascend_sheets();
[[nodiscard]] std::vector<SpecSheet> bernoulli2_sheets();
[[nodiscard]] std::vector<SpecSheet> gna_sheets();
[[nodiscard]] std::vector<SpecSheet> golden_sheets();

}  // namespace lastbit
