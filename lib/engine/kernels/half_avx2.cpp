// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/half.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#endif

namespace lastbit::kernels::avx2 {
namespace {

struct Halves {
  static constexpr std::size_t lanes = 8;
  __m128i raw;
  static Halves load(const std::uint16_t* at) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))}; }
  void store(std::uint16_t* at) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), raw); }
};

struct Floats {
  __m256 raw;
  static Floats load(const float* at) { return {_mm256_loadu_ps(at)}; }
  void store(float* at) const { _mm256_storeu_ps(at, raw); }
};
inline Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.raw, b.raw)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.raw, b.raw)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.raw, b.raw)}; }
inline Floats times_where_negative(Floats a, Floats b) {
  return {_mm256_blendv_ps(a.raw, _mm256_mul_ps(a.raw, b.raw), _mm256_cmp_ps(a.raw, _mm256_setzero_ps(), _CMP_LT_OQ))};
}

inline Floats floats_of(Halves v) { return {_mm256_cvtph_ps(v.raw)}; }
inline Halves halves_of(Floats v) { return {_mm256_cvtps_ph(v.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline bool has_special(Halves v) {
  const __m128i top = _mm_set1_epi16(0x7C00);
  return _mm_movemask_epi8(_mm_cmpeq_epi16(_mm_and_si128(v.raw, top), top)) != 0;
}
/// A mask of 32-bit lanes as one of 16-bit lanes.
inline __m128i words_of(__m256 mask) {
  const __m256i wide = _mm256_castps_si256(mask);
  return _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
}
inline Halves bounded(Halves v, const HalfBounds& bounds) {
  const __m256 value = floats_of(v).raw;
  const __m128i below = words_of(_mm256_cmp_ps(value, _mm256_set1_ps(bounds.min), _CMP_LT_OQ));
  const __m128i above = words_of(_mm256_cmp_ps(value, _mm256_set1_ps(bounds.max), _CMP_GT_OQ));
  const __m128i held = _mm_blendv_epi8(v.raw, _mm_set1_epi16(static_cast<short>(bounds.max_bits)), above);
  return {_mm_blendv_epi8(held, _mm_set1_epi16(static_cast<short>(bounds.min_bits)), below)};
}

#include "engine/kernels/half.inc"

}  // namespace

const HalfKernels half{Halves::lanes, combine, from_float, to_float};

}  // namespace lastbit::kernels::avx2

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
