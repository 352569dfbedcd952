// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// |v| if the layer's activation is the magnitude.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

[[nodiscard]] constexpr Stage absolute() { return {.kind = StageKind::absolute}; }

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
    return machine.absolute([](const RescaleOperands& operands) { return operands.rectifier == Rectifier::magnitude; });
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.call("absolute", formula.value());
  }
};

}  // namespace lastbit
