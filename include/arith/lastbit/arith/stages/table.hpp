// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The layer's look-up table (lastbit/arith/table.hpp) of v, saturated to 64 bits.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage table() { return {.kind = StageKind::table}; }
}  // namespace stage

template <>
struct StageOf<StageKind::table> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "table",
      .meaning = "the layer's look-up table",
      .keeps_order = false,
      .needs_values = true,
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage&) {
    return machine.look_up(
        [](Int128 value, const RescaleOperands& operands) { return Int128{operands.table(narrow_saturate(value, 64))}; });
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.call("table", formula.value());
  }
};

}  // namespace lastbit
