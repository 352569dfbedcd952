// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v to `bits` by `overflow`.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage narrow_to(Width bits, Overflow overflow) {
  return {.kind = StageKind::narrow, .overflow = overflow, .bits = bits.value};
}
}  // namespace stage

template <>
struct StageOf<StageKind::narrow> {
  static constexpr StageFacts facts{
      .name = "narrow",
      .meaning = "v, narrowed",
      .reads = [](const Stage&) { return StageMembers{.bits = true, .overflow = true}; },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    return machine.narrow(stage.bits, stage.overflow);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.narrow(stage);
  }
  template <class Words>
  static void tell(Words& words, const Stage& stage) {
    words.width(words.has_multiplied() ? "after " : "before the multiplier ", stage);
  }
};

}  // namespace lastbit
