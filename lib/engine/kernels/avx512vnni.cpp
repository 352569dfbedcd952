// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// 512-bit vectors and the wrapping dot products of AVX-512 VNNI: u8 x s8 (vpdpbusd) and s16 x s16 (vpdpwssd) into 32 bits.
#include "engine/kernels/paths.hpp"
#include "engine/kernels/unroll.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <utility>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // what intrinsics of g++ 12 merge with nothing
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define LASTBIT_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

namespace lastbit::kernels::avx512vnni {
namespace {

struct Lanes {
  using Vector = __m512i;
  static constexpr std::size_t count = 16, columns = 4;
  static constexpr std::size_t registers = 32;
  LASTBIT_TARGET static Vector load(const void* at) { return _mm512_loadu_si512(at); }
  LASTBIT_TARGET static Vector broadcast(const std::byte* group) {
    std::int32_t value;
    __builtin_memcpy(&value, group, sizeof value);
    return _mm512_set1_epi32(value);
  }
  LASTBIT_TARGET static void store(void* at, Vector v) { _mm512_storeu_si512(at, v); }
  LASTBIT_TARGET static void store_first(void* at, Vector v, std::size_t n) {
    _mm512_mask_storeu_epi32(at, static_cast<__mmask16>((1U << n) - 1U), v);
  }
};
struct Bytes {
  LASTBIT_TARGET static __m512i add(__m512i sum, __m512i x, __m512i w) { return _mm512_dpbusd_epi32(sum, x, w); }
};
/// Two pairs of bytes, each brought into 16 bits, and their sum.
struct Pairs {
  LASTBIT_TARGET static __m512i add(__m512i sum, __m512i x, __m512i w) {
    return _mm512_dpwssd_epi32(sum, _mm512_maddubs_epi16(x, w), _mm512_set1_epi16(1));
  }
};
struct Words {
  LASTBIT_TARGET static __m512i add(__m512i sum, __m512i x, __m512i w) { return _mm512_dpwssd_epi32(sum, x, w); }
};
struct Magnitudes {
  LASTBIT_TARGET static __m512i add(__m512i sum, __m512i x, __m512i w) { return _mm512_dpwssds_epi32(sum, x, w); }
};

struct Wide {
  using Vector = __m512i;
  static constexpr std::size_t count = 8;
  LASTBIT_TARGET static Vector load(const void* at) { return _mm512_loadu_si512(at); }
  LASTBIT_TARGET static Vector load_words(const std::int16_t* at) {
    return _mm512_cvtepi16_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  LASTBIT_TARGET static Vector broadcast(std::int64_t value) { return _mm512_set1_epi64(value); }
  LASTBIT_TARGET static void store(void* at, Vector v) { _mm512_storeu_si512(at, v); }
  LASTBIT_TARGET static Vector multiply(Vector a, Vector b) { return _mm512_mul_epi32(a, b); }
  LASTBIT_TARGET static Vector add(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
  LASTBIT_TARGET static Vector subtract(Vector a, Vector b) { return _mm512_sub_epi64(a, b); }
  LASTBIT_TARGET static Vector bitwise_and(Vector a, Vector b) { return _mm512_and_si512(a, b); }
  LASTBIT_TARGET static Vector smaller(Vector a, Vector b) { return _mm512_min_epi64(a, b); }
  LASTBIT_TARGET static Vector larger(Vector a, Vector b) { return _mm512_max_epi64(a, b); }
  LASTBIT_TARGET static Vector add_differing(Vector counts, Vector a, Vector b) {
    return _mm512_mask_add_epi64(counts, _mm512_cmpneq_epi64_mask(a, b), counts, _mm512_set1_epi64(1));
  }
};
struct Narrow {
  using Vector = __m512i;
  static constexpr std::size_t count = 16, pixels = 8;
  LASTBIT_TARGET static Vector load_words(const std::int16_t* at) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  LASTBIT_TARGET static Vector load_pair(const std::int16_t* at) { return Lanes::broadcast(reinterpret_cast<const std::byte*>(at)); }
  LASTBIT_TARGET static Vector broadcast(std::int32_t value) { return _mm512_set1_epi32(value); }
  LASTBIT_TARGET static Vector from_wide(const std::int64_t* at) {
    const __m256i low = _mm512_cvtepi64_epi32(Wide::load(at)), high = _mm512_cvtepi64_epi32(Wide::load(at + Wide::count));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  LASTBIT_TARGET static void store_wide(std::int64_t* at, Vector v) {
    Wide::store(at, _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v)));
    Wide::store(at + Wide::count, _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1)));
  }
};
struct Seconds {
  using Vector = __m512i;
  static constexpr std::size_t pixels = 8;
  LASTBIT_TARGET static Vector zero() { return _mm512_setzero_si512(); }
  LASTBIT_TARGET static Vector load_pair(const std::byte* at) {
    std::int16_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return _mm512_set1_epi16(value);
  }
  LASTBIT_TARGET static Vector add(Vector second, Vector x, Vector w) { return _mm512_adds_epi16(second, _mm512_maddubs_epi16(x, w)); }
  LASTBIT_TARGET static Vector add_low(Vector sum, Vector second) {
    return _mm512_add_epi32(sum, _mm512_cvtepi16_epi32(_mm512_castsi512_si256(second)));
  }
  LASTBIT_TARGET static Vector add_high(Vector sum, Vector second) {
    return _mm512_add_epi32(sum, _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(second, 1)));
  }
};
struct Shorts {
  using Vector = __m512i;
  LASTBIT_TARGET static Vector broadcast(std::int16_t value) { return _mm512_set1_epi16(value); }
  LASTBIT_TARGET static Vector multiply(Vector a, Vector b) { return _mm512_mullo_epi16(a, b); }
  LASTBIT_TARGET static Vector add(Vector a, Vector b) { return _mm512_add_epi16(a, b); }
  LASTBIT_TARGET static Vector add_saturating(Vector a, Vector b) { return _mm512_adds_epi16(a, b); }
  LASTBIT_TARGET static Vector smaller(Vector a, Vector b) { return _mm512_min_epi16(a, b); }
  LASTBIT_TARGET static Vector larger(Vector a, Vector b) { return _mm512_max_epi16(a, b); }
  LASTBIT_TARGET static Vector add_differing(Vector counts, Vector a, Vector b) {
    return _mm512_mask_add_epi16(counts, _mm512_cmpneq_epi16_mask(a, b), counts, _mm512_set1_epi16(1));
  }
};
struct Saturating32 {
  LASTBIT_TARGET static __m512i add(__m512i sum, __m512i x, __m512i w, __m512i, __m512i) { return _mm512_dpwssds_epi32(sum, x, w); }
};
struct Bounded {
  LASTBIT_TARGET static __m512i add(__m512i sum, __m512i x, __m512i w, __m512i lower, __m512i upper) {
    return _mm512_max_epi32(_mm512_min_epi32(_mm512_dpwssd_epi32(sum, x, w), upper), lower);
  }
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

}  // namespace lastbit::kernels::avx512vnni

#endif
