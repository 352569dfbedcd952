// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v into the layer's bounds, its activation's not included: a device whose activation acts on the accumulator.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage clamp_to_type() { return {.kind = StageKind::clamp_to_type}; }
}  // namespace stage

template <>
struct StageOf<StageKind::clamp_to_type> {
  static constexpr StageFacts facts{
      .name = "clamp_to_type",
      .meaning =
          "into the layer's `clamp` or its type, whatever its activation: ends a chain in place of `clamp` where the rectifier acts "
          "on the accumulator",
      .formerly = "saturate",
      .bounds =
          [](const RescaleOperands& operands) {
            return StageBounds{operands.storage_min, operands.storage_max};
          },
      .bounds_output = true,
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage&) {
    return machine.clamp(facts.bounds);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.call("clamp_to_type", formula.value());
  }
  template <class Words>
  static void tell(Words& words, const Stage&) {
    words.clamps_to_type();
  }
};

}  // namespace lastbit
