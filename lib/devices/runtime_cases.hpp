// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Parts of what runtime_cases() tells.
#pragma once

#include "lastbit/runtimes.hpp"

namespace lastbit {

/// TensorFlow Lite and LiteRT, whose kernels are the same.
void add_tflite_cases(std::vector<RuntimeCase>& all);

}  // namespace lastbit
