// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The block formats of ggml, on which llama.cpp runs: its portable C code, and its vectors for x86-64 with AVX2 and for 64-bit Arm with NEON.
// Evidence: docs/backends/ggml.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace ggml {

/// quantize_row_q8_0_ref: roundf(x * id), id = 1 / d, d = max|x| / 127.
inline constexpr BlockQuantizeArithmetic row_q8_0{.scale = BlockScale::largest_magnitude,
                                                  .stored = Rounding::half_even,
                                                  .division = BlockDivision::by_inverse,
                                                  .offset = BlockOffset::nothing,
                                                  .rounding = Rounding::half_away};

/// quantize_row_q4_0_ref: MIN(15, (int8_t)(x * id + 8.5f)), id = 1 / d, d = max / -8.
inline constexpr BlockQuantizeArithmetic row_q4_0{.scale = BlockScale::signed_largest,
                                                  .stored = Rounding::half_even,
                                                  .division = BlockDivision::by_inverse,
                                                  .offset = BlockOffset::zero_point_and_half,
                                                  .rounding = Rounding::toward_zero};

/// ggml_vec_dot_..._generic: one float, block by block.
[[nodiscard]] constexpr BlockMatmulArithmetic in_order(DynamicProduct product) {
  return {.method = BlockMatmulMethod::in_float32, .product = product, .addition = BlockAddition::product_rounded, .sums = 1, .lanes = 1};
}

/// One register of eight floats, each of four products side by side; hsum_float_8.
inline constexpr BlockMatmulArithmetic by_avx2{.method = BlockMatmulMethod::in_float32,
                                               .product = DynamicProduct::scales_first,
                                               .addition = BlockAddition::fused,
                                               .sums = 1,
                                               .lanes = 8,
                                               .terms = 4,
                                               .lane_order = LaneOrder::halves};

/// Two registers of four floats, for every other block, each of twice four products side by side; vaddvq_f32. The last of an odd number of blocks as in
/// portable code, which compilers fuse; gcc leaves the intrinsic vmlaq_n_f32 a product and a sum.
[[nodiscard]] constexpr BlockMatmulArithmetic by_neon(DynamicProduct rest) {
  return {.method = BlockMatmulMethod::in_float32,
          .product = DynamicProduct::scales_first,
          .addition = BlockAddition::product_rounded,
          .sums = 2,
          .rest_product = rest,
          .rest_addition = BlockAddition::fused,
          .lanes = 4,
          .terms = 4,
          .lane_order = LaneOrder::pairwise,
          .lane_join = LaneJoin::within_sums};
}

}  // namespace ggml

inline constexpr Backend ggml_portable{
    .block_quantize = {.q8_0 = ggml::row_q8_0, .q4_0 = ggml::row_q4_0},
    .block_matmul = {.q8_0 = ggml::in_order(DynamicProduct::scales_first), .q4_0 = ggml::in_order(DynamicProduct::weight_scale_first)}};

/// quantize_row_q8_0: _mm256_round_ps(x * id), id = 127 / max|x|. Codes of q4_0, which weights alone have, are made by portable code.
inline constexpr Backend ggml_avx2 = [] {
  Backend backend = ggml_portable;
  backend.block_quantize.q8_0.division = BlockDivision::by_steps;
  backend.block_quantize.q8_0.rounding = Rounding::half_even;
  backend.block_matmul = {.q8_0 = ggml::by_avx2, .q4_0 = ggml::by_avx2};
  return backend;
}();

/// quantize_row_q8_0: vcvtnq_s32_f32(x * id), id = 1 / d. Compilers fuse what portable code multiplies and adds.
inline constexpr Backend ggml_neon = [] {
  Backend backend = ggml_portable;
  backend.block_quantize.q8_0.rounding = Rounding::half_even;
  backend.block_quantize.q4_0.offset = BlockOffset::fused_zero_point_and_half;
  backend.block_matmul = {.q8_0 = ggml::by_neon(DynamicProduct::scales_first), .q4_0 = ggml::by_neon(DynamicProduct::weight_scale_first)};
  return backend;
}();

}  // namespace lastbit
