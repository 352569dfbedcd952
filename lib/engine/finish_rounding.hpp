// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rounding rules as the steps of engine/kernels/finish.hpp have them.
#pragma once

#include "engine/kernels/finish.hpp"
#include "lastbit/arith/rounding.hpp"
#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

/// The form of a rule's shift, and its terms for one amount.
[[nodiscard]] kernels::ShiftForm form_of(Rounding rule);

struct RoundingTerms {
  Int128 bias = 0, extra = 0;
};
[[nodiscard]] RoundingTerms rounding_terms(Rounding rule, int amount);

/// A rule as kernels round floats, or doubles, by it; none of them has to_odd.
[[nodiscard]] kernels::FloatRounding float_rounding(Rounding rule, ProductArithmetic arithmetic = ProductArithmetic::f32);

}  // namespace lastbit
