// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where the layer states registers for values below 0 (NVDLA's prelu): v < 0 becomes v * M / 2^n by them and `rounding`, saturated to `bits`; any
// other value leaves M, n and the saturation out and keeps its low `bits` bits. Elsewhere v.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage scale_below_zero(Width bits, Rounding rounding) {
  return {.kind = StageKind::scale_below_zero, .rounding = rounding, .bits = bits.value};
}
}  // namespace stage

template <>
struct StageOf<StageKind::scale_below_zero> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "scale_below_zero",
      .meaning = "where the layer states `below_zero`: v * M / 2^n by it of v < 0, saturated; else the low bits of v",
      .reads = [](const Stage&) { return StageMembers{.bits = true, .rounding = true}; },
      .keeps_order = false,
      .keeps_low_bits = [](const Stage& stage, Int128 value,
                           const RescaleOperands& operands) { return operands.below_zero && value > max_of_width(stage.bits); },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    const auto acts = [](const RescaleOperands& operands) { return operands.below_zero.has_value(); };
    const auto piece = [&](Int128 value) { return value < 0 ? Int128{-1} : ((value >> (stage.bits - 1)) + 1) >> 1; };
    return machine.piecewise(acts, piece, [&](Int128 value, const RescaleOperands& operands) {
      if (value >= 0) return narrow(value, stage.bits, Overflow::wrap);
      const Int128 scaled =
          shift_right(multiply_modulo(value, operands.below_zero->multiplier), operands.below_zero->shift, stage.rounding);
      return narrow(scaled, stage.bits, Overflow::saturate);
    });
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.call("scale_below_zero", formula.value());
  }
};

}  // namespace lastbit
