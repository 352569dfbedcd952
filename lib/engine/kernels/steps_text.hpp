// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// StepTile over vectors of 64-bit sums: any rule, counted or not. As products_text.hpp, behind
//   Wide  { Vector; count; load, load_words (sign extended), broadcast, store, multiply (of values within 32 bits), add, subtract,
//           bitwise_and, smaller, larger, add_differing(counts, a, b): counts + 1 where a != b }

struct WideBounds {
  typename Wide::Vector lower, upper, mask;
  bool saturates;
};

LASTBIT_TARGET inline typename Wide::Vector narrowed(typename Wide::Vector v, const WideBounds& bounds) {
  if (bounds.saturates) return Wide::smaller(Wide::larger(v, bounds.lower), bounds.upper);
  return Wide::add(Wide::bitwise_and(Wide::subtract(v, bounds.lower), bounds.mask), bounds.lower);
}

inline constexpr std::size_t wide_pixels = 4;

template <bool counts, std::size_t pixels>
LASTBIT_TARGET void wide_block(const StepTile& tile, std::size_t first_pixel, std::size_t c) {
  const WideBounds bounds{Wide::broadcast(tile.lower), Wide::broadcast(tile.upper), Wide::broadcast(tile.upper - tile.lower),
                          tile.saturates};
  typename Wide::Vector sums[pixels], outside[pixels];
  LASTBIT_UNROLL
  for (std::size_t p = 0; p < pixels; ++p) {
    sums[p] = Wide::load(tile.start + c);
    outside[p] = Wide::broadcast(0);
  }
  std::size_t left = tile.period;
  const std::int16_t* weights = tile.weights + c;
  for (std::size_t r = 0; r < tile.run_count; ++r) {
    for (std::size_t i = 0; i < tile.length; ++i, weights += tile.row) {
      const auto w = Wide::load_words(weights);
      const bool settles = --left == 0;
      if (settles) left = tile.period;
      LASTBIT_UNROLL
      for (std::size_t p = 0; p < pixels; ++p) {
        const std::int16_t x = tile.pixels[first_pixel + p][tile.runs[r] + static_cast<std::ptrdiff_t>(i)];
        sums[p] = Wide::add(sums[p], Wide::multiply(Wide::broadcast(x), w));
        if (!settles) continue;
        const auto exact = sums[p];
        sums[p] = narrowed(exact, bounds);
        if constexpr (counts) outside[p] = Wide::add_differing(outside[p], exact, sums[p]);
      }
    }
  }
  LASTBIT_UNROLL
  for (std::size_t p = 0; p < pixels; ++p) {
    const std::size_t at = (first_pixel + p) * tile.row + c;
    const auto exact = sums[p];
    sums[p] = narrowed(exact, bounds);  // changes nothing where the last term has settled
    if constexpr (counts) Wide::store(tile.outside + at, Wide::add_differing(outside[p], exact, sums[p]));
    Wide::store(tile.sums + at, sums[p]);
  }
}

using StepBlock = void (*)(const StepTile&, std::size_t, std::size_t);
template <bool counts, class Pixels>
struct WideBlocks;
template <bool counts, std::size_t... pixels>
struct WideBlocks<counts, std::index_sequence<pixels...>> {
  static constexpr StepBlock table[] = {wide_block<counts, pixels + 1>...};
};
LASTBIT_TARGET inline void each_step_block(const StepTile& tile, const StepBlock* table, std::size_t most, std::size_t channels) {
  for (std::size_t c = 0; c < tile.channels; c += channels) {
    const std::size_t blocks = (tile.pixel_count + most - 1) / most;
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t first = tile.pixel_count * b / blocks, last = tile.pixel_count * (b + 1) / blocks;
      table[last - first - 1](tile, first, c);
    }
  }
}

LASTBIT_TARGET inline void wide_steps(const StepTile& tile) {
  using Pixels = std::make_index_sequence<wide_pixels>;
  each_step_block(tile, tile.outside == nullptr ? WideBlocks<false, Pixels>::table : WideBlocks<true, Pixels>::table, wide_pixels,
                  Wide::count);
}
