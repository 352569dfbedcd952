// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v * multiplier / 2^(bits - 1) by `rounding`, saturated to `bits`.
#pragma once

#include <algorithm>

#include "lastbit/arith/stages/shift_amount.hpp"
#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage doubling_high_multiply(Width bits, Rounding rounding) {
  return {.kind = StageKind::doubling_high_multiply, .rounding = rounding, .bits = bits.value};
}
}  // namespace stage

template <>
struct StageOf<StageKind::doubling_high_multiply> {
  static constexpr StageFacts facts{
      .name = "doubling_high_multiply",
      .meaning = "v * M / 2^(bits - 1), saturated to `bits`",
      .reads = [](const Stage&) { return StageMembers{.bits = true, .rounding = true}; },
      .scale = [](const Stage&) { return ScaleUse::multiplier; },
      .added_bits = [](const Stage&, int multiplier_bits, int) { return multiplier_bits; },
      .places = [](const Stage&, const RescaleOperands& operands, const BinaryPlaces&) { return std::max(-operands.scale.exponent, 0); },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    const auto factor = [](const RescaleOperands& operands) {
      require_multiplier(operands.scale);
      return operands.scale.multiplier;
    };
    const auto amount = [&](const RescaleOperands&, int) { return stage.bits - 1; };
    return machine.multiply(factor) && machine.shift_right(amount, stage.rounding) && machine.narrow(stage.bits, Overflow::saturate);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.call("sat" + formula.word(stage.bits),
                 formula.word(stage.rounding) + "(" + formula.factor() + "*M / 2^" + formula.word(stage.bits - 1) + ")");
  }
  template <class Words>
  static void tell(Words& words, const Stage& stage) {
    words.first_rounding(stage);
    words.step("doubling high multiply");
  }
};

}  // namespace lastbit
