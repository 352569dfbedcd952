// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v + the offset that the layer's registers state (0 of one that states none).
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage add_offset() { return {.kind = StageKind::add_offset}; }
}  // namespace stage

template <>
struct StageOf<StageKind::add_offset> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "add_offset",
      .meaning = "v + the offset of the layer's `registers`",
      .settles = false,
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage&) {
    return machine.add([](const RescaleOperands& operands, int) { return Int128{operands.offset}; });
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.sum(formula.value() + " + offset");
  }
};

}  // namespace lastbit
