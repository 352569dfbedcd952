// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A floating-point value has no place in integer arithmetic.
#include "lastbit/arith/rounding.hpp"

#ifdef LASTBIT_VALID
constexpr auto shifted = lastbit::shift_right(5, 1, lastbit::Rounding::half_up);
#else
constexpr auto shifted = lastbit::shift_right(5.0, 1, lastbit::Rounding::half_up);
#endif
static_assert(shifted == 3);
