// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v + v * 2^k, where the multiplier is 2^k + 1, narrowed to `bits` by `overflow`.
#pragma once

#include <bit>

#include "lastbit/arith/stages/shift_amount.hpp"
#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage two_term_shift(Width bits, Overflow overflow) {
  return {.kind = StageKind::two_term_shift, .overflow = overflow, .bits = bits.value};
}
}  // namespace stage

/// 2^k + 1, where k is the largest for which that is at most the multiplier, and at least 0.
[[nodiscard]] constexpr std::int64_t two_term_factor(std::int64_t multiplier) noexcept {
  return multiplier < 2 ? 2 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(multiplier - 1))) + 1;
}

template <>
struct StageOf<StageKind::two_term_shift> {
  static constexpr StageFacts facts{
      .name = "two_term_shift",
      .meaning = "v + v * 2^k for M = 2^k + 1, narrowed",
      .reads = [](const Stage&) { return StageMembers{.bits = true, .overflow = true}; },
      .scale = [](const Stage&) { return ScaleUse::multiplier; },
      .added_bits = [](const Stage&, int multiplier_bits, int) { return multiplier_bits; },
      .places = [](const Stage&, const RescaleOperands& operands,
                   const BinaryPlaces& at) { return at.fraction_after - operands.scale.exponent; },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    const auto factor = [](const RescaleOperands& operands) {
      require_multiplier(operands.scale);
      return two_term_factor(operands.scale.multiplier);
    };
    const auto point = [](const RescaleOperands& operands, int fraction) {
      return fraction_after_multiply(fraction, operands.scale.fraction_bits);
    };
    return machine.multiply(factor) && machine.binary_point(point) && machine.narrow(stage.bits, stage.overflow);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.reads_fraction();
    formula.sum(formula.factor() + " + " + formula.factor() + "*2^log2(M - 1)");
    formula.narrow(stage);
  }
  template <class Words>
  static void tell(Words& words, const Stage& stage) {
    words.width("two terms ", stage);
    words.step("two terms");
  }
};

}  // namespace lastbit
