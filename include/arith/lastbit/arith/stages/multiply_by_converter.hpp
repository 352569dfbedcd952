// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v * the multiplier of `bits` bits, one of them its sign, that the layer states of its converter (1 of one that states none). A shift_right by
// `converter` follows.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage multiply_by_converter(MultiplierBits bits) {
  return {.kind = StageKind::multiply_by_converter, .bits = bits.value};
}
}  // namespace stage

template <>
struct StageOf<StageKind::multiply_by_converter> : UntoldStage {
  static constexpr StageFacts facts{
      .name = "multiply_by_converter",
      .meaning = "v * the multiplier of the layer's `converter`, which has at most `bits` bits",
      .reads = [](const Stage&) { return StageMembers{.bits = true}; },
      .most_bits = 32,
      .added_bits = [](const Stage& stage, int, int) { return int{stage.bits}; },
      .settles = false,
      .places = [](const Stage&, const RescaleOperands& operands, const BinaryPlaces& at) { return at.places + operands.converter.shift; },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage&) {
    return machine.multiply([](const RescaleOperands& operands) { return operands.converter.multiplier; });
  }
  template <class Formula>
  static void write(Formula& formula, const Stage&) {
    formula.product(formula.factor() + "*M2");
  }
};

}  // namespace lastbit
