// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// max(v, 0) if the layer has a rectifier.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage relu() { return {.kind = StageKind::relu}; }
}  // namespace stage

template <>
struct StageOf<StageKind::relu> {
  static constexpr StageFacts facts{
      .name = "relu",
      .meaning = "max(v, 0) if the layer has a rectifier",
      .settles = false,
      .bounds =
          [](const RescaleOperands& operands) { return operands.rectifier == Rectifier::at_zero ? StageBounds{.low = 0} : StageBounds{}; },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage&) {
    return machine.clamp(facts.bounds);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.call("relu", formula.value());
  }
  template <class Words>
  static void tell(Words& words, const Stage&) {
    words.rectifies();
  }
};

}  // namespace lastbit
