// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v + 2^(n-1), and 1 less of v < 0, n = `amount` of the shift_right that follows (shift_amount.hpp), if n > 0; narrowed to `bits` by `overflow`.
// Before a floor this is half_away, but where the sum leaves its width (ESP-NN's fast requantisation).
#pragma once

#include <utility>

#include "lastbit/arith/stages/add_half.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage add_half_by_sign_by_exponent(Width bits, Overflow overflow) {
  return {.kind = StageKind::add_half_by_sign, .overflow = overflow, .bits = bits.value, .amount = ShiftAmount::negative_exponent};
}
}  // namespace stage

template <>
struct StageOf<StageKind::add_half_by_sign> {
  static constexpr StageFacts facts{
      .name = "add_half_by_sign",
      .meaning = "v + 2^(n - 1), 1 less of v < 0, n > 0 of the shift to come, narrowed",
      .reads = [](const Stage& stage) { return with_amount(stage, {.bits = true, .overflow = true}); },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    const auto halves = [&](const RescaleOperands& operands, int fraction) {
      const Int128 half = half_before(shift_amount(stage, operands, fraction));
      return std::pair(half, half == 0 ? half : half - 1);
    };
    return machine.add_by_sign(halves) && machine.narrow(stage.bits, stage.overflow);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.sum(formula.value() + " + half(" + formula.coming_divisor(stage) + ") - (v < 0)");
    formula.narrow(stage);
  }
  template <class Words>
  static void tell(Words& words, const Stage& stage) {
    words.half("half by sign added, ");
    words.width("half by sign ", stage);
  }
};

}  // namespace lastbit
