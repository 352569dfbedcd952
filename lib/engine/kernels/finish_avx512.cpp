// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/finish.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <tuple>
#include <type_traits>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt"))), apply_to = function)
#else
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc 12's own _mm512_undefined_epi32 (gcc bug 105593)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")
#endif

namespace lastbit::kernels::avx512 {
namespace {

struct I32 {
  static constexpr std::size_t lanes = 16;
  __m512i raw;
  static I32 load(const std::int32_t* at) { return {_mm512_loadu_si512(at)}; }
  static I32 all(std::int32_t value) { return {_mm512_set1_epi32(value)}; }
  void store(std::int32_t* at) const { _mm512_storeu_si512(at, raw); }
};
inline I32 operator+(I32 a, I32 b) { return {_mm512_add_epi32(a.raw, b.raw)}; }
inline I32 operator-(I32 a, I32 b) { return {_mm512_sub_epi32(a.raw, b.raw)}; }
inline I32 times(I32 a, I32 b) { return {_mm512_mullo_epi32(a.raw, b.raw)}; }
inline I32 operator&(I32 a, I32 b) { return {_mm512_and_si512(a.raw, b.raw)}; }
inline I32 operator|(I32 a, I32 b) { return {_mm512_or_si512(a.raw, b.raw)}; }
inline I32 smaller(I32 a, I32 b) { return {_mm512_min_epi32(a.raw, b.raw)}; }
inline I32 larger(I32 a, I32 b) { return {_mm512_max_epi32(a.raw, b.raw)}; }
inline I32 shift_up(I32 v, I32 by) { return {_mm512_sllv_epi32(v.raw, by.raw)}; }
inline I32 shift_down(I32 v, I32 by) { return {_mm512_srav_epi32(v.raw, by.raw)}; }
inline I32 shift_down_logical(I32 v, I32 by) { return {_mm512_srlv_epi32(v.raw, by.raw)}; }
inline I32 sign_of(I32 v) { return {_mm512_srai_epi32(v.raw, 31)}; }
inline I32 one_unless_zero(I32 v) { return {_mm512_maskz_set1_epi32(_mm512_test_epi32_mask(v.raw, v.raw), 1)}; }
inline I32 one_more_where_greater(I32 n, I32 a, I32 b) {
  return {_mm512_mask_add_epi32(n.raw, _mm512_cmpgt_epi32_mask(a.raw, b.raw), n.raw, _mm512_set1_epi32(1))};
}
/// A place counts modulo 16.
struct Words16 {
  __m512i raw;
  static Words16 load(const std::array<std::int32_t, 16>& list) { return {_mm512_loadu_si512(list.data())}; }
};
inline I32 looked_up(Words16 words, I32 place) { return {_mm512_permutexvar_epi32(place.raw, words.raw)}; }
inline I32 looked_up_below_8(Words16 words, I32 place) { return looked_up(words, place); }
inline I32 looked_up_from_8(Words16 words, I32 place) { return looked_up(words, place); }
inline std::int64_t different_lanes(I32 a, I32 b, std::size_t valid) {
  const unsigned mask = _mm512_cmpneq_epi32_mask(a.raw, b.raw);
  return __builtin_popcount(valid >= I32::lanes ? mask : mask & ((1U << valid) - 1));
}
inline void store_as(I32 v, std::int8_t* at) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm512_cvtepi32_epi8(v.raw)); }
inline void store_as(I32 v, std::int16_t* at) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), _mm512_cvtepi32_epi16(v.raw)); }
inline void store_as(I32 v, std::int32_t* at) { v.store(at); }
inline void store_as(I32 v, std::int64_t* at) {
  _mm512_storeu_si512(at, _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v.raw)));
  _mm512_storeu_si512(at + 8, _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v.raw, 1)));
}

