// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// No accumulator and no output is wider than 64 bits.
#include "lastbit/arith/rescale.hpp"

#ifdef LASTBIT_VALID
constexpr auto stage = lastbit::stage::narrow_to(64, lastbit::Overflow::wrap);
#else
constexpr auto stage = lastbit::stage::narrow_to(65, lastbit::Overflow::wrap);
#endif
static_assert(stage.bits > 0);
