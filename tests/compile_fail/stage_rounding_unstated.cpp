// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A shift whose rounding a designated initialiser leaves out.
#include "lastbit/arith/rescale.hpp"

using namespace lastbit;
#ifdef LASTBIT_VALID
constexpr Chain chain{Stage{.kind = StageKind::shift_right, .rounding = Rounding::half_up, .amount = ShiftAmount::constant, .constant = 1}};
#else
constexpr Chain chain{Stage{.kind = StageKind::shift_right, .amount = ShiftAmount::constant, .constant = 1}};
#endif
constexpr auto output = finish(chain, 3, {});
static_assert(output == 2);
