// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// 256-bit vectors. The pairwise multiply-add of 16-bit words may wrap for two products of (-2^15)^2: modulo 2^32 that is still the sum. The one
// of bytes saturates at 16 bits and serves no exact sum, so bytes travel as words. Compiled for AVX2.
#include <immintrin.h>

#include <type_traits>
#include <utility>
#include <xsimd/xsimd.hpp>

#include "engine/kernels/paths.hpp"
#include "engine/kernels/unroll.hpp"

namespace lastbit::kernels::avx2 {
namespace {

#include "engine/kernels/avx2_lanes.inc"

struct Words {
  static I32 add(I32 sum, I32 x, I32 w) { return sum + I32(_mm256_madd_epi16(x, w)); }
};
struct Magnitudes {
  static I32 add(I32 sum, I32 x, I32 w) {
    return _mm256_min_epu32(Words::add(sum, x, w), _mm256_set1_epi32(0x7FFFFFFF));  // two that are below 2^31
  }
};
/// Two pairs of bytes, each brought into 16 bits, and their sum.
struct Pairs {
  static I32 add(I32 sum, I32 x, I32 w) { return sum + I32(_mm256_madd_epi16(sums_of_pairs(x, w), _mm256_set1_epi16(1))); }
};
/// A sum of equal signs whose sign differs has left 32 bits, on the side of those signs.
struct Saturating32 {
  static I32 add(I32 sum, I32 x, I32 w, I32, I32 upper) {
    const I32 product = _mm256_madd_epi16(x, w), wrapped = sum + product;
    const I32 left = (sum ^ wrapped) & ~(sum ^ product);
    return _mm256_blendv_epi8(wrapped, sign_of(sum) ^ upper, sign_of(left));
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
