// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The golden path: every quantised value dequantised, every operation in float, nothing rounded to integers. Evidence: its definition.
// Converters drop a ReLU where the output's codes imply it, so a value is bounded by what its tensor's codes stand for; `float_unbounded` is the
// network as written, in which such a ReLU is missing.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

inline constexpr Backend float_golden{.domain = Domain::real, .golden_range = GoldenRange::representable};
inline constexpr Backend float_unbounded{.domain = Domain::real, .golden_range = GoldenRange::unbounded};

}  // namespace lastbit
