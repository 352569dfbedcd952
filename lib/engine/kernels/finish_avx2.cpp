// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/finish.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <tuple>
#include <type_traits>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,popcnt")
#endif

namespace lastbit::kernels::avx2 {
namespace {

struct I32 {
  static constexpr std::size_t lanes = 8;
  __m256i raw;
  static I32 load(const std::int32_t* at) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))}; }
  static I32 all(std::int32_t value) { return {_mm256_set1_epi32(value)}; }
  void store(std::int32_t* at) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), raw); }
};
inline I32 operator+(I32 a, I32 b) { return {_mm256_add_epi32(a.raw, b.raw)}; }
inline I32 operator-(I32 a, I32 b) { return {_mm256_sub_epi32(a.raw, b.raw)}; }
inline I32 times(I32 a, I32 b) { return {_mm256_mullo_epi32(a.raw, b.raw)}; }
inline I32 operator&(I32 a, I32 b) { return {_mm256_and_si256(a.raw, b.raw)}; }
inline I32 operator|(I32 a, I32 b) { return {_mm256_or_si256(a.raw, b.raw)}; }
inline I32 smaller(I32 a, I32 b) { return {_mm256_min_epi32(a.raw, b.raw)}; }
inline I32 larger(I32 a, I32 b) { return {_mm256_max_epi32(a.raw, b.raw)}; }
inline I32 shift_up(I32 v, I32 by) { return {_mm256_sllv_epi32(v.raw, by.raw)}; }
inline I32 shift_down(I32 v, I32 by) { return {_mm256_srav_epi32(v.raw, by.raw)}; }
inline I32 shift_down_logical(I32 v, I32 by) { return {_mm256_srlv_epi32(v.raw, by.raw)}; }
inline I32 sign_of(I32 v) { return {_mm256_srai_epi32(v.raw, 31)}; }
inline I32 one_unless_zero(I32 v) { return {_mm256_add_epi32(_mm256_cmpeq_epi32(v.raw, _mm256_setzero_si256()), _mm256_set1_epi32(1))}; }
inline I32 one_more_where_greater(I32 n, I32 a, I32 b) { return {_mm256_sub_epi32(n.raw, _mm256_cmpgt_epi32(a.raw, b.raw))}; }

/// A place counts modulo 16, within a half modulo 8.
struct Words16 {
  __m256i below_8, from_8;
  static Words16 load(const std::array<std::int32_t, 16>& list) { return {I32::load(list.data()).raw, I32::load(list.data() + 8).raw}; }
};
inline I32 looked_up_below_8(Words16 words, I32 place) { return {_mm256_permutevar8x32_epi32(words.below_8, place.raw)}; }
inline I32 looked_up_from_8(Words16 words, I32 place) { return {_mm256_permutevar8x32_epi32(words.from_8, place.raw)}; }
inline I32 looked_up(Words16 words, I32 place) {
  const __m256 below = _mm256_castsi256_ps(looked_up_below_8(words, place).raw),
               from = _mm256_castsi256_ps(looked_up_from_8(words, place).raw);
  return {_mm256_castps_si256(_mm256_blendv_ps(below, from, _mm256_castsi256_ps(_mm256_slli_epi32(place.raw, 28))))};
}
inline std::int64_t different_lanes(I32 a, I32 b, std::size_t valid) {
  const auto equal = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a.raw, b.raw))));
  return __builtin_popcount(~equal & (valid >= I32::lanes ? 0xFFU : (1U << valid) - 1));
}
/// The low 16 bits of every lane.
inline __m128i low_words(I32 v) {
  const __m256i words = _mm256_and_si256(v.raw, _mm256_set1_epi32(0xFFFF));
  return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}
