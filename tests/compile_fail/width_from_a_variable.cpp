// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A width known at run time only: such numbers come from files, whose reader checks them.
#include "lastbit/arith/rescale.hpp"

#ifdef LASTBIT_VALID
[[maybe_unused]] auto stage_of(int) { return lastbit::stage::narrow_to(8, lastbit::Overflow::wrap); }
#else
[[maybe_unused]] auto stage_of(int bits) { return lastbit::stage::narrow_to(bits, lastbit::Overflow::wrap); }
#endif
static_assert(sizeof(stage_of(8)) > 0);
