// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// AscendQuant and AscendDequant: between float16 and integers.
//
// Contract of Float16Quantizer: v = x * s, or (x * r) * r; v = v + zero point; rounded to an integer and saturated to the type. s = 1/scale and
// r = sqrt(1/scale) are constants of the precision of the steps, and so is x. NaN and infinities give the bound on their side.
// Contract of float16_dequantize: float32(q - zero point) * s in float32, then converted; s is the float32 scale cut to its leading bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/op/float16_steps.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

/// What a layer's quantisation is, and how it is applied.
struct Float16Quantization {
  Float16Quantize rule{};
  double scale = 1;
  std::int64_t zero_point = 0;
  IntegerRange range{};
};

/// Codes of one quantisation, in steps of one precision.
template <class Steps>
class Float16Quantizer {
 public:
  constexpr Float16Quantizer(const Steps& steps, const Float16Quantization& of)
      : steps_(steps),
        of_(of),
        is_applied_twice_(of.rule.factor == ScaleFactor::square_root_twice),
        factor_(steps.constant(is_applied_twice_ ? std::sqrt(1 / of.scale) : 1 / of.scale)),
        offset_(steps.constant(static_cast<double>(of.zero_point))) {}

  [[nodiscard]] constexpr std::int64_t operator()(float x) const { return code(steps_.rounded(x)); }
  [[nodiscard]] constexpr std::int64_t operator()(Float16 x) const { return code(steps_.from(x)); }

 private:
  using Value = typename Steps::Value;

  [[nodiscard]] constexpr std::int64_t code(Value x) const {
    Value value = steps_.product(x, factor_);
    if (is_applied_twice_) value = steps_.product(value, factor_);
    return as_integer(steps_.real(steps_.sum(value, offset_)));
  }
  [[nodiscard]] constexpr std::int64_t as_integer(float value) const {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7F80'0000U) == 0x7F80'0000U) return bits >> 31 != 0 ? of_.range.min : of_.range.max;
    return std::clamp(round_to_integer(value, of_.rule.rounding), of_.range.min, of_.range.max);
  }

  const Steps& steps_;
  Float16Quantization of_;
  bool is_applied_twice_;
  Value factor_, offset_;
};

/// A finite positive float with only its leading significant bits.
[[nodiscard]] constexpr float leading_bits(float value, int bits) {
  const std::uint32_t mask = ~((std::uint32_t{1} << (24 - bits)) - 1);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & mask);
}

/// `centred` is q - zero point.
[[nodiscard]] constexpr Float16 float16_dequantize(Float16Rounder& rounder, const Float16Dequantize& rule, std::int64_t centred,
                                                   double scale) {
  return rounder.converted(static_cast<float>(centred) * leading_bits(static_cast<float>(scale), rule.scale_bits));
}

}  // namespace lastbit
