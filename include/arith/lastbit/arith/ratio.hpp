// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a layer rescales by: a ratio of its own quantities, over1 * over2 * 2^exponent / (under1 * under2). Each product is computed in the
// arithmetic of the encoding, or the upper one in float32, then their quotient is; a power of two is exact. With f32_by_inverse_output the upper
// product is multiplied by the inverse of the lower one; with f32_of_inverses 1 / lower is divided by the product of 1 / over1 and 1 / over2; with
// f32_of_quotient over1 / lower is multiplied by over2.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "lastbit/arith/multiplier.hpp"

namespace lastbit {

/// in: the scale of the operand at hand. first_in: of the first operand. larger_in: the largest of all operands. unit: what 1 stands for in the
/// common encoding of the operands (encode_together). weight: the weights' scale, or the second factor's. count: how many values were summed.
enum class Quantity : std::uint8_t { one, in, first_in, larger_in, unit, weight, out, count };

/// What a layer rescales by, a rule: over1 * over2 * 2^exponent / (under1 * under2).
struct Ratio {
  std::array<Quantity, 2> over{}, under{};
  std::int8_t exponent = 0;
  bool product_in_float = false;  ///< over1 * over2 is rounded to float32, whatever the encoding's arithmetic

  friend constexpr bool operator==(const Ratio&, const Ratio&) = default;
};

/// The quantities of one layer: scales are positive and finite, the count is at least 1.
struct LayerQuantities {
  double in = 1, first_in = 1, larger_in = 1, unit = 1, weight = 1, out = 1;
  std::int64_t count = 1;
};

/// Of a layer with one operand, which is the first and the one of the largest scale.
[[nodiscard]] constexpr LayerQuantities one_operand(double in, double weight, double out, std::int64_t count = 1) noexcept {
  return {.in = in, .first_in = in, .larger_in = in, .unit = 1, .weight = weight, .out = out, .count = count};
}

[[nodiscard]] constexpr double value_of(Quantity quantity, const LayerQuantities& layer) noexcept {
  switch (quantity) {
    case Quantity::in: return layer.in;
    case Quantity::first_in: return layer.first_in;
    case Quantity::larger_in: return layer.larger_in;
    case Quantity::unit: return layer.unit;
    case Quantity::weight: return layer.weight;
    case Quantity::out: return layer.out;
    case Quantity::count: return static_cast<double>(layer.count);
    case Quantity::one: break;
  }
  return 1;
}

template <class Real>
[[nodiscard]] constexpr double evaluate_in(const Ratio& ratio, const LayerQuantities& layer) noexcept {
  const auto product = [&layer]<class In>(In, const std::array<Quantity, 2>& factors) {
    return static_cast<In>(value_of(factors[0], layer)) * static_cast<In>(value_of(factors[1], layer));
  };
  const Real over = ratio.product_in_float ? static_cast<Real>(product(float{}, ratio.over)) : product(Real{}, ratio.over);
  constexpr std::uint64_t exponent_of_one = 1023;
  const auto power = std::bit_cast<double>((exponent_of_one + static_cast<std::uint64_t>(std::int64_t{ratio.exponent})) << 52);
  return static_cast<double>(over * static_cast<Real>(power) / product(Real{}, ratio.under));
}

/// f32_by_inverse_output, f32_of_inverses and f32_of_quotient.
[[nodiscard]] constexpr double evaluate_in_steps(const Ratio& ratio, ScaleArithmetic arithmetic, const LayerQuantities& layer) {
  const auto value = [&layer](Quantity quantity) { return static_cast<float>(value_of(quantity, layer)); };
  const float under = value(ratio.under[0]) * value(ratio.under[1]), inverse = 1 / under;
  const Ratio power{.exponent = ratio.exponent};
  if (arithmetic == ScaleArithmetic::f32_of_quotient) {
    const float quotient = value(ratio.over[0]) * static_cast<float>(evaluate_in<double>(power, layer)) / under;
    return static_cast<double>(quotient * value(ratio.over[1]));
  }
  const auto scaled = static_cast<float>(evaluate_in<double>(power, layer)) * inverse;
  if (arithmetic == ScaleArithmetic::f32_by_inverse_output) {
    const float over = value(ratio.over[0]) * value(ratio.over[1]);
    return static_cast<double>(over * scaled);
  }
  if (arithmetic != ScaleArithmetic::f32_of_inverses) refuse_unstated("scale", "arithmetic");
  const float first = 1 / value(ratio.over[0]), second = 1 / value(ratio.over[1]), inverses = first * second;
  return static_cast<double>(scaled / inverses);
}

[[nodiscard]] constexpr double evaluate(const Ratio& ratio, ScaleArithmetic arithmetic, const LayerQuantities& layer) {
  if (is_in_double(arithmetic)) return evaluate_in<double>(ratio, layer);
  return arithmetic == ScaleArithmetic::f32 ? evaluate_in<float>(ratio, layer) : evaluate_in_steps(ratio, arithmetic, layer);
}

}  // namespace lastbit
