// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sums in the device's order, for outputs that no proof covers.
#include <algorithm>
#include <utility>

#include "engine/ops/convolution_run.hpp"
#include "lastbit/op/transposed_conv2d.hpp"

namespace lastbit {
bool ConvolutionRun::has_step_kernel() const {
  if (layer_.step_weights_.empty() || !layer_.multipliers_.empty()) return false;
  if (rule().when == NarrowingPoint::every_add) return rule().overflow != Overflow::exact;
  return rule().overflow != Overflow::exact && rule().when == NarrowingPoint::every_tile &&
         layer_.arithmetic_.bias == BiasAt::accumulator_start && !layer_.geometry_.has_padding();
}

void ConvolutionRun::step_tile(const Tile& tile, const std::vector<char>& wanted) const {
  if (!has_step_kernel()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] != 0) step_reference(tile, tile.first + i);
    }
    return;
  }
  const bool tiled = rule().when == NarrowingPoint::every_tile;
  // Pixels that the device treats together narrow after equally many terms.
  for (std::size_t together = 1; together <= (tiled ? largest_group : 1); ++together) {
    std::vector<std::size_t> chosen;
    for (std::size_t p = 0; p < tile.pixels; ++p) {
      const std::int64_t column = tile.area.first_column + (tile.first_pixel + static_cast<std::int64_t>(p)) % tile.area.columns();
      const auto from = wanted.begin() + static_cast<std::ptrdiff_t>(p * channels_);
      const bool asked = std::any_of(from, from + static_cast<std::ptrdiff_t>(channels_), [](char one) { return one != 0; });
      if (asked && (!tiled || layer_.shape_.group_at(column) == together)) chosen.push_back(p);
    }
    if (chosen.empty()) continue;
    const std::size_t period = tiled ? rule().tile(together) : 1;
    if (has_tile_products(period)) step_tiles(tile, chosen, wanted, period);
    else {
      for (std::size_t group = 0; group < size_from(layer_.shape_.groups); ++group) step_group(tile, chosen, group, wanted, period);
    }
  }
}

/// Tiles that end between two groups, and are long enough to be multiplied by themselves.
bool ConvolutionRun::has_tile_products(std::size_t period) const {
  constexpr std::size_t shortest = 16;
  return rule().when == NarrowingPoint::every_tile && period >= shortest && period % 2 == 0 && layer_.words_.runs.length % 2 == 0 &&
         !layer_.cuts_.empty();
}

/// As step_group, for tiles: within one the order is free.
void ConvolutionRun::step_tiles(const Tile& tile, const std::vector<std::size_t>& chosen, const std::vector<char>& wanted,
                                std::size_t period) const {
  const std::size_t groups = layer_.words_.runs.runs.size() * layer_.words_.groups, count = chosen.size() * channels_;
  const std::vector<std::int64_t> before = std::move(tile.work.wide);
  tile.work.windows.clear();
  for (const std::size_t p : chosen) tile.work.windows.push_back(tile.work.band.window(tile.first_pixel + static_cast<std::int64_t>(p)));
  tile.work.wide.resize(count);
  tile.work.step_outside.assign(count, 0);
  const auto output_of = [&](std::size_t i) { return chosen[i / channels_] * channels_ + i % channels_; };
  const auto settle = [&](std::size_t i, std::int64_t exact) { tile.work.wide[i] = settled(exact, tile.work.step_outside[i]); };
  for (std::size_t i = 0; i < count; ++i) settle(i, bias_of(tile.first + output_of(i)));
  for (std::size_t g = 0; g < groups; g += period / 2) {
    add_products(g, std::min(groups, g + period / 2), chosen.size(), tile.work);
    for (std::size_t i = 0; i < count; ++i) settle(i, tile.work.wide[i]);
  }
  std::vector<std::int64_t> sums = std::exchange(tile.work.wide, before);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t output = output_of(i);
    if (wanted[output] == 0) continue;
    tile.work.wide[output] = sums[i];
    tile.tally.events.accumulator_overflows += tile.work.step_outside[i];
    ++tile.tally.routes.step_by_step;
  }
}