inline void store_as(I32 v, std::int8_t* at) {
  const __m128i words = low_words({_mm256_and_si256(v.raw, _mm256_set1_epi32(0xFF))});
  _mm_storel_epi64(reinterpret_cast<__m128i*>(at), _mm_packus_epi16(words, words));
}
inline void store_as(I32 v, std::int16_t* at) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), low_words(v)); }
inline void store_as(I32 v, std::int32_t* at) { v.store(at); }
inline void store_as(I32 v, std::int64_t* at) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), _mm256_cvtepi32_epi64(_mm256_castsi256_si128(v.raw)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + 4), _mm256_cvtepi32_epi64(_mm256_extracti128_si256(v.raw, 1)));
}

struct I64 {
  static constexpr std::size_t lanes = 4;
  __m256i raw;
  static I64 load(const std::int64_t* at) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))}; }
  static I64 all(std::int64_t value) { return {_mm256_set1_epi64x(value)}; }
  void store(std::int64_t* at) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), raw); }
};
inline I64 operator+(I64 a, I64 b) { return {_mm256_add_epi64(a.raw, b.raw)}; }
inline I64 operator-(I64 a, I64 b) { return {_mm256_sub_epi64(a.raw, b.raw)}; }
inline I64 operator&(I64 a, I64 b) { return {_mm256_and_si256(a.raw, b.raw)}; }
inline I64 operator|(I64 a, I64 b) { return {_mm256_or_si256(a.raw, b.raw)}; }
inline I64 smaller(I64 a, I64 b) { return {_mm256_blendv_epi8(a.raw, b.raw, _mm256_cmpgt_epi64(a.raw, b.raw))}; }
inline I64 larger(I64 a, I64 b) { return {_mm256_blendv_epi8(b.raw, a.raw, _mm256_cmpgt_epi64(a.raw, b.raw))}; }
inline I64 shift_up(I64 v, I64 by) { return {_mm256_sllv_epi64(v.raw, by.raw)}; }
inline I64 shift_down_logical(I64 v, I64 by) { return {_mm256_srlv_epi64(v.raw, by.raw)}; }
inline I64 shift_up_32(I64 v) { return {_mm256_slli_epi64(v.raw, 32)}; }
inline I64 shift_down_logical_32(I64 v) { return {_mm256_srli_epi64(v.raw, 32)}; }
inline I64 low_half(I64 v) { return {_mm256_and_si256(v.raw, _mm256_set1_epi64x(0xFFFFFFFF))}; }
inline I64 greater(I64 a, I64 b) { return {_mm256_cmpgt_epi64(a.raw, b.raw)}; }
inline I64 looked_up(const std::int64_t* list, I64 place) {
  return {_mm256_i64gather_epi64(reinterpret_cast<const long long*>(list), place.raw, 8)};  // NOLINT(google-runtime-int): as the intrinsic
}
inline I64 sign_of(I64 v) { return {_mm256_cmpgt_epi64(_mm256_setzero_si256(), v.raw)}; }
/// Moved by 2^63 no value is negative, and its shift needs no sign.
inline I64 shift_down(I64 v, I64 by) {
  const __m256i offset = _mm256_set1_epi64x(std::int64_t{1} << 63);
  return {_mm256_sub_epi64(_mm256_srlv_epi64(_mm256_xor_si256(v.raw, offset), by.raw), _mm256_srlv_epi64(offset, by.raw))};
}
inline I64 shift_down_32(I64 v) { return {_mm256_blend_epi32(_mm256_srli_epi64(v.raw, 32), _mm256_srai_epi32(v.raw, 31), 0xAA)}; }
inline I64 one_unless_zero(I64 v) { return {_mm256_add_epi64(_mm256_cmpeq_epi64(v.raw, _mm256_setzero_si256()), _mm256_set1_epi64x(1))}; }
inline I64 multiply_low_halves(I64 a, I64 b) { return {_mm256_mul_epi32(a.raw, b.raw)}; }
inline I64 multiply_low_halves_unsigned(I64 a, I64 b) { return {_mm256_mul_epu32(a.raw, b.raw)}; }
inline I64 operator*(I64 a, I64 b) {
  const I64 crossed = multiply_low_halves_unsigned(a, shift_down_logical_32(b)) + multiply_low_halves_unsigned(shift_down_logical_32(a), b);
  return multiply_low_halves_unsigned(a, b) + shift_up_32(crossed);
}
inline std::int64_t different_lanes(I64 a, I64 b, std::size_t valid) {
  const auto equal = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a.raw, b.raw))));
  return __builtin_popcount(~equal & (valid >= I64::lanes ? 0xFU : (1U << valid) - 1));
}
template <class T>
inline void store_as(I64 v, T* at) {
  std::int64_t values[I64::lanes];
  v.store(values);
  for (std::size_t i = 0; i < I64::lanes; ++i) at[i] = static_cast<T>(values[i]);
}

