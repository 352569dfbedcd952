// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// v * scale + output zero point: product and sum in float (`arithmetic` f32) or double (f64), each rounded to it, then to an integer by
// `rounding`. Of v it reads the low 64 bits, in which earlier stages have settled it.
#pragma once

#include "lastbit/arith/stages/float_scale.hpp"
#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

namespace stage {
[[nodiscard]] constexpr Stage float_scale_with_zero_point(Rounding rounding, ProductArithmetic arithmetic = ProductArithmetic::f32) {
  return {.kind = StageKind::float_scale_with_zero_point, .rounding = rounding, .arithmetic = arithmetic};
}
}  // namespace stage

/// A float sum rounded from the double one is the float sum.
[[nodiscard]] constexpr double float_sum(double product, std::int64_t zero_point, ProductArithmetic arithmetic) noexcept {
  const double sum = product + static_cast<double>(zero_point);
  return arithmetic == ProductArithmetic::f64 ? sum : static_cast<double>(static_cast<float>(sum));
}

template <>
struct StageOf<StageKind::float_scale_with_zero_point> {
  static constexpr StageFacts facts{
      .name = "float_scale_with_zero_point",
      .meaning = "float(v) * float(scale) + output zero point: product and sum each rounded to float or double, then to an integer",
      .reads = [](const Stage&) { return StageMembers{.rounding = true, .arithmetic = true}; },
      .scale = [](const Stage&) { return ScaleUse::in_float; },
      .zero_point = ZeroPointUse::before_rounding,
      .places = [](const Stage&, const RescaleOperands&, const BinaryPlaces&) { return 0; },
  };
  template <class Machine>
  static constexpr bool run(Machine& machine, const Stage& stage) {
    const auto sum = [&](std::int64_t value, const RescaleOperands& operands) {
      return float_sum(float_product(value, stage.arithmetic, operands.scale), operands.zero_point, stage.arithmetic);
    };
    return machine.scale_in_float(sum, stage.rounding);
  }
  template <class Formula>
  static void write(Formula& formula, const Stage& stage) {
    formula.call(formula.word(stage.rounding), formula.float_product(stage) + " + zp");
  }
  template <class Words>
  static void tell(Words& words, const Stage& stage) {
    words.zero_point("before rounding");
    words.float_product(stage);
  }
};

}  // namespace lastbit
