// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// 512-bit vectors and the wrapping dot products of AVX-512 VNNI: u8 x s8 (vpdpbusd) and s16 x s16 (vpdpwssd) into 32 bits. Compiled for AVX-512 F, CD, BW,
// DQ, VL and VNNI.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // what intrinsics of g++ 12 merge with nothing
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include <type_traits>
#include <utility>
#include <xsimd/xsimd.hpp>

#include "engine/kernels/paths.hpp"
#include "engine/kernels/unroll.hpp"

namespace lastbit::kernels::avx512vnni {
namespace {

using Arch = xsimd::avx512bw;
inline constexpr std::size_t vector_registers = 32, vectors_together = 4, pixels_together = 8;

#include "engine/kernels/vectors.inc"

inline void store_lanes(std::int32_t* at, I32 v, std::size_t n) { _mm512_mask_storeu_epi32(at, static_cast<__mmask16>((1U << n) - 1U), v); }

#include "engine/kernels/product_lanes.inc"

inline I64 multiply_low_halves(I64 a, I64 b) { return _mm512_mul_epi32(a, b); }
inline I16 sums_of_pairs(I32 x, I32 w) { return _mm512_maddubs_epi16(x, w); }

struct Bytes {
  static I32 add(I32 sum, I32 x, I32 w) { return _mm512_dpbusd_epi32(sum, x, w); }
};
struct Words {
  static I32 add(I32 sum, I32 x, I32 w) { return _mm512_dpwssd_epi32(sum, x, w); }
};
struct Magnitudes {
  static I32 add(I32 sum, I32 x, I32 w) { return _mm512_dpwssds_epi32(sum, x, w); }
};
/// Two pairs of bytes, each brought into 16 bits, and their sum.
struct Pairs {
  static I32 add(I32 sum, I32 x, I32 w) { return _mm512_dpwssd_epi32(sum, sums_of_pairs(x, w), _mm512_set1_epi16(1)); }
};
struct Saturating32 {
  static I32 add(I32 sum, I32 x, I32 w, I32, I32) { return _mm512_dpwssds_epi32(sum, x, w); }
};

#include "engine/kernels/narrow_steps.inc"
#include "engine/kernels/products.inc"

#include "engine/kernels/emptied_pairs.inc"

inline I32 widened_bytes(const std::uint8_t* at) { return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))); }
#include "engine/kernels/input_bytes.inc"

}  // namespace

void dense_bytes(const ProductTile& tile) { dense<Bytes>(tile); }
void dense_pairs(const ProductTile& tile) { dense<Pairs>(tile); }
void dense_emptied_pairs(const ProductTile& tile) { emptied_pairs(tile); }
void dense_words(const ProductTile& tile) { dense<Words>(tile); }
void depthwise_bytes(const ProductTile& tile) { depthwise<Bytes>(tile); }
void depthwise_words(const ProductTile& tile) { depthwise<Words>(tile); }
void dense_magnitudes(const ProductTile& tile) { dense<Magnitudes>(tile); }
void depthwise_magnitudes(const ProductTile& tile) { depthwise<Magnitudes>(tile); }

void steps(const StepTile& tile) { any_steps(tile); }

const InputKernels input{flip_bytes, interleave_bytes};

}  // namespace lastbit::kernels::avx512vnni
