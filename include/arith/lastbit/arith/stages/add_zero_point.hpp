// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v + output zero point.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage add_zero_point() { return {.kind = StageKind::add_zero_point}; }
}  // namespace stage

template <>
struct StageOf<StageKind::add_zero_point> {
  static constexpr StageFacts facts{
      .name = "add_zero_point",
      .meaning = "v + output zero point",
      .zero_point = ZeroPointUse::after_rounding,
      .settles = false,
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage&) {
    return machine.add([](const RescaleOperands& operands, int) { return Int128{operands.zero_point}; });
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.sum(formula.value() + " + zp");
  }
  template <class Words>
  static void tell(Words& words, const Stage&) {
    words.zero_point("after rounding");
  }
};

}  // namespace lastbit
