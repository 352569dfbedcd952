// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// 256-bit vectors and the dot products of AVX-VNNI: u8 x s8 (vpdpbusd) and s16 x s16 (vpdpwssd) into 32 bits, for processors without AVX-512.
#include "engine/kernels/paths.hpp"
#include "engine/kernels/unroll.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <utility>

#define LASTBIT_TARGET __attribute__((target("avx2,avxvnni")))

namespace lastbit::kernels::avxvnni {
namespace {

#include "engine/kernels/avx2_lanes.inc"

struct Bytes {
  LASTBIT_TARGET static __m256i add(__m256i sum, __m256i x, __m256i w) { return _mm256_dpbusd_avx_epi32(sum, x, w); }
};
struct Words {
  LASTBIT_TARGET static __m256i add(__m256i sum, __m256i x, __m256i w) { return _mm256_dpwssd_avx_epi32(sum, x, w); }
};
struct Magnitudes {
  LASTBIT_TARGET static __m256i add(__m256i sum, __m256i x, __m256i w) { return _mm256_dpwssds_avx_epi32(sum, x, w); }
};
/// Two pairs of bytes, each brought into 16 bits, and their sum.
struct Pairs {
  LASTBIT_TARGET static __m256i add(__m256i sum, __m256i x, __m256i w) {
    return _mm256_dpwssd_avx_epi32(sum, _mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1));
  }
};
struct Bounded {
  LASTBIT_TARGET static __m256i add(__m256i sum, __m256i x, __m256i w, __m256i lower, __m256i upper) {
    return _mm256_max_epi32(_mm256_min_epi32(Words::add(sum, x, w), upper), lower);
  }
};
struct Saturating32 {
  LASTBIT_TARGET static __m256i add(__m256i sum, __m256i x, __m256i w, __m256i, __m256i) { return _mm256_dpwssds_avx_epi32(sum, x, w); }
};

#include "engine/kernels/narrow_steps.inc"
#include "engine/kernels/products.inc"

#include "engine/kernels/emptied_pairs.inc"

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

}  // namespace lastbit::kernels::avxvnni

#endif
