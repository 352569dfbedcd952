// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rows of data times rows of weights, both in codes by blocks of 32 with a scale each: integer sums of a block, then sums in float32.
//
// Contract, for every row of data and every row of weights, each step in float32:
//   1. blocks go to the `sums` in turn, as long as there is one for each; a sum has `lanes`, to which the products of a block go: `terms` side by side to
//      the first, the next ones to the second, behind the last to the first again. i = Σ q * (w - z) of a lane, exact: below 2^21;
//   2. lane = lane + float(i) and the block's scales dx of the data and dw of the weights multiplied as `product` says:
//      float(i) * float(dx * dw), float(float(i) * dx) * dw, or float(float(i) * dw) * dx; the last product and the sum are each rounded, or fused;
//      every lane begins with 0;
//   3. lanes and sums are added as `lane_order` and `lane_join` say; sums one after the other;
//   4. blocks that are left are added to that, one after the other, as step 2 has it: one lane, multiplied as `rest_product` and added as `rest_addition` say.
// Shapes: codes [..., blocks, 32] and scales [..., blocks] of the data, codes [outputs, blocks, 32] and scales [outputs, blocks] of the weights;
//   output [..., outputs]. Units: data and weights stand for scale * (code - z); the data are q8_0, z = 0; the output is a real value.
// Errors: shape_mismatch; unsupported_operation where the device lacks the format of the weights.
// Source: ggml d99724f2, src/ggml-cpu/quants.c ggml_vec_dot_q8_0_q8_0_generic, ggml_vec_dot_q4_0_q8_0_generic; arch/x86/quants.c, arch/arm/quants.c.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lastbit/backend.hpp"
#include "lastbit/block_format.hpp"

namespace lastbit {

inline constexpr std::size_t most_block_sums = 8, most_block_lanes = static_cast<std::size_t>(block_length);

/// Step 2: the sum and one more product.
[[nodiscard]] inline float with_block(BlockAddition addition, DynamicProduct product, float sum, std::int32_t integer, float data_scale,
                                      float weight_scale) noexcept {
  const auto acc = static_cast<float>(integer);
  const bool scales_first = product == DynamicProduct::scales_first, data_first = product == DynamicProduct::input_scale_first;
  const float a = scales_first ? acc : data_first ? acc * data_scale : acc * weight_scale;
  const float b = scales_first ? data_scale * weight_scale : data_first ? weight_scale : data_scale;
  if (addition == BlockAddition::fused) return std::fma(a, b, sum);
  const float rounded = a * b;
  return sum + rounded;
}

/// Step 3 of one sum; the lanes are overwritten.
[[nodiscard]] inline float sum_of_lanes(LaneOrder order, std::span<float> lanes) noexcept {
  if (order == LaneOrder::sequential) {
    for (std::size_t i = 1; i < lanes.size(); ++i) lanes[0] += lanes[i];
    return lanes[0];
  }
  for (std::size_t count = lanes.size(); count > 1; count = (count + 1) / 2) {
    const std::size_t half = (count + 1) / 2;
    for (std::size_t i = 0; i < count / 2; ++i)
      lanes[i] = order == LaneOrder::halves ? lanes[i] + lanes[i + half] : lanes[2 * i] + lanes[2 * i + 1];
    if (order == LaneOrder::pairwise && count % 2 != 0) lanes[half - 1] = lanes[count - 1];
  }
  return lanes[0];
}

/// A row in blocks.
template <class Code>
struct BlockRow {
  const Code* codes;
  const float* scales;
};

/// One output.
template <class Code>
class BlockDot {
 public:
  BlockDot(const BlockMatmulArithmetic& rule, std::int64_t zero_point) noexcept
      : rule_(rule), zero_point_(static_cast<std::int32_t>(zero_point)) {}

  [[nodiscard]] float operator()(BlockRow<std::int8_t> data, BlockRow<Code> weights, std::size_t blocks) const noexcept {
    const std::size_t lanes = rule_.lanes, in_turn = blocks - blocks % rule_.sums;
    std::array<float, most_block_sums * most_block_lanes> all{};
    for (std::size_t b = 0; b < in_turn; ++b) {
      const auto integers = integers_of(data, weights, b, lanes);
      float* const sum = all.data() + b % rule_.sums * lanes;
      for (std::size_t l = 0; l < lanes; ++l)
        sum[l] = with_block(rule_.addition, rule_.product, sum[l], integers[l], data.scales[b], weights.scales[b]);
    }
    float total = joined({all.data(), rule_.sums * lanes});
    for (std::size_t b = in_turn; b < blocks; ++b)
      total = with_block(rule_.rest_addition, rule_.rest_product, total, integers_of(data, weights, b, 1)[0], data.scales[b],
                         weights.scales[b]);
    return total;
  }

 private:
  using Integers = std::array<std::int32_t, most_block_lanes>;

  [[nodiscard]] Integers integers_of(BlockRow<std::int8_t> data, BlockRow<Code> weights, std::size_t block,
                                     std::size_t lanes) const noexcept {
    constexpr auto length = static_cast<std::size_t>(block_length);
    const std::int8_t* const q = data.codes + block * length;
    const Code* const w = weights.codes + block * length;
    const std::size_t terms = lanes == 1 ? length : rule_.terms;
    Integers sums{};
    for (std::size_t first = 0, lane = 0; first < length; first += terms, lane = (lane + 1) % lanes) {
      std::int32_t sum = 0;
      for (std::size_t i = first; i < std::min(first + terms, length); ++i) sum += q[i] * (w[i] - zero_point_);
      sums[lane] += sum;
    }
    return sums;
  }

  [[nodiscard]] float joined(std::span<float> all) const noexcept {
    const std::size_t lanes = rule_.lanes;
    if (rule_.lane_join == LaneJoin::across_sums) {
      for (std::size_t i = lanes; i < all.size(); ++i) all[i % lanes] += all[i];
      return sum_of_lanes(rule_.lane_order, all.first(lanes));
    }
    float total = sum_of_lanes(rule_.lane_order, all.first(lanes));
    for (std::size_t at = lanes; at < all.size(); at += lanes) total += sum_of_lanes(rule_.lane_order, all.subspan(at, lanes));
    return total;
  }

  BlockMatmulArithmetic rule_;
  std::int32_t zero_point_;
};

}  // namespace lastbit
