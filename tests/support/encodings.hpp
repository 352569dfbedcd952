// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Encodings that tests vary.
#pragma once

#include "lastbit/arith/multiplier.hpp"

namespace lastbit::test {

/// TFLite's: 31 bits of a fraction in [1/2, 1), half away from zero.
inline constexpr ScaleEncoding q31{.arithmetic = ScaleArithmetic::f64,
                                   .significant_bits = 31,
                                   .rounding = Rounding::half_away,
                                   .normalization = Normalization::half_to_one,
                                   .min_exponent = -31,
                                   .max_exponent = 127};

}  // namespace lastbit::test
