// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where the layer states registers for values below 0: v / 2^n by `rounding`, n their shift for v < 0 and that of its `registers` for any other v
// (RKNPU2's bias stage, a field for each sign of a product). Elsewhere v.
#pragma once

#include "lastbit/arith/rounding.hpp"
#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage shift_right_by_sign(Rounding rounding) {
  return {.kind = StageKind::shift_right_by_sign, .rounding = rounding};
}
}  // namespace stage

[[nodiscard]] constexpr int shift_by_sign(bool below_zero, const RescaleOperands& operands) noexcept {
  return below_zero ? operands.below_zero->shift : operands.scale.fraction_bits - operands.scale.exponent;
}

template <>
struct StageOf<StageKind::shift_right_by_sign> : UntoldStage {
  static constexpr bool acts(const RescaleOperands& operands) noexcept { return operands.below_zero.has_value(); }
  static constexpr StageFacts facts{
      .name = "shift_right_by_sign",
      .meaning = "where the layer states `below_zero`: v / 2^n, n its shift of v < 0, else that of `registers`; without it v",
      .reads = [](const Stage&) { return StageMembers{.rounding = true}; },
      .settles = false,
      .places = [](const Stage&, const RescaleOperands& operands,
                   const BinaryPlaces& at) { return acts(operands) ? at.places - shift_by_sign(false, operands) : at.places; },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    const auto acts_here = [](const RescaleOperands& operands) { return acts(operands); };
    const auto piece = [](Int128 value) { return value < 0 ? Int128{-1} : Int128{0}; };
    const auto shifted = [&](Int128 value, const RescaleOperands& operands) {
      return shift_any(value, shift_by_sign(value < 0, operands), stage.rounding);
    };
    const auto point = [](const RescaleOperands& operands, int fraction_bits) { return acts(operands) ? 0 : fraction_bits; };
    return machine.piecewise(acts_here, piece, shifted) && machine.binary_point(point);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.call(formula.word(stage.rounding), formula.factor() + " / 2^(n of its sign)");
  }
};

}  // namespace lastbit
