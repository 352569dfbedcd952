// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Intel GNA, generations 0.9 to 3.1, and the vendor's own vectorised emulation of it. Sums of 64 bits saturate to 32 once per tile of the
// device's input buffer; a piecewise-linear function does all rescaling. Evidence: docs/backends/gna.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace gna {

// Terms of a tile: elements of the input buffer, divided by the number of vectors that share it.
inline constexpr TermsByGroup tile_1_2({12288, 6144, 4032, 3072, 2400, 2016, 1728, 1536});
inline constexpr TermsByGroup tile_embedded({6144, 3072, 2016, 1536, 1152, 1008, 864, 768});
inline constexpr TermsByGroup tile_3_16bit({16384, 8192, 5440, 4096, 3264, 2688, 2304, 2048});
inline constexpr TermsByGroup tile_3_8bit({32768, 16384, 10880, 8192, 6528, 5376, 4608, 4096});

[[nodiscard]] constexpr AccumulatorRule tiled(const TermsByGroup& tile) {
  return {.bits = 32, .overflow = Overflow::saturate, .when = NarrowingPoint::every_tile, .tile = tile};
}
inline constexpr AccumulatorRule saturates_once{.bits = 32, .overflow = Overflow::saturate, .when = NarrowingPoint::at_end};
inline constexpr AccumulatorRule unsaturated{.bits = 64, .overflow = Overflow::wrap, .when = NarrowingPoint::at_end};

/// Sums that leave the layer as they are.
[[nodiscard]] constexpr ConvArithmetic sums(const AccumulatorRule& accumulator, RowMultiplier multiplier = RowMultiplier::absent) {
  return {.sum = {.accumulator = accumulator, .output = {.chain = {stage::clamp()}}},
          .bias = BiasAt::accumulator_start,
          .row_multiplier = multiplier};
}

/// Of codes as they are, saturated after every addition.
[[nodiscard]] constexpr SumArithmetic running_sum(std::uint8_t bits) {
  return {.centring = Centring::nothing,
          .accumulator = {.bits = bits, .overflow = Overflow::saturate, .when = NarrowingPoint::every_add},
          .output = {.chain = {stage::clamp()}}};
}

/// 16-bit data: 16-bit weights, or 8-bit weights with a multiplier per row.
[[nodiscard]] constexpr ConvByType sums_of_16_bits(const AccumulatorRule& accumulator) {
  return {.i16_bias32 = sums(accumulator), .i16_weights8 = sums(accumulator, RowMultiplier::of_terms)};
}

[[nodiscard]] constexpr Backend generation_1_or_2(const TermsByGroup& tile) {
  const ConvByType affine = sums_of_16_bits(tiled(tile));
  return {.conv = {.i16_bias32 = sums(saturates_once)},
          .depthwise_conv = sums_of_16_bits(saturates_once),
          .fully_connected = affine,
          .recurrent = affine,
          .fused_conv = {.order = FusedOrder::pool_then_activation, .sum = unsaturated},
          .pwl = {.method = PwlMethod::shifted_segments, .output_overflow = Overflow::saturate},
          .concat = {.method = ConcatMethod::copy},
          .quantize = {.division = ScaleDivision::multiply_by_inverse,
                       .rounding = Rounding::half_away,
                       .zero_point = ZeroPointAt::after_rounding,
                       .out_of_range = OutOfRange::saturate},
          .dequantize = {.arithmetic = DequantizeProduct::f32}};
}

/// 8-bit data as well, with weights of either width; 16-bit weights make 8-bit data use the tiles of 16-bit data.
[[nodiscard]] constexpr ConvByType sums_of_both(const AccumulatorRule& of_8_bits, const AccumulatorRule& others, RowMultiplier multiplier) {
  return {.i8 = sums(of_8_bits), .i16_bias32 = sums(others), .i8_weights16 = sums(others), .i16_weights8 = sums(others, multiplier)};
}

[[nodiscard]] constexpr Backend generation_3() {
  Backend backend = generation_1_or_2(tile_3_16bit);
  backend.conv = sums_of_both(saturates_once, saturates_once, RowMultiplier::absent);
  backend.depthwise_conv = sums_of_both(saturates_once, saturates_once, RowMultiplier::of_terms);
  backend.fully_connected = sums_of_both(tiled(tile_3_8bit), tiled(tile_3_16bit), RowMultiplier::of_terms);
  backend.recurrent = backend.fully_connected;
  backend.fused_conv = {.order = FusedOrder::activation_then_pool};
  backend.sum_pool = {.order = WindowOrder::columns_outermost, .i8 = running_sum(16), .wide = running_sum(32)};
  backend.max_pool = MaxPool::largest_code;
  return backend;
}

/// The instruction sets of the vendor's emulation.
enum class Simd : std::uint8_t { sse4, avx2 };

/// The vendor's vectorised kernels on the tiles of a generation. Products of 16-bit pairs meet in 32 bits; so do whole blocks of products of
/// 16 by 8 bits, 256 vectors long, or as long as a tile where the kernel takes it for short enough. Recurrent layers were not recorded.
[[nodiscard]] constexpr Backend emulated(Backend backend, Simd simd) {
  constexpr std::uint32_t whole_tile = std::uint32_t{1} << 30;
  constexpr auto consecutive = PartialMethod::consecutive_terms;
  const bool avx2 = simd == Simd::avx2;
  const std::uint8_t vector = avx2 ? 16 : 8;
  const TermsByGroup blocks = avx2 ? TermsByGroup({4096, 4096, whole_tile, whole_tile, whole_tile, whole_tile, whole_tile, whole_tile})
                                   : TermsByGroup({2048, 2048, 2048, 2048, 2048, whole_tile, whole_tile, whole_tile});
  ConvByType& affine = backend.fully_connected;
  affine.i16_bias32.sum.accumulator.partial = {.method = consecutive, .terms = 2, .vector = vector, .tail = PartialTail::exact};
  affine.i16_weights8.sum.accumulator.partial = {.method = consecutive, .terms = blocks, .vector = vector, .tail = PartialTail::exact};
  const bool one_dimension = backend.fused_conv.order == FusedOrder::pool_then_activation;
  const PartialSums pairs =
      one_dimension
          ? PartialSums{.method = consecutive, .terms = 2, .vector = vector, .tail = avx2 ? PartialTail::one_sum : PartialTail::dropped}
          : PartialSums{.method = consecutive, .terms = 2};
  backend.conv.i16_bias32.sum.accumulator.partial = pairs;
  if (one_dimension) backend.fused_conv.sum.partial = pairs;
  backend.recurrent = {};
  return backend;
}

}  // namespace gna

inline constexpr Backend gna1 = gna::generation_1_or_2(gna::tile_1_2);
inline constexpr Backend gna1_embedded = gna::generation_1_or_2(gna::tile_embedded);
inline constexpr Backend gna2 = gna1;
inline constexpr Backend gna3_0 = gna::generation_3();
inline constexpr Backend gna3_1 = gna3_0;
inline constexpr Backend gna_software_sse4 = gna::emulated(gna3_0, gna::Simd::sse4);
inline constexpr Backend gna_software_avx2 = gna::emulated(gna3_0, gna::Simd::avx2);
inline constexpr Backend gna2_software_sse4 = gna::emulated(gna2, gna::Simd::sse4);
inline constexpr Backend gna2_software_avx2 = gna::emulated(gna2, gna::Simd::avx2);

}  // namespace lastbit
