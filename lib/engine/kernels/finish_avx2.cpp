// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Compiled for AVX2 and FMA.
#include <immintrin.h>

#include <type_traits>
#include <utility>
#include <xsimd/xsimd.hpp>

#include "engine/kernels/finish.hpp"
#include "engine/kernels/half.hpp"
#include "engine/kernels/lines.hpp"

namespace lastbit::kernels::avx2 {
namespace {

using Arch = xsimd::fma3<xsimd::avx2>;

#include "engine/kernels/lanes.inc"

inline I32 shift_up(I32 v, I32 by) { return v << by; }
inline I64 shift_up(I64 v, I64 by) { return v << by; }
inline I32 shift_down(I32 v, I32 by) { return v >> by; }
inline I32 shift_down_logical(I32 v, I32 by) { return _mm256_srlv_epi32(v, by); }
inline I64 shift_down_logical(I64 v, I64 by) { return _mm256_srlv_epi64(v, by); }
/// Moved by 2^63 no value is negative, and its shift needs no sign.
inline I64 shift_down(I64 v, I64 by) {
  const I64 offset(std::int64_t{-1} << 63);
  return shift_down_logical(v ^ offset, by) - shift_down_logical(offset, by);
}
inline I64 multiply_low_halves(I64 a, I64 b) { return _mm256_mul_epi32(a, b); }
inline I64 multiply_low_halves_unsigned(I64 a, I64 b) { return _mm256_mul_epu32(a, b); }
inline constexpr bool fuses_floats = true;
inline F32 fused(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a, b, c); }

inline Doubles doubles_of(I32 v) {
  return {{_mm256_cvtepi32_pd(_mm256_castsi256_si128(v)), _mm256_cvtepi32_pd(_mm256_extracti128_si256(v, 1))}};
}
inline Doubles doubles_of(F32 v) { return {{_mm256_cvtps_pd(_mm256_castps256_ps128(v)), _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))}}; }
inline I32 integers_of(const Doubles& v) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm256_cvttpd_epi32(v.part[0])), _mm256_cvttpd_epi32(v.part[1]), 1);
}
inline F64 to_single(F64 v) { return _mm256_cvtps_pd(_mm256_cvtpd_ps(v)); }

inline I64 looked_up(const std::int64_t* list, I64 place) {
  return _mm256_i64gather_epi64(reinterpret_cast<const long long*>(list), place, 8);  // NOLINT(google-runtime-int): as the intrinsic
}
/// A place counts modulo 16, within a half modulo 8.
struct Words16 {
  static constexpr std::size_t together = 4;  ///< vectors whose searches are on their way at one time
  I32 below_8, from_8;
  static Words16 load(const std::int32_t* list) { return {I32::load_unaligned(list), I32::load_unaligned(list + 8)}; }
};
inline I32 looked_up_below_8(Words16 words, I32 place) { return _mm256_permutevar8x32_epi32(words.below_8, place); }
inline I32 looked_up(Words16 words, I32 place) {
  const F32 below = as<float>(looked_up_below_8(words, place)), from = as<float>(I32(_mm256_permutevar8x32_epi32(words.from_8, place)));
  return as<std::int32_t>(F32(_mm256_blendv_ps(below, from, as<float>(place << 28))));
}

inline void store_as(I32 v, std::int8_t* at) {
  const I32 bytes = v & I32(0xFF);
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(at), _mm_packus_epi16(words, words));
}

using HalfPatterns = __m128i;
inline F32 floats_of(HalfPatterns v) { return _mm256_cvtph_ps(v); }
inline HalfPatterns halves_of(F32 v) { return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

#include "engine/kernels/finish_steps.inc"

#include "engine/kernels/float_codes.inc"

#include "engine/kernels/half.inc"

#include "engine/kernels/lines.inc"
inline I32 nearest_integer(F32 v) { return _mm256_cvtps_epi32(v); }

}  // namespace

void finish(const FinishPlan& plan, const FinishWork& work) { run_plan(plan, work); }
void line_outputs(const LineBlock& block) { run_block(block); }
std::size_t pair_outputs(const PairBlock& block) { return run_pairs(block); }
const FloatCodeKernels float_codes{sum_in_float, product_in_float, codes_from_float};
const HalfKernels half{F32::size, combine, from_float, to_float};

}  // namespace lastbit::kernels::avx2
