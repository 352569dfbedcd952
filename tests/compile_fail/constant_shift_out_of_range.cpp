// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A shift that leaves nothing of 64 bits.
#include "lastbit/arith/rescale.hpp"

#ifdef LASTBIT_VALID
constexpr auto stage = lastbit::stage::shift_right_by(62, lastbit::Rounding::floor);
#else
constexpr auto stage = lastbit::stage::shift_right_by(63, lastbit::Rounding::floor);
#endif
static_assert(stage.constant > 0);
