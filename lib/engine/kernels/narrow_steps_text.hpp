// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// StepTile over vectors of 32-bit sums, where they saturate after every term and are not counted. Behind what steps_text.hpp needs, and
//   Narrow        { Vector; count; pixels; load_words (zero extended), load_pair (32 bits for every lane), broadcast, from_wide, store_wide }
//   Bounded       { add(sum, x, w, lower, upper) }: x . w, where the second words of w are 0, added and brought between the bounds
//   Saturating32  the same where the bounds are those of 32 bits

#include "engine/kernels/steps_text.hpp"

template <class Step, std::size_t pixels>
LASTBIT_TARGET void narrow_block(const StepTile& tile, std::size_t first_pixel, std::size_t c) {
  constexpr std::size_t vectors = 2;
  const auto lower = Narrow::broadcast(static_cast<std::int32_t>(tile.lower)),
             upper = Narrow::broadcast(static_cast<std::int32_t>(tile.upper));
  typename Narrow::Vector sums[pixels][vectors];
  LASTBIT_UNROLL
  for (std::size_t p = 0; p < pixels; ++p) {
    LASTBIT_UNROLL
    for (std::size_t v = 0; v < vectors; ++v) sums[p][v] = Narrow::from_wide(tile.start + c + v * Narrow::count);
  }
  const std::int16_t* weights = tile.weights + c;
  for (std::size_t r = 0; r < tile.run_count; ++r) {
    const std::int16_t* at[pixels];
    LASTBIT_UNROLL
    for (std::size_t p = 0; p < pixels; ++p) at[p] = tile.pixels[first_pixel + p] + tile.runs[r];
    for (std::size_t i = 0; i < tile.length; ++i, weights += tile.row) {
      typename Narrow::Vector w[vectors];
      LASTBIT_UNROLL
      for (std::size_t v = 0; v < vectors; ++v) w[v] = Narrow::load_words(weights + v * Narrow::count);
      LASTBIT_UNROLL
      for (std::size_t p = 0; p < pixels; ++p) {
        const auto x = Narrow::load_pair(at[p] + i);
        LASTBIT_UNROLL
        for (std::size_t v = 0; v < vectors; ++v) sums[p][v] = Step::add(sums[p][v], x, w[v], lower, upper);
      }
    }
  }
  LASTBIT_UNROLL
  for (std::size_t p = 0; p < pixels; ++p) {
    LASTBIT_UNROLL
    for (std::size_t v = 0; v < vectors; ++v)
      Narrow::store_wide(tile.sums + (first_pixel + p) * tile.row + c + v * Narrow::count, sums[p][v]);
  }
}

template <class Step, class Pixels>
struct NarrowBlocks;
template <class Step, std::size_t... pixels>
struct NarrowBlocks<Step, std::index_sequence<pixels...>> {
  static constexpr StepBlock table[] = {narrow_block<Step, pixels + 1>...};
};

template <class Step>
LASTBIT_TARGET void narrow_steps(const StepTile& tile) {
  each_step_block(tile, NarrowBlocks<Step, std::make_index_sequence<Narrow::pixels>>::table, Narrow::pixels, 2 * Narrow::count);
}

/// One dot product of the path after the other, with as little between them as the width allows.
LASTBIT_TARGET inline void any_steps(const StepTile& tile) {
  constexpr std::int64_t largest_31_bits = (std::int64_t{1} << 30) - 1;  // to which any product can be added in 32 bits
  constexpr std::int64_t largest_32_bits = (std::int64_t{1} << 31) - 1;
  const bool is_narrow = tile.saturates && tile.period == 1 && tile.outside == nullptr;
  if (is_narrow && tile.upper <= largest_31_bits) return narrow_steps<Bounded>(tile);
  if (is_narrow && tile.upper == largest_32_bits) return narrow_steps<Saturating32>(tile);
  wide_steps(tile);
}
