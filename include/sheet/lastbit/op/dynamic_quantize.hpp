// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Float to uint8 with a scale made from the data itself.
//
// Contract: lo = min(0, smallest x), hi = max(0, largest x), NaN ignored; s = float(float(hi - lo) / 255), or 1 where lo = hi;
//   zero point = round(float(0 - float(lo / s))) by the rule, clamped to 0 … 255. Codes are then those of `quantize` with s and the zero point.
//   hi - lo saturates at the largest float32; s below 2^-126 counts as lo = hi.
// Shapes: input any, outputs the codes in its shape, the scale and the zero point as scalars. Units: x in float32, the codes in units of s.
// Errors: shape_mismatch where the outputs are not these three; unsupported_operation where the device lacks it, or `quantize`.
// Source: ONNX standard, DynamicQuantizeLinear.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/backend.hpp"

namespace lastbit {

/// What a tensor of data is quantised with.
struct DynamicScale {
  float scale = 1;
  std::uint8_t zero_point = 0;
};

[[nodiscard]] inline DynamicScale dynamic_scale(const DynamicQuantizeArithmetic& rule, std::span<const float> values) noexcept {
  float lowest = 0, highest = 0;
  for (const float value : values) {
    if (value < lowest) lowest = value;
    if (value > highest) highest = value;
  }
  const float range = std::min(highest - lowest, std::numeric_limits<float>::max());
  const float scale = range / 255.0F;
  if (scale < std::numeric_limits<float>::min()) return {};
  const std::int64_t zero = round_to_integer(0.0F - lowest / scale, rule.rounding);
  return {scale, static_cast<std::uint8_t>(std::clamp<std::int64_t>(zero, 0, 255))};
}

}  // namespace lastbit