void ConvolutionRun::step_group(const Tile& tile, const std::vector<std::size_t>& chosen, std::size_t group,
                                const std::vector<char>& wanted, std::size_t period) const {
  const auto groups = size_from(layer_.shape_.groups);
  const std::size_t per_group = channels_ / groups, row = layer_.step_row_, taps = size_from(layer_.shape_.taps());
  const ConvRuns& runs = layer_.words_.runs;
  const bool at_start = layer_.arithmetic_.bias == BiasAt::accumulator_start;
  const bool one_bias = layer_.bias_.size() <= channels_;
  std::vector<std::ptrdiff_t> offsets;
  for (const auto& run : runs.runs)
    offsets.push_back(tile.work.band.offset(run.ky, run.kx) / 2 +
                      static_cast<std::ptrdiff_t>(group * size_from(layer_.shape_.group_channels())));
  const std::size_t at_once = one_bias ? chosen.size() : 1;  // one start for all, or one for each
  for (std::size_t begin = 0; begin < chosen.size(); begin += at_once) {
    const std::span<const std::size_t> now(chosen.data() + begin, at_once);
    tile.work.step_windows.clear();
    for (const std::size_t p : now)
      tile.work.step_windows.push_back(
          reinterpret_cast<const std::int16_t*>(tile.work.band.window(tile.first_pixel + static_cast<std::int64_t>(p))));
    tile.work.step_start.assign(row, 0);
    std::vector<std::int64_t> outside_at_start(per_group);
    for (std::size_t c = 0; at_start && c < per_group; ++c) {
      tile.work.step_start[c] = settled(bias_of(tile.first + now[0] * channels_ + group * per_group + c), outside_at_start[c]);
    }
    tile.work.step_sums.resize(now.size() * row);
    tile.work.step_outside.assign(counts_ ? now.size() * row : 0, 0);
    layer_.path_->steps({tile.work.step_windows.data(), now.size(), offsets.data(), offsets.size(), runs.length,
                         layer_.step_weights_.data() + group * taps * row, row, tile.work.step_start.data(), min_of_width(rule().bits),
                         max_of_width(rule().bits), rule().overflow == Overflow::saturate, layer_.step_products_fit_words_, period, row,
                         tile.work.step_sums.data(), counts_ ? tile.work.step_outside.data() : nullptr});
    std::int64_t outside = 0, followed = 0;
    for (std::size_t k = 0; k < now.size(); ++k) {
      const std::size_t first = now[k] * channels_ + group * per_group;
      const auto biases = biases_of(tile.first + now[k] * channels_).subspan(group * per_group, per_group);
      for (std::size_t c = 0; c < per_group; ++c) {
        if (wanted[first + c] == 0) continue;
        const std::int64_t sum = tile.work.step_sums[k * row + c];
        outside += outside_at_start[c] + (counts_ ? tile.work.step_outside[k * row + c] : 0);
        tile.work.wide[first + c] = at_start ? sum : settled(sum, biases[c], outside);
        ++followed;
      }
    }
    tile.tally.events.accumulator_overflows += outside;
    tile.tally.routes.step_by_step += followed;
  }
}

void ConvolutionRun::step_reference(const Tile& tile, std::size_t output) const {
  const ConvShape& s = layer_.shape_;
  const auto pixel = static_cast<std::int64_t>(output / channels_);
  const ConvIndex at{pixel / s.out_width / s.out_height, pixel / s.out_width % s.out_height, pixel % s.out_width,
                     static_cast<std::int64_t>(output % channels_)};
  const auto sum_of =
      layer_.direction_ == Direction::forward ? accumulate_values<std::int32_t> : accumulate_transposed_values<std::int32_t>;
  Accumulator sum = sum_of(s, at, reference_input_, layer_.weights_, layer_.bias_, rule(), layer_.arithmetic_.bias,
                           layer_.multiplier(size_from(at.o)), layer_.term_rule(size_from(at.o)));
  tile.work.wide[output - tile.first] = sum.result();
  tile.tally.events.accumulator_overflows += sum.overflow_count();
  ++tile.tally.routes.step_by_step;
}

}  // namespace lastbit
