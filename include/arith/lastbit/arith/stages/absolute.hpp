// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// |v| if the layer's activation is the magnitude.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage absolute() { return {.kind = StageKind::absolute}; }
}  // namespace stage

template <>
struct StageOf<StageKind::absolute> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "absolute",
      .meaning = "|v| if the layer's activation is the magnitude",
      .settles = false,
      .keeps_order = false,
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage&) {
    const auto acts = [](const RescaleOperands& operands) { return operands.rectifier == Rectifier::magnitude; };
    const auto sign = [](Int128 value) { return Int128{value < 0 ? 0 : 1}; };
    return machine.piecewise(acts, sign,
                             [](Int128 value, const RescaleOperands&) { return value < 0 ? multiply_modulo(value, -1) : value; });
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.call("absolute", formula.value());
  }
};

}  // namespace lastbit
