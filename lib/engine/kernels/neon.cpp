// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// 128-bit vectors of AArch64. Its dot products of bytes take two of the same sign and are not everywhere, so bytes travel as words.
#include "engine/kernels/paths.hpp"
#include "engine/kernels/unroll.hpp"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <utility>

#define LASTBIT_TARGET

namespace lastbit::kernels::neon {
namespace {

struct Lanes {
  using Vector = int32x4_t;
  static constexpr std::size_t count = 4, columns = 4;
  static constexpr std::size_t registers = 32;
  static Vector load(const void* at) { return vreinterpretq_s32_u8(vld1q_u8(static_cast<const std::uint8_t*>(at))); }
  static Vector broadcast(const std::byte* group) {
    std::int32_t value;
    __builtin_memcpy(&value, group, sizeof value);
    return vdupq_n_s32(value);
  }
  static void store(std::int32_t* at, Vector v) { vst1q_s32(at, v); }
  static void store_first(std::int32_t* at, Vector v, std::size_t n) {
    std::int32_t all[count];
    vst1q_s32(all, v);
    __builtin_memcpy(at, all, n * sizeof(std::int32_t));
  }
};
struct Words {
  static int32x4_t add(int32x4_t sum, int32x4_t x, int32x4_t w) {
    const int16x8_t a = vreinterpretq_s16_s32(x), b = vreinterpretq_s16_s32(w);
    return vaddq_s32(sum, vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
  }
};
struct Magnitudes {
  static int32x4_t add(int32x4_t sum, int32x4_t x, int32x4_t w) {
    const int16x8_t a = vreinterpretq_s16_s32(x), b = vreinterpretq_s16_s32(w);
    return vqaddq_s32(sum, vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
  }
};

struct Wide {
  using Vector = int64x2_t;
  static constexpr std::size_t count = 2;
  static Vector load(const std::int64_t* at) { return vld1q_s64(at); }
  static Vector load_words(const std::int16_t* at) { return vcombine_s64(vcreate_s64(bits(at[0])), vcreate_s64(bits(at[1]))); }
  static Vector broadcast(std::int64_t value) { return vdupq_n_s64(value); }
  static void store(std::int64_t* at, Vector v) { vst1q_s64(at, v); }
  static Vector multiply(Vector a, Vector b) { return vmull_s32(vmovn_s64(a), vmovn_s64(b)); }
  static Vector add(Vector a, Vector b) { return vaddq_s64(a, b); }
  static Vector subtract(Vector a, Vector b) { return vsubq_s64(a, b); }
  static Vector bitwise_and(Vector a, Vector b) { return vandq_s64(a, b); }
  static Vector smaller(Vector a, Vector b) { return vbslq_s64(vcltq_s64(a, b), a, b); }
  static Vector larger(Vector a, Vector b) { return vbslq_s64(vcgtq_s64(a, b), a, b); }
  static Vector add_differing(Vector counts, Vector a, Vector b) {
    return vaddq_s64(counts, vbslq_s64(vceqq_s64(a, b), vdupq_n_s64(0), vdupq_n_s64(1)));
  }

 private:
  static std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }
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

#endif
