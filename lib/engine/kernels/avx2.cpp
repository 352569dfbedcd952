// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// 256-bit vectors. The pairwise multiply-add of 16-bit words may wrap for two products of (-2^15)^2: modulo 2^32 that is still the sum. The one
// of bytes saturates at 16 bits and serves no exact sum, so bytes travel as words.
#include "engine/kernels/paths.hpp"
#include "engine/kernels/unroll.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <utility>

#define LASTBIT_TARGET __attribute__((target("avx2")))

namespace lastbit::kernels::avx2 {
namespace {

#include "engine/kernels/avx2_lanes.inc"

struct Words {
  LASTBIT_TARGET static __m256i add(__m256i sum, __m256i x, __m256i w) { return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w)); }
};
struct Magnitudes {
  LASTBIT_TARGET static __m256i add(__m256i sum, __m256i x, __m256i w) {
    return _mm256_min_epu32(Words::add(sum, x, w), _mm256_set1_epi32(0x7FFFFFFF));  // two that are below 2^31
  }
};
/// Two pairs of bytes, each brought into 16 bits, and their sum.
struct Pairs {
  LASTBIT_TARGET static __m256i add(__m256i sum, __m256i x, __m256i w) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1)));
  }
};
struct Bounded {
  LASTBIT_TARGET static __m256i add(__m256i sum, __m256i x, __m256i w, __m256i lower, __m256i upper) {
    return _mm256_max_epi32(_mm256_min_epi32(Words::add(sum, x, w), upper), lower);
  }
};
/// A sum of equal signs whose sign differs has left 32 bits, on the side of those signs.
struct Saturating32 {
  LASTBIT_TARGET static __m256i add(__m256i sum, __m256i x, __m256i w, __m256i, __m256i upper) {
    const __m256i product = _mm256_madd_epi16(x, w), wrapped = _mm256_add_epi32(sum, product);
    const __m256i left = _mm256_andnot_si256(_mm256_xor_si256(sum, product), _mm256_xor_si256(sum, wrapped));
    const __m256i end = _mm256_xor_si256(_mm256_srai_epi32(sum, 31), upper);
    return _mm256_blendv_epi8(wrapped, end, _mm256_srai_epi32(left, 31));
  }
};

#include "engine/kernels/narrow_steps.inc"
#include "engine/kernels/products.inc"

#include "engine/kernels/emptied_pairs.inc"

}  // namespace

void dense_pairs(const ProductTile& tile) { dense<Pairs>(tile); }
void dense_emptied_pairs(const ProductTile& tile) { emptied_pairs(tile); }
void dense_words(const ProductTile& tile) { dense<Words>(tile); }
void depthwise_words(const ProductTile& tile) { depthwise<Words>(tile); }
void dense_magnitudes(const ProductTile& tile) { dense<Magnitudes>(tile); }
void depthwise_magnitudes(const ProductTile& tile) { depthwise<Magnitudes>(tile); }

void steps(const StepTile& tile) { any_steps(tile); }

}  // namespace lastbit::kernels::avx2

#endif
