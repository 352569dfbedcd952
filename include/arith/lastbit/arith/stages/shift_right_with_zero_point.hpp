// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v / 2^n + output zero point by `rounding`, one rounding of the sum; n as in shift_right. From n = 100 on only the sign of v counts.
#pragma once

#include <algorithm>

#include "lastbit/arith/stages/shift_amount.hpp"
#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
/// The zero point joins before the rounding, so that the rule sees the code's own sign and parity.
[[nodiscard]] constexpr Stage shift_right_with_zero_point(Rounding rounding) {
  return {.kind = StageKind::shift_right_with_zero_point, .rounding = rounding};
}
}  // namespace stage

template <>
struct StageOf<StageKind::shift_right_with_zero_point> {
  static constexpr StageFacts facts{
      .name = "shift_right_with_zero_point",
      .meaning = "v / 2^n + output zero point, rounded once: the tie rule sees the code's sign and parity",
      .reads = [](const Stage& stage) { return with_amount(stage, {.rounding = true}); },
      .scale = scale_of_shift,
      .zero_point = ZeroPointUse::before_rounding,
      .settles = false,
      .places = places_after_shift,
  };
  /// The zero point is added in units of the value that is yet to be shifted; where nothing is dropped, behind the shift.
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    const auto amount = [&](const RescaleOperands& operands, int fraction) {
      return std::min(shift_amount(stage, operands, fraction), 100);
    };
    const auto before = [&](const RescaleOperands& operands, int fraction) {
      const int places = amount(operands, fraction);
      return places <= 0 ? Int128{0} : multiply_modulo(operands.zero_point, Int128{1} << places);
    };
    const auto behind = [&](const RescaleOperands& operands, int fraction) {
      return amount(operands, fraction) <= 0 ? Int128{operands.zero_point} : Int128{0};
    };
    const auto point = [&](const RescaleOperands& operands, int fraction) { return fraction_after_shift(stage, operands, fraction); };
    return machine.add(before) && machine.shift_right(amount, stage.rounding) && machine.add(behind) && machine.binary_point(point);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.call(formula.word(stage.rounding), formula.factor() + " / " + formula.divisor(stage) + " + zp");
  }
  template <class Words>
  static void tell(Words& words, const Stage& stage) {
    words.zero_point("before rounding");
    words.shift(stage);
  }
};

}  // namespace lastbit
