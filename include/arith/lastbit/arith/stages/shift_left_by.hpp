// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v * 2^constant, narrowed to `bits` by `overflow`.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage shift_left_by(ConstantShift places, Width bits, Overflow overflow) {
  return {.kind = StageKind::shift_left_by, .overflow = overflow, .bits = bits.value, .constant = places.value};
}
}  // namespace stage

template <>
struct StageOf<StageKind::shift_left_by> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "shift_left_by",
      .meaning = "v * 2^constant, narrowed",
      .reads = [](const Stage&) { return StageMembers{.bits = true, .overflow = true, .constant = true}; },
      .added_bits = [](const Stage& stage, int, int) { return int{stage.constant}; },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    return machine.shift_left([&](const RescaleOperands&) { return int{stage.constant}; }) && machine.narrow(stage.bits, stage.overflow);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.product(formula.factor() + "*2^" + formula.word(stage.constant));
    formula.narrow(stage);
  }
};

}  // namespace lastbit
