// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v / 2^n by `rounding`; n in shift_amount.hpp. A negative n is a shift left.
#pragma once

#include "lastbit/arith/stages/shift_amount.hpp"
#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage shift_right(Rounding rounding) { return {.kind = StageKind::shift_right, .rounding = rounding}; }
[[nodiscard]] constexpr Stage shift_right_by_exponent(Rounding rounding) {
  return {.kind = StageKind::shift_right, .rounding = rounding, .amount = ShiftAmount::negative_exponent};
}
[[nodiscard]] constexpr Stage shift_right_by(ConstantShift places, Rounding rounding) {
  return {.kind = StageKind::shift_right, .rounding = rounding, .amount = ShiftAmount::constant, .constant = places.value};
}
/// To the binary point of the multiplier: what the exponent asks for is left to a later shift.
[[nodiscard]] constexpr Stage shift_right_by_fraction(Rounding rounding) {
  return {.kind = StageKind::shift_right, .rounding = rounding, .amount = ShiftAmount::fraction};
}
[[nodiscard]] constexpr Stage shift_right_excess(ConstantShift beyond, ConstantShift limit, Rounding rounding) {
  return {
      .kind = StageKind::shift_right, .rounding = rounding, .amount = ShiftAmount::excess, .constant = beyond.value, .limit = limit.value};
}
[[nodiscard]] constexpr Stage shift_right_rest(ConstantShift limit, Rounding rounding) {
  return {.kind = StageKind::shift_right, .rounding = rounding, .amount = ShiftAmount::rest, .limit = limit.value};
}
[[nodiscard]] constexpr Stage shift_right_by_converter(Rounding rounding) {
  return {.kind = StageKind::shift_right, .rounding = rounding, .amount = ShiftAmount::converter};
}
}  // namespace stage

template <>
struct StageOf<StageKind::shift_right> {
  static constexpr StageFacts facts{
      .name = "shift_right",
      .meaning = "v / 2^n",
      .reads = [](const Stage& stage) { return with_amount(stage, {.rounding = true}); },
      .scale = scale_of_shift,
      .settles = false,
      .places = places_after_shift,
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    const auto amount = [&](const RescaleOperands& operands, int fraction) { return shift_amount(stage, operands, fraction); };
    const auto point = [&](const RescaleOperands& operands, int fraction) { return fraction_after_shift(stage, operands, fraction); };
    return machine.shift_right(amount, stage.rounding) && machine.binary_point(point);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.call(formula.word(stage.rounding), formula.factor() + " / " + formula.divisor(stage));
  }
  template <class Words>
  static void tell(Words& words, const Stage& stage) {
    words.shift(stage);
  }
};

}  // namespace lastbit
