// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v + 2^(n-1), n = `amount` of the shift_right that follows (shift_amount.hpp), if n > 0; narrowed to `bits` by `overflow`.
#pragma once

#include <algorithm>

#include "lastbit/arith/stages/shift_amount.hpp"
#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
/// Half a unit before a shift_right of the same amount that truncates.
[[nodiscard]] constexpr Stage add_half(Width bits, Overflow overflow) {
  return {.kind = StageKind::add_half, .overflow = overflow, .bits = bits.value};
}
[[nodiscard]] constexpr Stage add_half_by_exponent(Width bits, Overflow overflow) {
  return {.kind = StageKind::add_half, .overflow = overflow, .bits = bits.value, .amount = ShiftAmount::negative_exponent};
}
}  // namespace stage

/// Half of what a shift by `amount` takes off.
[[nodiscard]] constexpr Int128 half_before(int amount) noexcept {
  return amount <= 0 ? Int128{0} : Int128{1} << std::min(amount - 1, width_of<Int128> - 2);
}

template <>
struct StageOf<StageKind::add_half> {
  static constexpr StageFacts facts{
      .name = "add_half",
      .meaning = "v + 2^(n - 1), n > 0 of the shift to come, narrowed",
      .reads = [](const Stage& stage) { return with_amount(stage, {.bits = true, .overflow = true}); },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    const auto half = [&](const RescaleOperands& operands, int fraction) { return half_before(shift_amount(stage, operands, fraction)); };
    return machine.add_and_narrow(half, stage.bits, stage.overflow);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.sum(formula.value() + " + half(" + formula.coming_divisor(stage) + ")");
    formula.narrow(stage);
  }
  template <class Words>
  static void tell(Words& words, const Stage& stage) {
    words.half("half added, ");
    words.width("half ", stage);
  }
};

}  // namespace lastbit
