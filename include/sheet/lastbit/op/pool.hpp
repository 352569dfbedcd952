// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pooling over windows of one channel.
//
// Contract, for the n values inside the image under one window (a window holds at least one):
//   max:     the largest value, then the layer's bounds.
//   average: 1. S = sum of the raw integers; with PaddingCount::included every tap outside counts as the zero point and n is the full window;
//            2. exact:       y = S / n by the rule's rounding (the zero point cancels, input and output share one quantisation);
//               reciprocal:  y = S * R / 2^k by the rule's rounding, R = the `reciprocal_bits` leading bits of 1/n by `reciprocal_rounding`;
//               fixed_reciprocal: y = (S >> sum_shift) * K / 2^reciprocal_shift by the rule's rounding, K = 2^(reciprocal_shift + sum_shift) / n
//                            by `reciprocal_rounding`, at least 1;
//               rescaled:    S - n*zero_in, modulo 2^32, through the rule's chain with s_in / (n * s_out);
//               float_scale: y = round(float(S - n*zero_in) * float(s_in / float(s_out * float(n)))) + zero_out;
//            3. the layer's bounds.
// |S| < 2^16 * n fits 64 bits for every n a reader admits.
// Sources: TFLite integer_ops/pooling.h (half away from zero); ONNX Runtime qlgavgpool (float); Horizon's HBDK Python layer (rescaled,
// fixed_reciprocal); docs/backends for the others.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lastbit/arith/multiplier.hpp"
#include "lastbit/backend.hpp"

namespace lastbit {

/// K of fixed_reciprocal.
[[nodiscard]] constexpr std::int64_t fixed_reciprocal(const AveragePoolArithmetic& rule, std::int64_t count) noexcept {
  const std::int64_t one = std::int64_t{1} << (rule.reciprocal_shift + rule.sum_shift);
  return std::max<std::int64_t>(divide(one, count, rule.reciprocal_rounding), 1);
}

/// Steps 1 and 2 of reciprocal and fixed_reciprocal, for one count.
class AverageByReciprocal {
 public:
  constexpr AverageByReciprocal(const AveragePoolArithmetic& rule, std::int64_t count) noexcept : rounding_(rule.rounding) {
    if (rule.method == DivisionMethod::fixed_reciprocal) {
      sum_shift_ = rule.sum_shift;
      multiplier_ = fixed_reciprocal(rule, count);
      amount_ = rule.reciprocal_shift;
      return;
    }
    const ScaleEncoding encoding{.arithmetic = ScaleArithmetic::f64,
                                 .significant_bits = rule.reciprocal_bits,
                                 .rounding = rule.reciprocal_rounding,
                                 .normalization = Normalization::one_to_two,
                                 .min_exponent = -62,
                                 .max_exponent = 62};
    const EncodedScale reciprocal = encode(encoding, 1.0 / static_cast<double>(count));
    multiplier_ = reciprocal.multiplier;
    amount_ = reciprocal.fraction_bits - reciprocal.exponent;
  }
  [[nodiscard]] constexpr std::int64_t operator()(std::int64_t sum) const noexcept {
    return static_cast<std::int64_t>(multiply_shift(sum >> sum_shift_, multiplier_, amount_, rounding_));
  }

 private:
  Rounding rounding_;
  int sum_shift_ = 0, amount_ = 0;
  std::int64_t multiplier_ = 0;
};

/// Steps 1 and 2 of exact, reciprocal and fixed_reciprocal.
[[nodiscard]] constexpr std::int64_t average(const AveragePoolArithmetic& rule, std::int64_t sum, std::int64_t count) noexcept {
  const bool by_reciprocal = rule.method == DivisionMethod::fixed_reciprocal || rule.method == DivisionMethod::reciprocal;
  return by_reciprocal ? AverageByReciprocal(rule, count)(sum) : divide(sum, count, rule.rounding);
}

/// The float factor of float_scale.
[[nodiscard]] constexpr float average_scale(double input_scale, double output_scale, std::int64_t count) noexcept {
  return static_cast<float>(input_scale) / (static_cast<float>(output_scale) * static_cast<float>(count));
}

}  // namespace lastbit
