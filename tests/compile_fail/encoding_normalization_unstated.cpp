// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A multiplier of which nobody has said where its binary point lies.
#include "lastbit/arith/multiplier.hpp"

using namespace lastbit;
#ifdef LASTBIT_VALID
constexpr ScaleEncoding rule{
    .significant_bits = 8, .rounding = Rounding::half_up, .normalization = Normalization::half_to_one, .min_exponent = -31};
#else
constexpr ScaleEncoding rule{.significant_bits = 8, .rounding = Rounding::half_up, .min_exponent = -31};
#endif
constexpr EncodedScale encoded = encode(rule, 0.3);
static_assert(encoded.multiplier == 154);
