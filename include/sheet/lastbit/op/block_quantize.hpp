// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Float to codes in blocks, with a scale made from the values of each block.
//
// Contract, for every block of 32 values x of a row by itself, z the format's zero point, each step in float32:
//   1. m = the value of largest magnitude, the first of equals, +0 where all are 0; n = the format's largest code less z (127, 7) where the scale is made from the magnitude,
//      |m| in place of m; or its least code less z (-128, -8); d = m / n;
//   2. the scale of the block = float16(d), rounded by the rule; infinite from 2^16 - 16 on, as IEEE 754 has it;
//   3. v = x * float(1 / d), or x * float(1 / float16(d)), or x * float(n / m), or x / d; 0 where the divisor is 0;
//   4. code = round(v) + z, or round(v + z), or round(v + (z + 1/2)) by the rule, the last also without rounding the product v before, within the format's codes. Where v is no number or lies beyond
//      int32, as values below 2^-120 may (1 / d is infinite), round() gives 0: the low byte of -2^31, to which x86 processors convert it.
// Shapes: data [..., values], a multiple of 32; codes [..., values / 32, 32], scales [..., values / 32]. Units: x is a real value, scale * (code - z) as well.
// Errors: shape_mismatch where the last axis is no multiple of 32; unsupported_operation where the device lacks the format.
// Source: ggml d99724f2, src/ggml-quants.c quantize_row_q8_0_ref, quantize_row_q4_0_ref. Values that are not finite have no defined result there, and
//   none here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/arith/float16.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/block_format.hpp"

namespace lastbit {

/// How the values of one block become codes.
struct BlockInput {
  Float16 scale{};    ///< as it is stored
  float divisor = 0;  ///< of x; 0: x is multiplied by the factor
  float factor = 0;
};

/// Steps 1 to 3, but for x.
[[nodiscard]] inline BlockInput block_input(const BlockQuantizeArithmetic& rule, const BlockCodes& codes,
                                            std::span<const float> values) noexcept {
  const float first = *std::ranges::max_element(values, {}, [](float x) { return std::abs(x); });
  const bool is_signed = rule.scale == BlockScale::signed_largest;
  const float largest = first == 0 ? 0 : is_signed ? first : std::abs(first);
  const auto steps = static_cast<float>((is_signed ? codes.range.min : codes.range.max) - codes.zero_point);
  const float scale = largest / steps;
  const Float16 stored = to_float16(scale, {rule.stored, ieee_float16.overflow, ieee_float16.top_exponent});
  const auto inverse = [](float divisor) { return divisor == 0 ? 0 : 1 / divisor; };
  switch (rule.division) {
    case BlockDivision::by_inverse: return {.scale = stored, .factor = inverse(scale)};
    case BlockDivision::by_inverse_of_stored: return {.scale = stored, .factor = inverse(to_float32(stored))};
    case BlockDivision::by_steps: return {.scale = stored, .factor = largest == 0 ? 0 : steps / largest};
    case BlockDivision::divide: break;
  }
  return {.scale = stored, .divisor = scale};
}

/// Step 4.
[[nodiscard]] inline std::int64_t block_code(const BlockQuantizeArithmetic& rule, const BlockCodes& codes, const BlockInput& input,
                                             float value) noexcept {
  const auto zero_point = static_cast<float>(codes.zero_point), and_half = zero_point + 0.5F;
  const float a = input.divisor == 0 ? value : value / input.divisor, b = input.divisor == 0 ? input.factor : 1;
  const float scaled = a * b;
  const float shifted = rule.offset == BlockOffset::nothing               ? scaled
                        : rule.offset == BlockOffset::zero_point          ? scaled + zero_point
                        : rule.offset == BlockOffset::zero_point_and_half ? scaled + and_half
                                                                          : std::fma(a, b, and_half);
  constexpr float limit = 0x1p31F;
  const std::int64_t rounded = std::abs(shifted) < limit ? round_to_integer(shifted, rule.rounding) : 0;
  return std::clamp(rounded + (rule.offset == BlockOffset::nothing ? codes.zero_point : 0), codes.range.min, codes.range.max);
}

}  // namespace lastbit
