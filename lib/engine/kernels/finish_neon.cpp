// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Compiled for 64-bit Arm.
#include <arm_neon.h>

#include <type_traits>
#include <utility>
#include <xsimd/xsimd.hpp>

#include "engine/kernels/finish.hpp"
#include "engine/kernels/half.hpp"
#include "engine/kernels/lines.hpp"

namespace lastbit::kernels::neon {
namespace {

using Arch = xsimd::neon64;

#include "engine/kernels/lanes.inc"

inline I32 shift_up(I32 v, I32 by) { return vshlq_s32(v, by); }
inline I64 shift_up(I64 v, I64 by) { return vshlq_s64(v, by); }
inline I32 shift_down(I32 v, I32 by) { return vshlq_s32(v, vnegq_s32(by)); }
inline I64 shift_down(I64 v, I64 by) { return vshlq_s64(v, vnegq_s64(by)); }
inline I32 shift_down_logical(I32 v, I32 by) { return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(v), vnegq_s32(by))); }
inline I64 shift_down_logical(I64 v, I64 by) { return vreinterpretq_s64_u64(vshlq_u64(vreinterpretq_u64_s64(v), vnegq_s64(by))); }
inline I64 multiply_low_halves(I64 a, I64 b) { return vmull_s32(vmovn_s64(a), vmovn_s64(b)); }
inline I64 multiply_low_halves_unsigned(I64 a, I64 b) {
  return vreinterpretq_s64_u64(vmull_u32(vmovn_u64(vreinterpretq_u64_s64(a)), vmovn_u64(vreinterpretq_u64_s64(b))));
}
inline constexpr bool fuses_floats = true;
inline F32 fused(F32 a, F32 b, F32 c) { return vfmaq_f32(c, a, b); }
inline F32 divided(F32 a, F32 b) { return vdivq_f32(a, b); }  // xsimd 8.1 multiplies by an approximate reciprocal

inline I64 looked_up(const std::int64_t* list, I64 place) {
  return vcombine_s64(vld1_s64(list + vgetq_lane_s64(place, 0)), vld1_s64(list + vgetq_lane_s64(place, 1)));
}
/// A place counts modulo 16.
struct Words16 {
  static constexpr std::size_t together = 4;  ///< vectors whose searches are on their way at one time
  uint8x16x4_t bytes;
  static Words16 load(const std::int32_t* list) { return {vld1q_u8_x4(reinterpret_cast<const std::uint8_t*>(list))}; }
};
inline I32 looked_up(Words16 words, I32 place) {
  const I32 bytes = (place & I32(15)) * I32(0x04040404) + I32(0x03020100);
  return vreinterpretq_s32_u8(vqtbl4q_u8(words.bytes, vreinterpretq_u8_s32(bytes)));
}
inline I32 looked_up_below_8(Words16 words, I32 place) { return looked_up(words, place); }

/// Its least and greatest of a NaN and a number are NaN; here they are b, as everywhere.
inline F32 smaller(F32 a, F32 b) { return xsimd::select(a < b, a, b); }
inline F64 smaller(F64 a, F64 b) { return xsimd::select(a < b, a, b); }
inline F32 larger(F32 a, F32 b) { return xsimd::select(a > b, a, b); }
inline F64 larger(F64 a, F64 b) { return xsimd::select(a > b, a, b); }
inline F32 nearest_even(F32 v) { return vrndnq_f32(v); }
inline F64 nearest_even(F64 v) { return vrndnq_f64(v); }
inline F32 truncated(F32 v) { return vrndq_f32(v); }
inline F64 truncated(F64 v) { return vrndq_f64(v); }

inline void store_as(I32 v, std::int8_t* at) {
  const int16x4_t words = vmovn_s32(v);
  const std::int32_t four = vget_lane_s32(vreinterpret_s32_s8(vmovn_s16(vcombine_s16(words, words))), 0);
  __builtin_memcpy(at, &four, sizeof four);
}

using HalfPatterns = float16x4_t;
inline F32 floats_of(HalfPatterns v) { return vcvt_f32_f16(v); }
inline HalfPatterns halves_of(F32 v) { return vcvt_f16_f32(v); }

#include "engine/kernels/finish_steps.inc"

#include "engine/kernels/float_codes.inc"

#include "engine/kernels/half.inc"

#include "engine/kernels/lines.inc"
inline I32 nearest_integer(F32 v) { return vcvtnq_s32_f32(v); }

}  // namespace

void finish(const FinishPlan& plan, const FinishWork& work) { run_plan(plan, work); }
void line_outputs(const LineBlock& block) { run_block(block); }
std::size_t pair_outputs(const PairBlock& block) { return run_pairs(block); }
const FloatCodeKernels float_codes{sum_in_float, product_in_float, codes_from_float};
const HalfKernels half{F32::size, combine, from_float, to_float};

}  // namespace lastbit::kernels::neon
