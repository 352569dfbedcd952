// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Codes that a device computes in float32: sums and products of two operands, and the way from float32 to codes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lastbit::kernels {

/// How a float becomes an integer: to the nearest, ties to even, or truncated, then 1 up where the fraction that was cut off is at least
/// `up`, 1 down where it is at most `down`.
enum class FloatForm : std::uint8_t { half_even, thresholds };

struct FloatRounding {
  FloatForm form = FloatForm::half_even;
  double up = 0, down = 0;
};

/// Integers from here on are held: a result beyond, or NaN, is one of the ends, -2^30 for NaN.
inline constexpr float float_code_limit = 0x1p30F;

/// sum: fma(a, ratio_a, fma(b, ratio_b, fixed)); product: float(a * b) * ratio_a + fixed, each operation rounded; a * b fits 32 bits.
struct FloatPair {
  float ratio_a = 0, ratio_b = 0, fixed = 0;
  FloatRounding rounding;
};
using CombineInFloat = void (*)(const FloatPair& pair, const std::int32_t* a, const std::int32_t* b, std::int32_t* out, std::size_t count);

/// in / scale, or in * scale, plus offset, rounded. Returns how many it has computed: those before the first vector that holds a NaN, or
/// a result that is not below 2^30.
struct FloatToCode {
  bool divides = true;
  float scale = 1, offset = 0;
  FloatRounding rounding;
};
using CodesFromFloat = std::size_t (*)(const FloatToCode& rule, const float* in, std::int32_t* out, std::size_t count);

/// Arrays of whole `finish_block`s may be read and written up to the next whole vector.
struct FloatCodeKernels {
  CombineInFloat sum, product;
  CodesFromFloat codes;
};

namespace scalar {
extern const FloatCodeKernels float_codes;
}
namespace sse42 {
extern const FloatCodeKernels float_codes;
}
namespace avx2 {
extern const FloatCodeKernels float_codes;
}
namespace avx512 {
extern const FloatCodeKernels float_codes;
}
namespace neon {
extern const FloatCodeKernels float_codes;
}

}  // namespace lastbit::kernels
