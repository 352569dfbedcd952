// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// 128-bit vectors of AArch64. Its dot products of bytes take two of the same sign and are not everywhere, so bytes travel as words. Compiled for 64-bit Arm.
#include <arm_neon.h>

#include <type_traits>
#include <utility>
#include <xsimd/xsimd.hpp>

#include "engine/kernels/paths.hpp"
#include "engine/kernels/unroll.hpp"

namespace lastbit::kernels::neon {
namespace {

using Arch = xsimd::neon64;
inline constexpr std::size_t vector_registers = 32, vectors_together = 4, pixels_together = 4;

#include "engine/kernels/vectors.inc"

#include "engine/kernels/product_lanes.inc"

inline I64 multiply_low_halves(I64 a, I64 b) { return vmull_s32(vmovn_s64(a), vmovn_s64(b)); }

struct Words {
  static I32 add(I32 sum, I32 x, I32 w) {
    const int16x8_t a = vreinterpretq_s16_s32(x), b = vreinterpretq_s16_s32(w);
    return vaddq_s32(sum, vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
  }
};
struct Magnitudes {
  static I32 add(I32 sum, I32 x, I32 w) {
    const int16x8_t a = vreinterpretq_s16_s32(x), b = vreinterpretq_s16_s32(w);
    return vqaddq_s32(sum, vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
  }
};

#include "engine/kernels/products.inc"
#include "engine/kernels/steps.inc"

}  // namespace

void dense_words(const ProductTile& tile) { dense<Words>(tile); }
void depthwise_words(const ProductTile& tile) { depthwise<Words>(tile); }
void dense_magnitudes(const ProductTile& tile) { dense<Magnitudes>(tile); }
void depthwise_magnitudes(const ProductTile& tile) { depthwise<Magnitudes>(tile); }
void steps(const StepTile& tile) { wide_steps(tile); }

}  // namespace lastbit::kernels::neon
