// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// binary16 with rounding half_even on vectors: computed in float32 and rounded again, which is the one rounding of the exact result, as
// float32 has more than twice the bits and two. What leaves the finite values differs from device to device: there a kernel stops.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lastbit::kernels {

enum class HalfOp : std::uint8_t { add, subtract, multiply, pass, prelu };

/// What stands in place of a value below `min`, or above `max`.
struct HalfBounds {
  float min = 0, max = 0;
  std::uint16_t min_bits = 0, max_bits = 0;
};

/// Patterns of a and b to patterns of the result; `pass` reads a alone, `prelu` is a, or a * b for a below 0. `bounds` may be null.
/// Each returns how many values it has computed: all whole vectors, or those before the first with an infinity or a NaN in its result.
using HalfCombine = std::size_t (*)(HalfOp op, const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* out, std::size_t count,
                                    const HalfBounds* bounds);
using HalfFromFloat = std::size_t (*)(const float* in, std::uint16_t* out, std::size_t count);
/// Exact; all whole vectors.
using HalfToFloat = std::size_t (*)(const std::uint16_t* in, float* out, std::size_t count);

struct HalfKernels {
  std::size_t lanes;
  HalfCombine combine;
  HalfFromFloat from_float;
  HalfToFloat to_float;
};

#if defined(__x86_64__)
namespace avx2 {
extern const HalfKernels half;
}
namespace avx512 {
extern const HalfKernels half;
}
#elif defined(__aarch64__)
namespace neon {
extern const HalfKernels half;
}
#endif

}  // namespace lastbit::kernels
