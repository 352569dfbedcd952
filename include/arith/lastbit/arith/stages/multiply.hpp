// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v * M exactly; M = the encoded multiplier, first narrowed to `bits` bits by `rounding` (0 bits: as it is).
#pragma once

#include <algorithm>

#include "lastbit/arith/stages/shift_amount.hpp"
#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage multiply() { return {.kind = StageKind::multiply}; }
[[nodiscard]] constexpr Stage multiply(MultiplierBits bits, Rounding narrowing) {
  return {.kind = StageKind::multiply, .rounding = narrowing, .bits = bits.value};
}
}  // namespace stage

/// The multiplier, and how many of its bits are fraction.
struct NarrowedMultiplier {
  std::int64_t multiplier = 0;
  int fraction_bits = 0;
};

/// Drops low bits until `bits` of the significant bits remain; a carry beyond them saturates.
[[nodiscard]] constexpr NarrowedMultiplier narrow_multiplier(const EncodedScale& scale, int bits, Rounding rounding) {
  require_multiplier(scale);
  const int dropped = scale.significant_bits - bits;
  if (bits == 0 || dropped <= 0) return {scale.multiplier, scale.fraction_bits};
  const std::int64_t largest = (std::int64_t{1} << bits) - 1;
  return {std::min(shift_right(scale.multiplier, dropped, rounding), largest), scale.fraction_bits - dropped};
}

template <>
struct StageOf<StageKind::multiply> {
  static constexpr StageFacts facts{
      .name = "multiply",
      .meaning = "v * M; M first cut to `bits` bits (0: as it is)",
      .reads = [](const Stage& stage) { return StageMembers{.bits = true, .rounding = stage.bits > 0}; },
      .least_bits = 0,
      .most_bits = 32,
      .scale = [](const Stage&) { return ScaleUse::multiplier; },
      .added_bits = [](const Stage& stage, int m, int) { return stage.bits == 0 ? m : std::min<int>(stage.bits, m); },
      .settles = false,
      .places = [](const Stage&, const RescaleOperands& operands,
                   const BinaryPlaces& at) { return at.fraction_after - operands.scale.exponent; },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    const auto narrowed = [&](const RescaleOperands& operands) { return narrow_multiplier(operands.scale, stage.bits, stage.rounding); };
    const auto point = [&](const RescaleOperands& operands, int fraction) {
      return fraction_after_multiply(fraction, narrowed(operands).fraction_bits);
    };
    return machine.multiply([&](const RescaleOperands& operands) { return narrowed(operands).multiplier; }) && machine.binary_point(point);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.product(formula.factor() + "*" + formula.multiplier(stage));
  }
  template <class Words>
  static void tell(Words& words, const Stage& stage) {
    if (stage.bits > 0) words.keeps(stage);
    words.step("multiply");
  }
};

}  // namespace lastbit
