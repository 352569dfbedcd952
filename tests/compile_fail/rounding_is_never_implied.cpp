// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A right shift without a rounding rule: there is no default.
#include "lastbit/arith/rescale.hpp"

#ifdef LASTBIT_VALID
constexpr auto stage = lastbit::stage::shift_right(lastbit::Rounding::half_up);
#else
constexpr auto stage = lastbit::stage::shift_right();
#endif
static_assert(stage.kind == lastbit::StageKind::shift_right);
