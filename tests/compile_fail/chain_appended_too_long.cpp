// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A constant chain continued beyond what fits.
#include "lastbit/arith/rescale.hpp"

using lastbit::stage::relu;
constexpr lastbit::Chain eleven{relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu(), relu()};
#ifdef LASTBIT_VALID
constexpr lastbit::Chain chain = eleven + relu();
#else
constexpr lastbit::Chain chain = eleven + relu() + relu();
#endif
static_assert(chain.size > 0);
