// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Huawei Ascend (Da Vinci cores): float16 on the cube and the vector unit; int8 convolutions into int32 accumulators between AscendQuant and
// AscendDequant. Evidence: docs/backends/ascend.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace ascend {

[[nodiscard]] constexpr Float16Rules rounded(Float16Overflow overflow) {
  return {.rounding = Rounding::half_even, .overflow = overflow, .top_exponent = Float16TopExponent::infinity_nan};
}

/// One step of the cube multiplies 16 terms and adds them to float32 partial sums.
inline constexpr CubeArithmetic cube{.sum = {.precision = StepPrecision::float32, .order = SumOrder::blocks_pairwise, .block = 16},
                                     .terms = TermOrder::channel_block_then_kernel,
                                     .bias = BiasAt::accumulator_start};

inline constexpr SumRule in_float32{.precision = StepPrecision::float32, .order = SumOrder::sequential};
inline constexpr SumRule in_float16{.precision = StepPrecision::float16, .order = SumOrder::sequential};

/// What differs from one chip to the next: how much of the vector unit's work is done in float32.
struct Chip {
  Float16Overflow overflow;
  StepPrecision exponential;  ///< of tanh and softmax
  Float16Logistic logistic;
  SumRule mean;
};

[[nodiscard]] constexpr Float16Arithmetic float16_of(const Chip& chip) {
  const Float16Rules rules = rounded(chip.overflow);
  return {.method = Float16Method::stepwise,
          .conversion = rules,
          .sum = rules,
          .product = rules,
          .quotient = {.rounded = rules, .zero_division = Float16ZeroDivision::ieee},
          .cube = cube,
          .add_n = in_float16,
          .mean = {.sum = chip.mean, .scaling = MeanScaling::before_sum},
          .average_pool = {.sum = in_float16, .scaling = MeanScaling::after_sum},
          .logistic = chip.logistic,
          .tanh = {.steps = chip.exponential},
          .hard_swish = {.steps = StepPrecision::float16},
          .softmax = {.exponential = chip.exponential, .sum = in_float32},
          .quantize = {.steps = StepPrecision::float16, .factor = ScaleFactor::once, .rounding = Rounding::half_even},
          .dequantize = {.scale_bits = 24}};
}

/// AscendRequant: int32 accumulators times one float32 scale.
inline constexpr RescaleRule requant{.scale = {.arithmetic = ScaleArithmetic::f32},
                                     .chain = {stage::float_scale(Rounding::half_even), stage::add_zero_point(), stage::clamp()}};
inline constexpr ConvByType int8_convolution{
    .i8 = {.sum = {.accumulator = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add}, .output = requant},
           .bias = BiasAt::accumulator_start,
           .per_channel = PerChannelLowering::native}};

[[nodiscard]] constexpr Backend device(const Float16Arithmetic& float16) {
  return {.conv = int8_convolution,
          .depthwise_conv = int8_convolution,
          .transposed_conv = int8_convolution,
          .fully_connected = int8_convolution,
          .matmul = {.i8 = {int8_convolution.i8.sum}},
          .max_pool = MaxPool::largest_code,
          .quantize = {.division = ScaleDivision::multiply_by_inverse,
                       .rounding = Rounding::half_even,
                       .zero_point = ZeroPointAt::before_rounding,
                       .out_of_range = OutOfRange::saturate},
          .dequantize = {.arithmetic = DequantizeProduct::f32},
          .requantize = requant,
          .float16 = float16,
          .float32 = Float32Operations::golden};
}

inline constexpr Chip chip_310{.overflow = Float16Overflow::saturate,
                               .exponential = StepPrecision::float16,
                               .logistic = {.steps = StepPrecision::float16, .bound = LogisticBound::none},
                               .mean = in_float16};
inline constexpr Chip chip_310p{.overflow = Float16Overflow::saturate,
                                .exponential = StepPrecision::float32,
                                .logistic = {.steps = StepPrecision::float32, .bound = LogisticBound::none},
                                .mean = in_float32};
inline constexpr Chip chip_910a{.overflow = Float16Overflow::saturate,
                                .exponential = StepPrecision::float32,
                                .logistic = {.steps = StepPrecision::float16, .bound = LogisticBound::log_of_largest},
                                .mean = in_float32};
inline constexpr Chip chip_910b{.overflow = Float16Overflow::infinity,
                                .exponential = StepPrecision::float32,
                                .logistic = {.steps = StepPrecision::float32, .bound = LogisticBound::none},
                                .mean = in_float32};

/// Huawei's software class of 2021 under the same operators: what it overflows to, and how it reads that back.
[[nodiscard]] constexpr Float16Arithmetic class_of_2021() {
  const auto rules = [](Float16Overflow overflow) {
    return Float16Rules{.rounding = Rounding::half_even, .overflow = overflow, .top_exponent = Float16TopExponent::ordinary};
  };
  Float16Arithmetic arithmetic = float16_of(chip_310);
  arithmetic.conversion = rules(Float16Overflow::all_ones_below_2_17);
  arithmetic.quotient = {.rounded = arithmetic.conversion, .zero_division = Float16ZeroDivision::unsigned_zero};
  arithmetic.sum = arithmetic.product = rules(Float16Overflow::all_ones);
  return arithmetic;
}

}  // namespace ascend

inline constexpr Backend ascend310 = ascend::device(ascend::float16_of(ascend::chip_310));
inline constexpr Backend ascend310p = ascend::device(ascend::float16_of(ascend::chip_310p));
inline constexpr Backend ascend910a = ascend::device(ascend::float16_of(ascend::chip_910a));
inline constexpr Backend ascend910b = ascend::device(ascend::float16_of(ascend::chip_910b));
inline constexpr Backend ascend_ge2021 = ascend::device(ascend::class_of_2021());

}  // namespace lastbit
