// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v + the offset that the layer states of its converter (0 of one that states none).
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage add_converter_offset() { return {.kind = StageKind::add_converter_offset}; }
}  // namespace stage

template <>
struct StageOf<StageKind::add_converter_offset> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "add_converter_offset",
      .meaning = "v + the offset of the layer's `converter`",
      .settles = false,
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage&) {
    return machine.add([](const RescaleOperands& operands, int) { return Int128{operands.converter.offset}; });
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.sum(formula.value() + " + offset2");
  }
};

}  // namespace lastbit
