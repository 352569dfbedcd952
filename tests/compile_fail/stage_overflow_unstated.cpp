// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A stage that narrows, and whose initialiser leaves out what becomes of a value beyond the width.
#include "lastbit/arith/rescale.hpp"

using namespace lastbit;
#ifdef LASTBIT_VALID
constexpr Chain chain{Stage{.kind = StageKind::narrow, .overflow = Overflow::wrap, .bits = 8}};
#else
constexpr Chain chain{Stage{.kind = StageKind::narrow, .bits = 8}};
#endif
constexpr auto output = finish(chain, 300, {});
static_assert(output == 44);
