// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A multiplier wider than the products allow.
#include "lastbit/arith/rescale.hpp"

#ifdef LASTBIT_VALID
constexpr lastbit::MultiplierBits bits{15};
#else
constexpr lastbit::MultiplierBits bits{300};
#endif
static_assert(bits.value > 0);
