// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A width of more bits than a value has.
#include "lastbit/arith/overflow.hpp"

using namespace lastbit;
#ifdef LASTBIT_VALID
constexpr auto narrowed = narrow_wrap(5, 64);
#else
constexpr auto narrowed = narrow_wrap(5, 65);
#endif
static_assert(narrowed == 5);
