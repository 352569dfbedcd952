// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Compiled for AVX-512 F, CD, BW, DQ and VL.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc 12's own _mm512_undefined_epi32 (gcc bug 105593)
#endif

#include <immintrin.h>

#include <type_traits>
#include <utility>
#include <xsimd/xsimd.hpp>

#include "engine/kernels/finish.hpp"
#include "engine/kernels/half.hpp"
#include "engine/kernels/lines.hpp"

namespace lastbit::kernels::avx512 {
namespace {

using Arch = xsimd::avx512bw;

#include "engine/kernels/lanes.inc"

inline I32 shift_up(I32 v, I32 by) { return _mm512_sllv_epi32(v, by); }
inline I64 shift_up(I64 v, I64 by) { return _mm512_sllv_epi64(v, by); }
inline I32 shift_down(I32 v, I32 by) { return _mm512_srav_epi32(v, by); }
inline I64 shift_down(I64 v, I64 by) { return _mm512_srav_epi64(v, by); }
inline I32 shift_down_logical(I32 v, I32 by) { return _mm512_srlv_epi32(v, by); }
inline I64 shift_down_logical(I64 v, I64 by) { return _mm512_srlv_epi64(v, by); }
inline void store_saturated(I32 v, std::int8_t* at) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm512_cvtsepi32_epi8(v)); }
inline I64 multiply_low_halves(I64 a, I64 b) { return _mm512_mul_epi32(a, b); }
inline I64 multiply_low_halves_unsigned(I64 a, I64 b) { return _mm512_mul_epu32(a, b); }
inline constexpr bool fuses_floats = true;
inline F32 fused(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }

inline I32 merged(const Halves& v) {
  return _mm512_mask_shuffle_epi32(v.part[0], 0xAAAA, v.part[1], static_cast<_MM_PERM_ENUM>(_MM_SHUFFLE(2, 2, 0, 0)));
}

inline Doubles doubles_of(I32 v) {
  return {{_mm512_cvtepi32_pd(_mm512_castsi512_si256(v)), _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(v, 1))}};
}
inline Doubles doubles_of(F32 v) { return {{_mm512_cvtps_pd(_mm512_castps512_ps256(v)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))}}; }
inline I32 integers_of(const Doubles& v) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvttpd_epi32(v.part[0])), _mm512_cvttpd_epi32(v.part[1]), 1);
}
inline F64 double_of(I64 v) { return _mm512_cvtepi64_pd(v); }
inline I64 integer_of(F64 v) { return _mm512_cvttpd_epi64(v); }
inline F64 to_single(F64 v) { return _mm512_cvtps_pd(_mm512_cvtpd_ps(v)); }

inline I64 looked_up(const std::int64_t* list, I64 place) { return _mm512_i64gather_epi64(place, list, 8); }
/// A place counts modulo 16.
struct Words16 {
  static constexpr std::size_t together = 8;  ///< vectors whose searches are on their way at one time
  I32 words;
  static Words16 load(const std::int32_t* list) { return {I32::load_unaligned(list)}; }
};
inline I32 looked_up(Words16 list, I32 place) { return _mm512_permutexvar_epi32(place, list.words); }
inline I32 looked_up_below_8(Words16 list, I32 place) { return looked_up(list, place); }

using HalfPatterns = __m256i;
inline F32 floats_of(HalfPatterns v) { return _mm512_cvtph_ps(v); }
inline HalfPatterns halves_of(F32 v) { return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

#include "engine/kernels/finish_steps.inc"

#include "engine/kernels/float_codes.inc"

#include "engine/kernels/half.inc"

#include "engine/kernels/lines.inc"
inline I32 nearest_integer(F32 v) { return _mm512_cvtps_epi32(v); }

}  // namespace

void finish(const FinishPlan& plan, const FinishWork& work) { run_plan(plan, work); }
void line_outputs(const LineBlock& block) { run_block(block); }
std::size_t pair_outputs(const PairBlock& block) { return run_pairs(block); }
const FloatCodeKernels float_codes{sum_in_float, product_in_float, codes_from_float};
const HalfKernels half{F32::size, combine, from_float, to_float};

}  // namespace lastbit::kernels::avx512
