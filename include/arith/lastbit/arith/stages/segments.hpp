// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The layer's segments (lastbit/arith/scale_segment.hpp) of v.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
/// At most so many segments, their multipliers of so many bits.
[[nodiscard]] constexpr Stage segments(ConstantShift most, Width multiplier_bits, Rounding rounding, RoundingStep step) {
  return {.kind = StageKind::segments, .rounding = rounding, .bits = multiplier_bits.value, .limit = most.value, .step = step};
}
}  // namespace stage

template <>
struct StageOf<StageKind::segments> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "segments",
      .meaning = "(v - start) * multiplier / 2^shift + add, of the last of the layer's `segments` with start < v",
      .reads = [](const Stage&) { return StageMembers{.bits = true, .rounding = true, .limit = true, .step = true}; },
      .keeps_order = false,
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    return machine.look_up([&](Int128 value, const RescaleOperands& operands) {
      return evaluate_segments(operands.segments, value, stage.rounding, stage.step);
    });
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.call("segments", formula.value());
  }
};

}  // namespace lastbit
