// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Names that a program has of its own, beside `using namespace lastbit`: the stages lie in a namespace that it does not open.
#include <array>

#include "lastbit/arith/rescale.hpp"

using namespace lastbit;
#ifndef LASTBIT_VALID
using namespace lastbit::stage;
#endif
constexpr std::array segments{1, 2, 3};
constexpr int table = 4, relu = 5, clamp = 6, pwl = 7, absolute = 8;
static_assert(segments.size() + table + relu + clamp + pwl + absolute == 33);
static_assert(Chain{stage::segments(16, 16, Rounding::floor, RoundingStep::up), stage::clamp()}.size == 2);
