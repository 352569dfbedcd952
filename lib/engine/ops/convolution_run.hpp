// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One run of a convolution: which route every output takes, and the tiles in which its sums are made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/ops/convolution.hpp"

namespace lastbit {

/// A size or index of a shape, which is never negative.
[[nodiscard]] constexpr std::size_t size_from(std::int64_t value) { return static_cast<std::size_t>(value); }

/// What a thread takes of a layer at a time: rows of outputs as many as the band's bytes allow, or columns where there is only one row.
[[nodiscard]] OutputArea largest_area(const ConvGeometry& geometry, BandForm form);
/// And of those, pixels whose sums are made together.
[[nodiscard]] std::int64_t tile_pixels(const ConvShape& shape);

/// What a thread needs between the input and the sums; kept from one run to the next.
struct Workspace {
  Band band, magnitudes;
  std::vector<const std::byte*> windows, magnitude_windows;
  std::vector<std::ptrdiff_t> offsets, group_offsets;
  AlignedVector<std::int32_t> narrow, part, size;
  std::vector<std::int64_t> wide;
  std::vector<const std::int16_t*> step_windows;
  std::vector<std::int64_t> step_sums, step_outside, step_start;
  std::vector<kernels::UndecidedSum> undecided;  ///< only ever grows: what it holds is not read
};

/// Groups [first_group, first_group + groups) of each of the runs [first_run, first_run + run_count).
struct GroupRange {
  std::size_t first_run = 0, run_count = 0, first_group = 0, groups = 0;
};

/// What the zero point adds to sums of products of codes, over the taps of a window that lie inside the image; less what pairs of codes in the
/// padding lose by saturating, where padding takes part (pairs then lie within a position of the kernel).
class ZeroPointTerms {
 public:
  ZeroPointTerms() = default;
  ZeroPointTerms(const ConvShape& shape, std::span<const std::int16_t> weights, std::int64_t zero_point, const AccumulatorRule& rule);
  /// One for every channel.
  [[nodiscard]] std::span<const std::int32_t> at(std::int64_t y, std::int64_t x) const {
    return std::span(terms_).subspan((rows_[size_from(y)] * column_kinds_ + columns_[size_from(x)]) * channels_, channels_);
  }

 private:
  std::size_t channels_ = 0, column_kinds_ = 0;
  std::vector<std::size_t> rows_, columns_;  ///< of which kind: those of one kind have the same taps inside
  std::vector<std::int32_t> terms_;          ///< [kinds of rows][kinds of columns][channels]
};

/// Everything about a run that its tiles share.
class ConvolutionRun {
 public:
  ConvolutionRun(const Convolution& layer, const ConvInput& input, const ReceiveSums& receive, bool counts, const OutputsByLines* by_lines);
  void operator()(Events* events, SumRoutes* routes);