struct I64 {
  static constexpr std::size_t lanes = 8;
  __m512i raw;
  static I64 load(const std::int64_t* at) { return {_mm512_loadu_si512(at)}; }
  static I64 all(std::int64_t value) { return {_mm512_set1_epi64(value)}; }
  void store(std::int64_t* at) const { _mm512_storeu_si512(at, raw); }
};
inline I64 operator+(I64 a, I64 b) { return {_mm512_add_epi64(a.raw, b.raw)}; }
inline I64 operator-(I64 a, I64 b) { return {_mm512_sub_epi64(a.raw, b.raw)}; }
inline I64 operator&(I64 a, I64 b) { return {_mm512_and_si512(a.raw, b.raw)}; }
inline I64 operator|(I64 a, I64 b) { return {_mm512_or_si512(a.raw, b.raw)}; }
inline I64 operator*(I64 a, I64 b) { return {_mm512_mullo_epi64(a.raw, b.raw)}; }
inline I64 smaller(I64 a, I64 b) { return {_mm512_min_epi64(a.raw, b.raw)}; }
inline I64 larger(I64 a, I64 b) { return {_mm512_max_epi64(a.raw, b.raw)}; }
inline I64 shift_up(I64 v, I64 by) { return {_mm512_sllv_epi64(v.raw, by.raw)}; }
inline I64 shift_down(I64 v, I64 by) { return {_mm512_srav_epi64(v.raw, by.raw)}; }
inline I64 shift_down_logical(I64 v, I64 by) { return {_mm512_srlv_epi64(v.raw, by.raw)}; }
inline I64 shift_up_32(I64 v) { return {_mm512_slli_epi64(v.raw, 32)}; }
inline I64 shift_down_32(I64 v) { return {_mm512_srai_epi64(v.raw, 32)}; }
inline I64 shift_down_logical_32(I64 v) { return {_mm512_srli_epi64(v.raw, 32)}; }
inline I64 low_half(I64 v) { return {_mm512_and_si512(v.raw, _mm512_set1_epi64(0xFFFFFFFF))}; }
inline I64 greater(I64 a, I64 b) { return {_mm512_movm_epi64(_mm512_cmpgt_epi64_mask(a.raw, b.raw))}; }
inline I64 looked_up(const std::int64_t* list, I64 place) { return {_mm512_i64gather_epi64(place.raw, list, 8)}; }
inline I64 sign_of(I64 v) { return {_mm512_srai_epi64(v.raw, 63)}; }
inline I64 one_unless_zero(I64 v) { return {_mm512_maskz_set1_epi64(_mm512_test_epi64_mask(v.raw, v.raw), 1)}; }
inline I64 multiply_low_halves(I64 a, I64 b) { return {_mm512_mul_epi32(a.raw, b.raw)}; }
inline I64 multiply_low_halves_unsigned(I64 a, I64 b) { return {_mm512_mul_epu32(a.raw, b.raw)}; }
inline std::int64_t different_lanes(I64 a, I64 b, std::size_t valid) {
  const unsigned mask = _mm512_cmpneq_epi64_mask(a.raw, b.raw);
  return __builtin_popcount(valid >= I64::lanes ? mask : mask & ((1U << valid) - 1));
}
inline void store_as(I64 v, std::int8_t* at) { _mm_storel_epi64(reinterpret_cast<__m128i*>(at), _mm512_cvtepi64_epi8(v.raw)); }
inline void store_as(I64 v, std::int16_t* at) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm512_cvtepi64_epi16(v.raw)); }
inline void store_as(I64 v, std::int32_t* at) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), _mm512_cvtepi64_epi32(v.raw)); }
inline void store_as(I64 v, std::int64_t* at) { v.store(at); }

/// Lanes of even and of odd index; of the even ones only the low half counts.
struct Halves {
  static constexpr std::size_t count = 2;
  I64 part[count];
};
inline Halves halves_of(I32 v) { return {{{v.raw}, {_mm512_srli_epi64(v.raw, 32)}}}; }
inline I32 merged(const Halves& v) {
  return {_mm512_mask_shuffle_epi32(v.part[0].raw, 0xAAAA, v.part[1].raw, static_cast<_MM_PERM_ENUM>(_MM_SHUFFLE(2, 2, 0, 0)))};
}

