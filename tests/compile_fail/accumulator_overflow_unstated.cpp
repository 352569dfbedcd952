// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A sum of which nobody has said what happens beyond its width, and when.
#include "lastbit/arith/accumulator.hpp"

using namespace lastbit;
#ifdef LASTBIT_VALID
constexpr AccumulatorRule rule{.bits = 8, .overflow = Overflow::wrap, .when = NarrowingPoint::at_end};
#else
constexpr AccumulatorRule rule{.bits = 8, .when = NarrowingPoint::at_end};
#endif
constexpr auto sum = Accumulator(rule, 300).result();
static_assert(sum == 44);
