// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A signed value needs two bits.
#include "lastbit/arith/rescale.hpp"

#ifdef LASTBIT_VALID
constexpr auto stage = lastbit::stage::shift_left(2, lastbit::Overflow::wrap);
#else
constexpr auto stage = lastbit::stage::shift_left(1, lastbit::Overflow::wrap);
#endif
static_assert(stage.bits > 0);
