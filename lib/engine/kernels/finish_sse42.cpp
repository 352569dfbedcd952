// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Compiled for SSE4.2.
#include <nmmintrin.h>

#include <type_traits>
#include <utility>
#include <xsimd/xsimd.hpp>

#include "engine/kernels/finish.hpp"

namespace lastbit::kernels::sse42 {
namespace {

using Arch = xsimd::sse4_2;

#include "engine/kernels/lanes.inc"

/// Its shifts shift all lanes by one amount, that of the low 64 bits: each amount in its turn, and of every result the lane that it is for.
template <class Shift>
inline I64 each_64(I64 v, I64 by, Shift shift) {
  return _mm_blend_epi16(shift(v, by), shift(v, _mm_unpackhi_epi64(by, by)), 0xF0);
}
template <class Shift>
inline I32 each_32(I32 v, I32 by, Shift shift) {
  const __m128i upper = _mm_unpackhi_epi64(by, by);
  const __m128i even = _mm_blend_epi16(shift(v, _mm_cvtepu32_epi64(by)), shift(v, _mm_cvtepu32_epi64(upper)), 0xF0);
  const __m128i odd = _mm_blend_epi16(shift(v, _mm_srli_epi64(by, 32)), shift(v, _mm_srli_epi64(upper, 32)), 0xF0);
  return _mm_blend_epi16(even, odd, 0xCC);
}
inline I32 shift_up(I32 v, I32 by) {
  return each_32(v, by, [](__m128i all, __m128i amount) { return _mm_sll_epi32(all, amount); });
}
inline I64 shift_up(I64 v, I64 by) {
  return each_64(v, by, [](__m128i all, __m128i amount) { return _mm_sll_epi64(all, amount); });
}
inline I32 shift_down(I32 v, I32 by) {
  return each_32(v, by, [](__m128i all, __m128i amount) { return _mm_sra_epi32(all, amount); });
}
inline I32 shift_down_logical(I32 v, I32 by) {
  return each_32(v, by, [](__m128i all, __m128i amount) { return _mm_srl_epi32(all, amount); });
}
inline I64 shift_down_logical(I64 v, I64 by) {
  return each_64(v, by, [](__m128i all, __m128i amount) { return _mm_srl_epi64(all, amount); });
}
/// Moved by 2^63 no value is negative, and its shift needs no sign.
inline I64 shift_down(I64 v, I64 by) {
  const I64 offset(std::int64_t{-1} << 63);
  return shift_down_logical(v ^ offset, by) - shift_down_logical(offset, by);
}
inline I64 multiply_low_halves(I64 a, I64 b) { return _mm_mul_epi32(a, b); }
inline I64 multiply_low_halves_unsigned(I64 a, I64 b) { return _mm_mul_epu32(a, b); }

inline I64 looked_up(const std::int64_t* list, I64 place) {
  return _mm_set_epi64x(list[_mm_extract_epi64(place, 1)], list[_mm_cvtsi128_si64(place)]);
}
/// The bytes of 16 words, the lowest of all first. A place counts modulo 16.
struct Words16 {
  static constexpr std::size_t together = 1;
  __m128i bytes[4];
  static Words16 load(const std::int32_t* list) {
    __m128i words[4];
    for (int i = 0; i < 4; ++i) {
      const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(list) + i);
      words[i] = _mm_shuffle_epi8(four, _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    }
    const __m128i low[] = {_mm_unpacklo_epi32(words[0], words[1]), _mm_unpacklo_epi32(words[2], words[3])};
    const __m128i high[] = {_mm_unpackhi_epi32(words[0], words[1]), _mm_unpackhi_epi32(words[2], words[3])};
    return {{_mm_unpacklo_epi64(low[0], low[1]), _mm_unpackhi_epi64(low[0], low[1]), _mm_unpacklo_epi64(high[0], high[1]),
             _mm_unpackhi_epi64(high[0], high[1])}};
  }
};
inline I32 looked_up(Words16 words, I32 place) {
  const __m128i lowest = (place & I32(15)) | I32(static_cast<std::int32_t>(0x80808000));  // of every other byte's place the result is 0
  const auto at = [&](int byte) { return _mm_slli_epi32(_mm_shuffle_epi8(words.bytes[byte], lowest), 8 * byte); };
  return _mm_or_si128(_mm_or_si128(at(0), at(1)), _mm_or_si128(at(2), at(3)));
}
inline I32 looked_up_below_8(Words16 words, I32 place) { return looked_up(words, place); }

inline constexpr bool fuses_floats = false;
inline F32 fused(F32 a, F32 b, F32 c) {
  float values[3][4];
  a.store_unaligned(values[0]), b.store_unaligned(values[1]), c.store_unaligned(values[2]);
  for (int i = 0; i < 4; ++i) values[0][i] = __builtin_fmaf(values[0][i], values[1][i], values[2][i]);
  return F32::load_unaligned(values[0]);
}

inline void store_as(I32 v, std::int8_t* at) {
  const __m128i bytes = _mm_shuffle_epi8(v, _mm_setr_epi8(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12));
  const std::int32_t four = _mm_cvtsi128_si32(bytes);
  __builtin_memcpy(at, &four, sizeof four);
}

#include "engine/kernels/finish_steps.inc"

#include "engine/kernels/float_codes.inc"

}  // namespace

void finish(const FinishPlan& plan, const FinishWork& work) { run_plan(plan, work); }
const FloatCodeKernels float_codes{sum_in_float, product_in_float, codes_from_float};

}  // namespace lastbit::kernels::sse42
