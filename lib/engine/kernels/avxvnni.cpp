// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// 256-bit vectors and the dot products of AVX-VNNI: u8 x s8 (vpdpbusd) and s16 x s16 (vpdpwssd) into 32 bits, for processors without AVX-512. Compiled for
// AVX2 and AVX-VNNI.
#include <immintrin.h>

#include <type_traits>
#include <utility>
#include <xsimd/xsimd.hpp>

#include "engine/kernels/paths.hpp"
#include "engine/kernels/unroll.hpp"

namespace lastbit::kernels::avxvnni {
namespace {

#include "engine/kernels/avx2_lanes.inc"

struct Bytes {
  static I32 add(I32 sum, I32 x, I32 w) { return _mm256_dpbusd_avx_epi32(sum, x, w); }
};
struct Words {
  static I32 add(I32 sum, I32 x, I32 w) { return _mm256_dpwssd_avx_epi32(sum, x, w); }
};
struct Magnitudes {
  static I32 add(I32 sum, I32 x, I32 w) { return _mm256_dpwssds_avx_epi32(sum, x, w); }
};
/// Two pairs of bytes, each brought into 16 bits, and their sum.
struct Pairs {
  static I32 add(I32 sum, I32 x, I32 w) { return _mm256_dpwssd_avx_epi32(sum, sums_of_pairs(x, w), _mm256_set1_epi16(1)); }
};
struct Saturating32 {
  static I32 add(I32 sum, I32 x, I32 w, I32, I32) { return _mm256_dpwssds_avx_epi32(sum, x, w); }
};

#include "engine/kernels/narrow_steps.inc"
#include "engine/kernels/products.inc"

#include "engine/kernels/emptied_pairs.inc"

inline I32 widened_bytes(const std::uint8_t* at) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))); }
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

}  // namespace lastbit::kernels::avxvnni
