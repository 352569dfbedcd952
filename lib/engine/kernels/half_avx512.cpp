// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/half.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl"))), apply_to = function)
#else
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc 12's own _mm512_undefined_ps (gcc bug 105593)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl")
#endif

namespace lastbit::kernels::avx512 {
namespace {

struct Halves {
  static constexpr std::size_t lanes = 16;
  __m256i raw;
  static Halves load(const std::uint16_t* at) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))}; }
  void store(std::uint16_t* at) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), raw); }
};

struct Floats {
  __m512 raw;
  static Floats load(const float* at) { return {_mm512_loadu_ps(at)}; }
  void store(float* at) const { _mm512_storeu_ps(at, raw); }
};
inline Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.raw, b.raw)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.raw, b.raw)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.raw, b.raw)}; }
inline Floats times_where_negative(Floats a, Floats b) {
  return {_mm512_mask_mul_ps(a.raw, _mm512_cmp_ps_mask(a.raw, _mm512_setzero_ps(), _CMP_LT_OQ), a.raw, b.raw)};
}

inline Floats floats_of(Halves v) { return {_mm512_cvtph_ps(v.raw)}; }
inline Halves halves_of(Floats v) { return {_mm512_cvtps_ph(v.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline bool has_special(Halves v) {
  const __m256i top = _mm256_set1_epi16(0x7C00);
  return _mm256_cmpeq_epi16_mask(_mm256_and_si256(v.raw, top), top) != 0;
}
inline Halves bounded(Halves v, const HalfBounds& bounds) {
  const __m512 value = floats_of(v).raw;
  const __mmask16 below = _mm512_cmp_ps_mask(value, _mm512_set1_ps(bounds.min), _CMP_LT_OQ);
  const __mmask16 above = _mm512_cmp_ps_mask(value, _mm512_set1_ps(bounds.max), _CMP_GT_OQ);
  const __m256i raised = _mm256_mask_set1_epi16(v.raw, below, static_cast<short>(bounds.min_bits));
  return {_mm256_mask_set1_epi16(raised, static_cast<__mmask16>(above & ~below), static_cast<short>(bounds.max_bits))};
}

#include "engine/kernels/half.inc"

}  // namespace

const HalfKernels half{Halves::lanes, combine, from_float, to_float};

}  // namespace lastbit::kernels::avx512

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
