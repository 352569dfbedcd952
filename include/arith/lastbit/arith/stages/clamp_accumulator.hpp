// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v into [0, clip] if the layer has a clip of its accumulators.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage clamp_accumulator() { return {.kind = StageKind::clamp_accumulator}; }
}  // namespace stage

template <>
struct StageOf<StageKind::clamp_accumulator> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "clamp_accumulator",
      .meaning = "into [0, clip] if the layer has an `accumulator_clip`",
      .formerly = "clip",
      .settles = false,
      .bounds =
          [](const RescaleOperands& operands) {
            return operands.clip == no_clip ? StageBounds{} : StageBounds{0, operands.clip};
          },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage&) {
    return machine.clamp(facts.bounds);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.call("clamp_accumulator", formula.value());
  }
};

}  // namespace lastbit
