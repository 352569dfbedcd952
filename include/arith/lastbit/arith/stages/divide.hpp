// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v / count by `rounding`: the count of values that were summed.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage divide_by_count(Rounding rounding) { return {.kind = StageKind::divide, .rounding = rounding}; }
}  // namespace stage

template <>
struct StageOf<StageKind::divide> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "divide",
      .meaning = "v / count of the values summed",
      .reads = [](const Stage&) { return StageMembers{.rounding = true}; },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    return machine.divide([](const RescaleOperands& operands) { return operands.count; }, stage.rounding);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.call(formula.word(stage.rounding), formula.factor() + " / count");
  }
};

}  // namespace lastbit
