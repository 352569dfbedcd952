// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The layer's piecewise-linear function (lastbit/arith/pwl.hpp) of v, saturated to 32 bits.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage pwl() { return {.kind = StageKind::pwl}; }
}  // namespace stage

template <>
struct StageOf<StageKind::pwl> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "pwl",
      .meaning = "the layer's piecewise-linear function",
      .keeps_order = false,
      .needs_values = true,
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage&) {
    return machine.look_up([](Int128 value, const RescaleOperands& operands) {
      return Int128{evaluate_pwl(operands.pwl, static_cast<std::int32_t>(narrow_saturate(value, 32)))};
    });
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.call("pwl", formula.value());
  }
};

}  // namespace lastbit