 private:
  enum class Route : std::uint8_t { narrow, wide, pairs, prove_outputs, step_by_step };
  struct Tally {
    Events events;
    SumRoutes routes;
  };
  /// Some pixels of an area, one after the other.
  struct Tile {
    const OutputArea& area;
    std::int64_t first_pixel;  ///< of the area
    std::size_t first;         ///< output
    std::size_t pixels;
    Workspace& work;
    Tally& tally;
  };
  /// In place of the sums of products, the tile's outputs.
  struct MadeOutputs {
    std::int8_t* outputs;
    kernels::UndecidedSums* undecided;
  };
  void choose_route();
  void prove_each_output(const IntegerRange& range);
  void take_pairs();
  void prepare_start();
  void allow_lines();
  /// The input's rows that an area needs, as the route's kernels read them.
  void fill_bands(const OutputArea& area, Workspace& work) const;
  void run_area(const OutputArea& area, Workspace& work, Tally& tally) const;
  void run_tile(const Tile& tile) const;
  void run_part(std::int64_t first, std::int64_t last, Tally& tally) const;
  void multiply(const PackedWeights& packed, const std::byte* const* windows, std::size_t pixels, const GroupRange& segment,
                std::span<const std::int32_t> start, std::int32_t* sums, kernels::SumProducts dense, kernels::SumProducts depthwise,
                Workspace& work, const MadeOutputs* made = nullptr) const;
  static void set_windows(const Band& band, const PackedWeights& packed, std::int64_t first, std::int64_t count,
                          std::vector<const std::byte*>& windows, std::vector<std::ptrdiff_t>& offsets);
  /// To the sums of a narrow tile, modulo 2^32, where there is one per position.
  void add_bias(const Tile& tile) const;
  void narrow_tile(const Tile& tile) const;
  /// Its outputs, where lines say them.
  void lines_tile(const Tile& tile) const;
  /// Adds the products of groups [first, last), counted through all runs, to work.wide.
  void add_products(std::size_t first, std::size_t last, std::size_t pixels, Workspace& work) const;
  void wide_tile(const Tile& tile) const;
  void pairs_tile(const Tile& tile) const;
  struct BiasRoom {
    std::int64_t above = 0, below = 0, bias = 0;
  };
  [[nodiscard]] std::vector<BiasRoom> rooms_at(std::size_t first) const;
  /// By the accumulator's rule; counts a sum that leaves its width.
  [[nodiscard]] std::int64_t settled(std::int64_t exact, std::int64_t& outside) const {
    outside += exact < width_.min || exact > width_.max ? 1 : 0;
    if (rule().overflow == Overflow::saturate) return std::clamp(exact, width_.min, width_.max);
    return narrow(exact, rule().bits, rule().overflow);
  }
  [[nodiscard]] std::int64_t settled(std::int64_t sum, std::int64_t bias, std::int64_t& outside) const {
    std::int64_t exact = 0;
    if (!__builtin_add_overflow(sum, bias, &exact)) return settled(exact, outside);
    ++outside;
    return narrow(Int128{sum} + bias, rule().bits, rule().overflow);
  }
  /// One for every channel of the pixel whose first output this is.
  [[nodiscard]] std::span<const std::int64_t> biases_of(std::size_t first) const;
  /// Marks the outputs that are not proven, puts sums into work.wide, and returns how many it marked.
  std::int64_t prove_tile(const Tile& tile, std::vector<char>& wanted) const;
  /// Whether most pixels have an output that is not proven.
  [[nodiscard]] bool mostly_fails() const;
  void proven_tile(const Tile& tile) const;
  void deliver(const Tile& tile, std::span<const std::int32_t> narrow, std::span<const std::int64_t> wide) const;

  /// The sums marked in `wanted`, in the device's order, into work.wide.
  void step_tile(const Tile& tile, const std::vector<char>& wanted) const;
  [[nodiscard]] bool has_step_kernel() const;
  [[nodiscard]] bool has_tile_products(std::size_t period) const;
  void step_tiles(const Tile& tile, const std::vector<std::size_t>& chosen, const std::vector<char>& wanted, std::size_t period) const;
  void step_group(const Tile& tile, const std::vector<std::size_t>& chosen, std::size_t group, const std::vector<char>& wanted,
                  std::size_t period) const;
  void step_reference(const Tile& tile, std::size_t output) const;
  [[nodiscard]] std::int64_t bias_of(std::size_t output) const {
    const auto& bias = layer_.bias_;
    if (bias.empty()) return 0;
    return bias[bias.size() == channels_ ? output % channels_ : output % bias.size()];
  }
  [[nodiscard]] const AccumulatorRule& rule() const { return layer_.rule(); }

  const Convolution& layer_;
  const ConvInput& input_;
  const ReceiveSums& receive_;
  bool counts_;
  std::size_t channels_;
  IntegerRange width_;  ///< of the accumulator
  Route route_ = Route::step_by_step;
  BandForm form_ = BandForm::words;
  const PackedWeights* packed_ = nullptr;
  bool adds_bias_ = false;  ///< after the sums of a tile of 32 bits: there is one per position
  int wraps_to_ = 32;       ///< a narrow tile
  AlignedVector<std::int32_t> start_;
  const OutputsByLines* by_lines_;             ///< null: sums are delivered
  ZeroPointTerms zero_terms_;                  ///< of codes, which pairs take as they are
  std::vector<std::int64_t> no_bias_;          ///< one 0 for every channel
  std::vector<char> proven_;                   ///< of every channel, by this input's range
  std::vector<std::int64_t> unseen_;           ///< of every channel: what magnitudes of 2^15 hide
  std::vector<std::int32_t> reference_input_;  ///< centred, for terms that no kernel follows
  std::int64_t SumRoutes::*counted_as_ = &SumRoutes::order_free;
};

}  // namespace lastbit
