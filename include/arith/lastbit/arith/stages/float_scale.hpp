// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v * scale, both and the product in float (`arithmetic` f32) or double (f64), rounded to an integer by `rounding`. Of v it reads the low 64
// bits, in which earlier stages have settled it.
#pragma once

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage float_scale(Rounding rounding, ProductArithmetic arithmetic = ProductArithmetic::f32) {
  return {.kind = StageKind::float_scale, .rounding = rounding, .arithmetic = arithmetic};
}
}  // namespace stage

[[nodiscard]] constexpr double float_product(std::int64_t value, ProductArithmetic arithmetic, const EncodedScale& scale) {
  if (arithmetic == ProductArithmetic::f64) return static_cast<double>(value) * scale.real_f64;
  if (arithmetic != ProductArithmetic::f32) refuse_unstated("stage", "arithmetic");
  const float product = static_cast<float>(value) * scale.real_f32;
  return static_cast<double>(product);
}

template <>
struct StageOf<StageKind::float_scale> {
  static constexpr StageFacts facts{
      .name = "float_scale",
      .meaning = "float(v) * float(scale), or double(v) * double(scale)",
      .reads = [](const Stage&) { return StageMembers{.rounding = true, .arithmetic = true}; },
      .scale = [](const Stage&) { return ScaleUse::in_float; },
      .places = [](const Stage&, const RescaleOperands&, const BinaryPlaces&) { return 0; },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    return machine.scale_in_float(
        [&](std::int64_t value, const RescaleOperands& operands) { return float_product(value, stage.arithmetic, operands.scale); },
        stage.rounding);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.call(formula.word(stage.rounding), formula.float_product(stage));
  }
  template <class Words>
  static void tell(Words& words, const Stage& stage) {
    words.float_product(stage);
  }
};

}  // namespace lastbit
