// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v * 2^max(exponent, 0), narrowed to `bits` by `overflow`.
#pragma once

#include <algorithm>

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage shift_left(Width bits, Overflow overflow) {
  return {.kind = StageKind::shift_left, .overflow = overflow, .bits = bits.value};
}
}  // namespace stage

template <>
struct StageOf<StageKind::shift_left> {
  static constexpr StageFacts facts{
      .name = "shift_left",
      .meaning = "v * 2^max(e, 0), narrowed",
      .reads = [](const Stage&) { return StageMembers{.bits = true, .overflow = true}; },
      .scale = [](const Stage&) { return ScaleUse::exponent; },
      .added_bits = [](const Stage&, int, int bits) { return bits > 64 ? 96 : 0; },  // any: the exponent is the layer's
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    return machine.shift_left([](const RescaleOperands& operands) { return std::clamp(operands.scale.exponent, 0, 62); }) &&
           machine.narrow(stage.bits, stage.overflow);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.product(formula.factor() + "*2^max(e,0)");
    formula.narrow(stage);
  }
  template <class Words>
  static void tell(Words& words, const Stage& stage) {
    words.width("shift left ", stage);
  }
};

}  // namespace lastbit
