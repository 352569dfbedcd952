// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A constant chain with more stages than fit.
#include "lastbit/arith/rescale.hpp"

using lastbit::stage::relu;
#ifdef LASTBIT_VALID
constexpr lastbit::Chain chain{relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu()};
#else
constexpr lastbit::Chain chain{relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu()};
#endif
static_assert(chain.size > 0);
