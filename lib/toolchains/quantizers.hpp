// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each vendor's quantiser, defined in its folder's quantizer.cpp and listed in quantizers.cpp.
#pragma once

#include "lastbit/quantizer.hpp"

namespace lastbit {

[[nodiscard]] Quantizer int8_quantizer();
[[nodiscard]] Quantizer n2d2_quantizer();
[[nodiscard]] Quantizer bernoulli2_quantizer();
[[nodiscard]] Quantizer gna2_quantizer();
[[nodiscard]] Quantizer gna3_0_quantizer();
[[nodiscard]] Quantizer gna3_1_quantizer();
[[nodiscard]] Quantizer float16_quantizer();

// A new one: a declaration here, a line in quantizers.cpp, its file in lib/CMakeLists.txt.

}  // namespace lastbit