/// Lanes of even and of odd index; of the even ones only the low half counts.
struct Halves {
  static constexpr std::size_t count = 2;
  I64 part[count];
};
inline Halves halves_of(I32 v) { return {{{v.raw}, {_mm256_srli_epi64(v.raw, 32)}}}; }
inline I32 merged(const Halves& v) { return {_mm256_blend_epi32(v.part[0].raw, _mm256_slli_epi64(v.part[1].raw, 32), 0xAA)}; }

struct F32 {
  __m256 raw;
  static F32 load(const float* at) { return {_mm256_loadu_ps(at)}; }
  static F32 all(float value) { return {_mm256_set1_ps(value)}; }
};
inline F32 operator+(F32 a, F32 b) { return {_mm256_add_ps(a.raw, b.raw)}; }
inline F32 operator-(F32 a, F32 b) { return {_mm256_sub_ps(a.raw, b.raw)}; }
inline F32 operator-(F32 a) { return {_mm256_sub_ps(_mm256_setzero_ps(), a.raw)}; }
inline F32 operator/(F32 a, F32 b) { return {_mm256_div_ps(a.raw, b.raw)}; }
inline F32 fused(F32 a, F32 b, F32 c) { return {_mm256_fmadd_ps(a.raw, b.raw, c.raw)}; }
inline bool all_within(F32 v, float limit) {
  const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), v.raw);
  return _mm256_movemask_ps(_mm256_cmp_ps(magnitude, _mm256_set1_ps(limit), _CMP_LT_OQ)) == 0xFF;
}
inline F32 operator*(F32 a, F32 b) { return {_mm256_mul_ps(a.raw, b.raw)}; }
inline F32 smaller(F32 a, F32 b) { return {_mm256_min_ps(a.raw, b.raw)}; }
inline F32 larger(F32 a, F32 b) { return {_mm256_max_ps(a.raw, b.raw)}; }
inline F32 nearest_even(F32 v) { return {_mm256_round_ps(v.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline F32 truncated(F32 v) { return {_mm256_round_ps(v.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)}; }
inline F32 moved_by_one(F32 whole, F32 fraction, F32 up, F32 down) {
  const __m256 one = _mm256_set1_ps(1);
  const __m256 raise = _mm256_and_ps(_mm256_cmp_ps(fraction.raw, up.raw, _CMP_GE_OQ), one);
  return {_mm256_sub_ps(_mm256_add_ps(whole.raw, raise), _mm256_and_ps(_mm256_cmp_ps(fraction.raw, down.raw, _CMP_LE_OQ), one))};
}
inline F32 to_float(I32 v) { return {_mm256_cvtepi32_ps(v.raw)}; }
inline I32 to_integer(F32 v) { return {_mm256_cvttps_epi32(v.raw)}; }

struct F64 {
  static constexpr std::size_t lanes = 4;
  __m256d raw;
  static F64 load(const double* at) { return {_mm256_loadu_pd(at)}; }
  static F64 all(double value) { return {_mm256_set1_pd(value)}; }
};
inline F64 operator+(F64 a, F64 b) { return {_mm256_add_pd(a.raw, b.raw)}; }
inline F64 operator-(F64 a, F64 b) { return {_mm256_sub_pd(a.raw, b.raw)}; }
inline F64 operator-(F64 a) { return {_mm256_sub_pd(_mm256_setzero_pd(), a.raw)}; }
inline F64 operator*(F64 a, F64 b) { return {_mm256_mul_pd(a.raw, b.raw)}; }
inline F64 smaller(F64 a, F64 b) { return {_mm256_min_pd(a.raw, b.raw)}; }
inline F64 larger(F64 a, F64 b) { return {_mm256_max_pd(a.raw, b.raw)}; }
inline F64 nearest_even(F64 v) { return {_mm256_round_pd(v.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline F64 truncated(F64 v) { return {_mm256_round_pd(v.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)}; }
inline F64 moved_by_one(F64 whole, F64 fraction, F64 up, F64 down) {
  const __m256d one = _mm256_set1_pd(1);
  const __m256d raise = _mm256_and_pd(_mm256_cmp_pd(fraction.raw, up.raw, _CMP_GE_OQ), one);
  return {_mm256_sub_pd(_mm256_add_pd(whole.raw, raise), _mm256_and_pd(_mm256_cmp_pd(fraction.raw, down.raw, _CMP_LE_OQ), one))};
}
inline F32 as_float(I32 v) { return {_mm256_castsi256_ps(v.raw)}; }
inline F64 two_less_where_raised_below_zero(F64 whole, F64 x) {
  const __m256d raised = _mm256_cmp_pd(whole.raw, x.raw, _CMP_GT_OQ), below = _mm256_cmp_pd(x.raw, _mm256_setzero_pd(), _CMP_LT_OQ);
  return {_mm256_sub_pd(whole.raw, _mm256_and_pd(_mm256_and_pd(raised, below), _mm256_set1_pd(2)))};
}
inline F64 to_single(F64 v) { return {_mm256_cvtps_pd(_mm256_cvtpd_ps(v.raw))}; }
/// Integers below 2^51 stand in the last bits of a double near 1.5 * 2^52.
inline __m256d unit_doubles() { return _mm256_set1_pd(6755399441055744.0); }
inline F64 double_of(I64 v) {
  const __m256i placed = _mm256_add_epi64(v.raw, _mm256_castpd_si256(unit_doubles()));
  return {_mm256_sub_pd(_mm256_castsi256_pd(placed), unit_doubles())};
}
inline I64 integer_of(F64 v) {
  const __m256i placed = _mm256_castpd_si256(_mm256_add_pd(v.raw, unit_doubles()));
  return {_mm256_sub_epi64(placed, _mm256_castpd_si256(unit_doubles()))};
}

struct Doubles {
  static constexpr std::size_t count = 2;
  F64 part[count];
};
inline Doubles doubles_of(I32 v) {
  return {{{_mm256_cvtepi32_pd(_mm256_castsi256_si128(v.raw))}, {_mm256_cvtepi32_pd(_mm256_extracti128_si256(v.raw, 1))}}};
}
inline Doubles doubles_of(F32 v) {
  return {{{_mm256_cvtps_pd(_mm256_castps256_ps128(v.raw))}, {_mm256_cvtps_pd(_mm256_extractf128_ps(v.raw, 1))}}};
}
inline I32 integers_of(const Doubles& v) {
  const __m256i low = _mm256_castsi128_si256(_mm256_cvttpd_epi32(v.part[0].raw));
  return {_mm256_inserti128_si256(low, _mm256_cvttpd_epi32(v.part[1].raw), 1)};
}

#include "engine/kernels/finish_steps.inc"

#include "engine/kernels/float_codes.inc"

}  // namespace

void finish(const FinishPlan& plan, const FinishWork& work) { run_plan(plan, work); }
const FloatCodeKernels float_codes{sum_in_float, product_in_float, codes_from_float};

}  // namespace lastbit::kernels::avx2

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
