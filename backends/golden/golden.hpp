// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The golden path: every quantised value dequantised, every operation in float, nothing rounded to integers. Evidence: its definition.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

inline constexpr Backend float_golden{.domain = Domain::real};

}  // namespace lastbit
