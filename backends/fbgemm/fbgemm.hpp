// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// FBGEMM's products of uint8 and int8 that are summed in 16 bits, and its two ways to an output. Evidence: docs/backends/fbgemm.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace fbgemm_rules {

/// s = sat16(s + sat16(x0*w0 + x1*w1)), of codes as they are; into 32 bits after every block of terms.
inline constexpr AccumulatorRule in_16_bits{.bits = 32,
                                            .overflow = Overflow::wrap,
                                            .when = NarrowingPoint::at_end,
                                            .partial = {.method = PartialMethod::consecutive_codes,
                                                        .terms = 2,
                                                        .vector = 0,
                                                        .tail = PartialTail::exact,
                                                        .bits = 16,
                                                        .overflow = Overflow::saturate,
                                                        .emptied = 256}};

/// y = clamp(half_even(float(sum) * s) + zero point)
inline constexpr RescaleRule by_float{{.arithmetic = ScaleArithmetic::f32},
                                      {stage::float_scale(Rounding::half_even), stage::add_zero_point(), stage::clamp()}};

/// y = clamp((sum * m + 2^(shift - 1)) >> shift) + zero point)
inline constexpr RescaleRule by_integer{
    {.arithmetic = ScaleArithmetic::f64,
     .significant_bits = 31,
     .rounding = Rounding::half_even,
     .normalization = Normalization::half_to_one,
     .min_exponent = -31,
     .max_exponent = 31},
    {stage::multiply(), stage::shift_right(Rounding::half_up), stage::add_zero_point(), stage::clamp()}};

[[nodiscard]] constexpr Backend leaving_by(const RescaleRule& rescale) {
  const SumArithmetic sum{.accumulator = in_16_bits, .output = rescale};
  return {.fully_connected = {.u8 = {.sum = sum, .bias = BiasAt::accumulator_end, .per_channel = PerChannelLowering::native}},
          .matmul = {.u8 = {sum}},
          .requantize = rescale};
}

}  // namespace fbgemm_rules

inline constexpr Backend fbgemm = fbgemm_rules::leaving_by(fbgemm_rules::by_float);
inline constexpr Backend fbgemm_integer = fbgemm_rules::leaving_by(fbgemm_rules::by_integer);

}  // namespace lastbit
