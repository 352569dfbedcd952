// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ProductTile over vectors: one text for every path. Included inside the path's namespace, behind LASTBIT_TARGET (its instruction set, on
// every function) and
//   Lanes   { Vector; count; registers; load, broadcast of a group, zero, store, store_first }
//   a Dot   { add(sum, x, w): sum + x . w in every lane }
// Nothing of the standard library is called: what is inline there would be compiled with this path's instructions for everybody.
// No include guard: every path has its own.

/// As many pixels as fit the registers beside the weights of `vectors` vectors and one input.
template <std::size_t vectors>
inline constexpr std::size_t most_pixels = vectors == 1 ? (Lanes::registers - 4) / 2 : (Lanes::registers - vectors - 2) / vectors;

template <class Dot, std::size_t vectors, std::size_t pixels>
LASTBIT_TARGET void dense_block(const ProductTile& tile, std::size_t first_pixel, std::size_t first_vector) {
  typename Lanes::Vector sums[pixels][vectors];
  LASTBIT_UNROLL
  for (std::size_t v = 0; v < vectors; ++v) {
    const auto start = Lanes::load(tile.start + (first_vector + v) * Lanes::count);
    LASTBIT_UNROLL
    for (std::size_t p = 0; p < pixels; ++p) sums[p][v] = start;
  }
  constexpr std::size_t step = Lanes::count * group_bytes;
  const std::byte* weights = tile.weights + first_vector * tile.vector_bytes;
  for (std::size_t r = 0; r < tile.run_count; ++r) {
    const std::byte* at[pixels];
    LASTBIT_UNROLL
    for (std::size_t p = 0; p < pixels; ++p) at[p] = tile.pixels[first_pixel + p] + tile.runs[r];
    for (std::size_t g = 0; g < tile.groups; ++g, weights += step) {
      typename Lanes::Vector w[vectors];
      LASTBIT_UNROLL
      for (std::size_t v = 0; v < vectors; ++v) w[v] = Lanes::load(weights + v * tile.vector_bytes);
      LASTBIT_UNROLL
      for (std::size_t p = 0; p < pixels; ++p) {
        const auto x = Lanes::broadcast(at[p] + g * group_bytes);
        LASTBIT_UNROLL
        for (std::size_t v = 0; v < vectors; ++v) sums[p][v] = Dot::add(sums[p][v], x, w[v]);
      }
    }
  }
  LASTBIT_UNROLL
  for (std::size_t v = 0; v < vectors; ++v) {
    const std::size_t c = (first_vector + v) * Lanes::count;
    const std::size_t left = tile.channels - c;
    LASTBIT_UNROLL
    for (std::size_t p = 0; p < pixels; ++p) {
      std::int32_t* const out = tile.sums + (first_pixel + p) * tile.stride + c;
      if (left >= Lanes::count) Lanes::store(out, sums[p][v]);
      else Lanes::store_first(out, sums[p][v], left);
    }
  }
}

template <class Dot, std::size_t pixels>
LASTBIT_TARGET void depthwise_block(const ProductTile& tile, std::size_t first_pixel, std::size_t vector) {
  const std::size_t c = vector * Lanes::count;
  typename Lanes::Vector sums[pixels];
  LASTBIT_UNROLL
  for (std::size_t p = 0; p < pixels; ++p) sums[p] = Lanes::load(tile.start + c);
  constexpr std::size_t step = Lanes::count * group_bytes;
  const std::byte* weights = tile.weights + vector * tile.vector_bytes;
  for (std::size_t r = 0; r < tile.run_count; ++r, weights += step) {
    const auto w = Lanes::load(weights);
    const std::ptrdiff_t offset = tile.runs[r] + static_cast<std::ptrdiff_t>(c * group_bytes);
    LASTBIT_UNROLL
    for (std::size_t p = 0; p < pixels; ++p) sums[p] = Dot::add(sums[p], Lanes::load(tile.pixels[first_pixel + p] + offset), w);
  }
  const std::size_t left = tile.channels - c;
  LASTBIT_UNROLL
  for (std::size_t p = 0; p < pixels; ++p) {
    std::int32_t* const out = tile.sums + (first_pixel + p) * tile.stride + c;
    if (left >= Lanes::count) Lanes::store(out, sums[p]);
    else Lanes::store_first(out, sums[p], left);
  }
}

/// Blocks of 1, 2, … pixels.
using Block = void (*)(const ProductTile&, std::size_t, std::size_t);
template <class Dot, std::size_t vectors, class Pixels>
struct DenseBlocks;
template <class Dot, std::size_t vectors, std::size_t... pixels>
struct DenseBlocks<Dot, vectors, std::index_sequence<pixels...>> {
  static constexpr Block table[] = {dense_block<Dot, vectors, pixels + 1>...};
};
template <class Dot, class Pixels>
struct DepthwiseBlocks;
template <class Dot, std::size_t... pixels>
struct DepthwiseBlocks<Dot, std::index_sequence<pixels...>> {
  static constexpr Block table[] = {depthwise_block<Dot, pixels + 1>...};
};

/// All pixels of the tile in blocks of at most `most`, as equal as can be.
LASTBIT_TARGET inline void each_pixel_block(const ProductTile& tile, const Block* table, std::size_t most, std::size_t first_vector) {
  const std::size_t blocks = (tile.pixel_count + most - 1) / most;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t first = tile.pixel_count * b / blocks, last = tile.pixel_count * (b + 1) / blocks;
    table[last - first - 1](tile, first, first_vector);
  }
}

template <class Dot, std::size_t vectors>
LASTBIT_TARGET void dense_columns(const ProductTile& tile, std::size_t first_vector) {
  constexpr std::size_t most = most_pixels<vectors>;
  each_pixel_block(tile, DenseBlocks<Dot, vectors, std::make_index_sequence<most>>::table, most, first_vector);
}

/// Vectors of channels in columns of at most `Lanes::columns`, as equal as can be: the weights of a column stay near while all pixels pass.
template <class Dot>
LASTBIT_TARGET void dense(const ProductTile& tile) {
  if (tile.pixel_count == 0) return;
  const std::size_t vectors = (tile.channels + Lanes::count - 1) / Lanes::count;
  const std::size_t columns = (vectors + Lanes::columns - 1) / Lanes::columns;
  for (std::size_t k = 0; k < columns; ++k) {
    const std::size_t first = vectors * k / columns, last = vectors * (k + 1) / columns;
    switch (last - first) {
      case 1: dense_columns<Dot, 1>(tile, first); break;
      case 2: dense_columns<Dot, 2>(tile, first); break;
      default:
        if constexpr (Lanes::columns > 2) {
          if (last - first == 3) dense_columns<Dot, 3>(tile, first);
          else dense_columns<Dot, 4>(tile, first);
        }
        break;
    }
  }
}

template <class Dot>
LASTBIT_TARGET void depthwise(const ProductTile& tile) {
  if (tile.pixel_count == 0) return;
  constexpr std::size_t most = 6;
  const std::size_t vectors = (tile.channels + Lanes::count - 1) / Lanes::count;
  for (std::size_t v = 0; v < vectors; ++v) each_pixel_block(tile, DepthwiseBlocks<Dot, std::make_index_sequence<most>>::table, most, v);
}
