// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/finish_rounding.hpp"

#include <cmath>
#include <limits>

namespace lastbit {

using kernels::ShiftForm;

ShiftForm form_of(Rounding rule) {
  switch (rule) {
    case Rounding::toward_zero:
    case Rounding::half_away:
    case Rounding::half_toward_zero: return ShiftForm::sign;
    case Rounding::half_even: return ShiftForm::parity;
    case Rounding::to_odd: return ShiftForm::sticky;
    default: return ShiftForm::plain;
  }
}

RoundingTerms rounding_terms(Rounding rule, int amount) {
  if (amount == 0) return {};
  const Int128 half = Int128{1} << (amount - 1), mask = 2 * half - 1;
  switch (rule) {
    case Rounding::ceil: return {mask, 0};
    case Rounding::toward_zero: return {0, mask};
    case Rounding::half_up: return {half, 0};
    case Rounding::half_down: return {half - 1, 0};
    case Rounding::half_away: return {half, -1};
    case Rounding::half_toward_zero: return {half - 1, 1};
    case Rounding::half_even: return {half - 1, 1};
    case Rounding::to_odd: return {0, mask};
    case Rounding::floor: break;
  }
  return {};
}

namespace {

/// Each threshold is the first number of the type that is rounded so.
template <class Real>
kernels::FloatRounding thresholds_of(Rounding rule) {
  constexpr auto thresholds = kernels::FloatForm::thresholds;
  constexpr Real never = 2, half = Real{1} / 2, least = std::numeric_limits<Real>::denorm_min();
  const Real above = std::nextafter(half, never);
  switch (rule) {
    case Rounding::half_even: return {};
    case Rounding::floor: return {thresholds, never, -least};
    case Rounding::ceil: return {thresholds, least, -never};
    case Rounding::half_up: return {thresholds, half, -above};
    case Rounding::half_down: return {thresholds, above, -half};
    case Rounding::half_away: return {thresholds, half, -half};
    case Rounding::half_toward_zero: return {thresholds, above, -above};
    case Rounding::toward_zero:
    case Rounding::to_odd: break;
  }
  return {thresholds, never, -never};
}

}  // namespace

kernels::FloatRounding float_rounding(Rounding rule, ProductArithmetic arithmetic) {
  return arithmetic == ProductArithmetic::f64 ? thresholds_of<double>(rule) : thresholds_of<float>(rule);
}

}  // namespace lastbit
