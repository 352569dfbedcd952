// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v into the layer's bounds, its activation's included.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage clamp() { return {.kind = StageKind::clamp}; }
}  // namespace stage

template <>
struct StageOf<StageKind::clamp> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "clamp",
      .meaning = "into the layer's bounds, its activation included",
      .bounds =
          [](const RescaleOperands& operands) {
            return StageBounds{operands.min, operands.max};
          },
      .bounds_output = true,
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage&) {
    return machine.clamp(facts.bounds);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.call("clamp", formula.value());
  }
};

}  // namespace lastbit