struct F32 {
  __m512 raw;
  static F32 load(const float* at) { return {_mm512_loadu_ps(at)}; }
  static F32 all(float value) { return {_mm512_set1_ps(value)}; }
};
inline F32 operator+(F32 a, F32 b) { return {_mm512_add_ps(a.raw, b.raw)}; }
inline F32 operator-(F32 a, F32 b) { return {_mm512_sub_ps(a.raw, b.raw)}; }
inline F32 operator-(F32 a) { return {_mm512_sub_ps(_mm512_setzero_ps(), a.raw)}; }
inline F32 operator/(F32 a, F32 b) { return {_mm512_div_ps(a.raw, b.raw)}; }
inline F32 fused(F32 a, F32 b, F32 c) { return {_mm512_fmadd_ps(a.raw, b.raw, c.raw)}; }
inline bool all_within(F32 v, float limit) { return _mm512_cmp_ps_mask(_mm512_abs_ps(v.raw), _mm512_set1_ps(limit), _CMP_LT_OQ) == 0xFFFF; }
inline F32 operator*(F32 a, F32 b) { return {_mm512_mul_ps(a.raw, b.raw)}; }
inline F32 smaller(F32 a, F32 b) { return {_mm512_min_ps(a.raw, b.raw)}; }
inline F32 larger(F32 a, F32 b) { return {_mm512_max_ps(a.raw, b.raw)}; }
inline F32 nearest_even(F32 v) { return {_mm512_roundscale_ps(v.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline F32 truncated(F32 v) { return {_mm512_roundscale_ps(v.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)}; }
inline F32 moved_by_one(F32 whole, F32 fraction, F32 up, F32 down) {
  const __m512 one = _mm512_set1_ps(1);
  const __m512 raised = _mm512_mask_add_ps(whole.raw, _mm512_cmp_ps_mask(fraction.raw, up.raw, _CMP_GE_OQ), whole.raw, one);
  return {_mm512_mask_sub_ps(raised, _mm512_cmp_ps_mask(fraction.raw, down.raw, _CMP_LE_OQ), raised, one)};
}
inline F32 to_float(I32 v) { return {_mm512_cvtepi32_ps(v.raw)}; }
inline I32 to_integer(F32 v) { return {_mm512_cvttps_epi32(v.raw)}; }

struct F64 {
  static constexpr std::size_t lanes = 8;
  __m512d raw;
  static F64 load(const double* at) { return {_mm512_loadu_pd(at)}; }
  static F64 all(double value) { return {_mm512_set1_pd(value)}; }
};
inline F64 operator+(F64 a, F64 b) { return {_mm512_add_pd(a.raw, b.raw)}; }
inline F64 operator-(F64 a, F64 b) { return {_mm512_sub_pd(a.raw, b.raw)}; }
inline F64 operator-(F64 a) { return {_mm512_sub_pd(_mm512_setzero_pd(), a.raw)}; }
inline F64 operator*(F64 a, F64 b) { return {_mm512_mul_pd(a.raw, b.raw)}; }
inline F64 smaller(F64 a, F64 b) { return {_mm512_min_pd(a.raw, b.raw)}; }
inline F64 larger(F64 a, F64 b) { return {_mm512_max_pd(a.raw, b.raw)}; }
inline F64 nearest_even(F64 v) { return {_mm512_roundscale_pd(v.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline F64 truncated(F64 v) { return {_mm512_roundscale_pd(v.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)}; }
inline F64 moved_by_one(F64 whole, F64 fraction, F64 up, F64 down) {
  const __m512d one = _mm512_set1_pd(1);
  const __m512d raised = _mm512_mask_add_pd(whole.raw, _mm512_cmp_pd_mask(fraction.raw, up.raw, _CMP_GE_OQ), whole.raw, one);
  return {_mm512_mask_sub_pd(raised, _mm512_cmp_pd_mask(fraction.raw, down.raw, _CMP_LE_OQ), raised, one)};
}
inline F32 as_float(I32 v) { return {_mm512_castsi512_ps(v.raw)}; }
inline F64 two_less_where_raised_below_zero(F64 whole, F64 x) {
  const __mmask8 below = _mm512_cmp_pd_mask(x.raw, _mm512_setzero_pd(), _CMP_LT_OQ);
  const __mmask8 raised = _mm512_mask_cmp_pd_mask(below, whole.raw, x.raw, _CMP_GT_OQ);
  return {_mm512_mask_sub_pd(whole.raw, raised, whole.raw, _mm512_set1_pd(2))};
}
inline F64 to_single(F64 v) { return {_mm512_cvtps_pd(_mm512_cvtpd_ps(v.raw))}; }
inline F64 double_of(I64 v) { return {_mm512_cvtepi64_pd(v.raw)}; }
inline I64 integer_of(F64 v) { return {_mm512_cvttpd_epi64(v.raw)}; }

struct Doubles {
  static constexpr std::size_t count = 2;
  F64 part[count];
};
inline Doubles doubles_of(I32 v) {
  return {{{_mm512_cvtepi32_pd(_mm512_castsi512_si256(v.raw))}, {_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(v.raw, 1))}}};
}
inline Doubles doubles_of(F32 v) {
  const __m256 high = _mm256_castsi256_ps(_mm512_extracti64x4_epi64(_mm512_castps_si512(v.raw), 1));
  return {{{_mm512_cvtps_pd(_mm512_castps512_ps256(v.raw))}, {_mm512_cvtps_pd(high)}}};
}
inline I32 integers_of(const Doubles& v) {
  const __m512i low = _mm512_castsi256_si512(_mm512_cvttpd_epi32(v.part[0].raw));
  return {_mm512_inserti64x4(low, _mm512_cvttpd_epi32(v.part[1].raw), 1)};
}

#include "engine/kernels/finish_steps.inc"

#include "engine/kernels/float_codes.inc"

}  // namespace

void finish(const FinishPlan& plan, const FinishWork& work) { run_plan(plan, work); }
const FloatCodeKernels float_codes{sum_in_float, product_in_float, codes_from_float};

}  // namespace lastbit::kernels::avx512

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
