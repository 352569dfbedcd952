// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which route a run takes, and how its outputs are shared among areas, tiles and threads.
#include "engine/ops/convolution_run.hpp"

#include <algorithm>
#include <mutex>

#include "engine/parallel.hpp"

namespace lastbit {
namespace {

constexpr std::size_t band_bytes = 256 * 1024;          // of input rows at a time: they stay in the second-level cache
constexpr std::size_t depthwise_band_bytes = 8 * 1024;  // of those that are laid out again, four times as large
constexpr std::int64_t tile_sums = 16 * 1024;           // 32 bits each
constexpr double products_per_nanosecond = 300;         // where a layer is done in the fastest way
constexpr double nanoseconds_per_output = 0.25;
constexpr double nanoseconds_per_depthwise_output = 0.5;  // a lane has products of one output, and nothing to share

}  // namespace

OutputArea largest_area(const ConvGeometry& geometry, BandForm form) {
  const ConvShape& s = geometry.shape;
  const std::size_t most = is_depthwise(s) ? depthwise_band_bytes : band_bytes;
  if (s.batch * s.out_height == 1) {
    const std::size_t one = Band::bytes_for(geometry, 1, 1, form);
    return {0, 0, 1, 0, std::min(s.out_width, std::max<std::int64_t>(8, static_cast<std::int64_t>(most / std::max<std::size_t>(1, one))))};
  }
  const std::size_t one = Band::bytes_for(geometry, 1, s.out_width, form);
  const std::size_t next = Band::bytes_for(geometry, 2, s.out_width, form) - one;
  const std::int64_t rows = one >= most ? 1 : 1 + static_cast<std::int64_t>((most - one) / std::max<std::size_t>(1, next));
  return {0, 0, std::min(rows, s.out_height), 0, s.out_width};
}

std::int64_t tile_pixels(const ConvShape& shape) { return std::max<std::int64_t>(8, tile_sums / shape.out_channels); }

ConvolutionRun::ConvolutionRun(const Convolution& layer, const ConvInput& input, const ReceiveSums& receive, bool counts,
                               const OutputsByLines* by_lines)
    : layer_(layer),
      input_(input),
      receive_(receive),
      counts_(counts),
      channels_(size_from(layer.shape_.out_channels)),
      width_{min_of_width(layer.rule().bits), max_of_width(layer.rule().bits)},
      by_lines_(by_lines),
      no_bias_(channels_) {
  choose_route();
  allow_lines();
  const bool may_step = route_ == Route::prove_outputs || route_ == Route::step_by_step;
  if (may_step && !has_step_kernel()) {
    reference_input_.resize(input_.count);
    const auto centre = [&]<class T>() {
      const T* const values = reinterpret_cast<const T*>(input_.data);
      for (std::size_t i = 0; i < input_.count; ++i) reference_input_[i] = static_cast<std::int32_t>(values[i] - input_.zero_point);
    };
    switch (input_.type) {
      case ElementType::int8: centre.operator()<std::int8_t>(); break;
      case ElementType::uint8: centre.operator()<std::uint8_t>(); break;
      case ElementType::uint16: centre.operator()<std::uint16_t>(); break;
      default: centre.operator()<std::int16_t>(); break;
    }
  }
}

void ConvolutionRun::choose_route() {
  if (input_.type == ElementType::uint16 || !layer_.term_operands_.empty()) return;
  const bool order_free = is_order_independent(rule()) && (!counts_ || rule().when == NarrowingPoint::at_end);
  const bool modular = rule().overflow == Overflow::wrap && rule().bits <= 32;
  if (layer_.proven_by_types_) counted_as_ = &SumRoutes::proven_by_type;
  bool in_32_bits = (layer_.proven_by_types_ && layer_.accumulator_bits_ <= 32) || (order_free && modular && !counts_);
  if (!layer_.proven_by_types_ && !(order_free && in_32_bits)) {
    const IntegerRange range = centred_range(input_);
    proven_.assign(channels_, 0);
    bool all = true;
    Int128 largest = 0;
    for (std::size_t o = 0; o < channels_; ++o) {
      proven_[o] = layer_.is_proven(o, range) ? 1 : 0;
      all = all && proven_[o] != 0;
      const SumBounds bounds = layer_.with_bias(o, range);
      largest = std::max({largest, bounds.upper, -bounds.lower});
    }
    if (all) counted_as_ = &SumRoutes::proven_by_input;
    else if (!order_free) return layer_.pairs_.bytes.empty() ? prove_each_output(range) : take_pairs();
    in_32_bits = largest <= max_of_width(32);
    const bool fits_64_bits = largest <= max_of_width(62) || (rule().overflow == Overflow::wrap && !counts_);
    if (!in_32_bits && !fits_64_bits) return;
  }
  if (!in_32_bits && layer_.cuts_.empty()) return;
  if (!layer_.multipliers_.empty()) return;
  route_ = in_32_bits ? Route::narrow : Route::wide;
  const bool takes_bytes = in_32_bits && !layer_.bytes_.bytes.empty();
  form_ = takes_bytes ? BandForm::unsigned_bytes : BandForm::words;
  packed_ = takes_bytes ? &layer_.bytes_ : &layer_.words_;
  wraps_to_ = modular && !counts_ && counted_as_ == &SumRoutes::order_free ? rule().bits : 32;
  prepare_start();
}

/// From the sum of each output and that of its terms' magnitudes, which leaves out what 16 bits of a magnitude cannot say.
void ConvolutionRun::prove_each_output(const IntegerRange& range) {
  const bool has_products = rule().bits <= 32 && !layer_.magnitudes_.bytes.empty() && layer_.multipliers_.empty() &&
                            (!has_partial_sums(rule()) || (rule().partial.bits == 32 && layer_.drops_no_term()));
  if (!has_products) return;
  route_ = Route::prove_outputs;
  packed_ = &layer_.words_;
  prepare_start();
  unseen_.assign(channels_, 0);
  for (std::size_t o = 0; o < channels_; ++o) {
    if (range.min <= -32768) unseen_[o] += layer_.weight_sums_.magnitude(o);
    unseen_[o] += layer_.weight_sums_.count_of_least(o) * layer_.largest_input_;
  }
  if (has_step_kernel() && mostly_fails())
    route_ = Route::step_by_step;  // a pixel's sums are followed together: the proof would be for nothing
}

/// Of this input's codes, in the device's order.
void ConvolutionRun::take_pairs() {
  route_ = Route::pairs;
  form_ = BandForm::codes;
  packed_ = &layer_.pairs_;
  prepare_start();
  zero_terms_ = ZeroPointTerms(layer_.shape_, layer_.weights_, input_.zero_point, rule());
}

/// Modulo 2^32, like the sums: the bias, and what unsigned codes add to every product.
void ConvolutionRun::prepare_start() {
  start_ = spread_channels<std::int32_t>(*packed_, {});  // 0
  if (route_ != Route::narrow && route_ != Route::pairs) return;
  adds_bias_ = layer_.bias_.size() > channels_;
  std::vector<std::int32_t> start(channels_);
  for (std::size_t o = 0; o < channels_; ++o) {
    std::uint64_t sum = layer_.bias_.size() == channels_ ? static_cast<std::uint64_t>(layer_.bias_[o]) : 0;
    if (form_ == BandForm::unsigned_bytes) sum -= static_cast<std::uint64_t>(layer_.weight_sums_.total(o) * unsigned_zero_point(input_));
    start[o] = static_cast<std::int32_t>(narrow_wrap(static_cast<std::int64_t>(sum), 32));
  }
  start_ = spread_channels<std::int32_t>(*packed_, start);
}

/// Where the sums of a tile are what the chain would be given.
void ConvolutionRun::allow_lines() {
  const bool may_leave = rule().when == NarrowingPoint::at_end && counted_as_ == &SumRoutes::order_free;
  if (counts_ || route_ != Route::narrow || adds_bias_ || wraps_to_ < 32 || may_leave || layer_.path_->line_outputs == nullptr)
    by_lines_ = nullptr;
}

void ConvolutionRun::fill_bands(const OutputArea& area, Workspace& work) const {
  if (route_ == Route::step_by_step && !has_step_kernel()) return;
  const auto fill = [&](Band& band, BandForm form) {
    if (packed_ == nullptr || !packed_->runs.depthwise) band.fill(layer_.geometry_, input_, area, form, *layer_.path_);
    else band.fill_interleaved(layer_.geometry_, input_, area, form, *layer_.path_);
  };
  fill(work.band, form_);
  if (route_ == Route::prove_outputs) fill(work.magnitudes, BandForm::magnitudes);
}

void ConvolutionRun::run_area(const OutputArea& area, Workspace& work, Tally& tally) const {
  const ConvShape& s = layer_.shape_;
  const std::int64_t together = tile_pixels(s);
  fill_bands(area, work);
  const std::size_t area_start = size_from(((area.sample * s.out_height + area.first_row) * s.out_width + area.first_column)) * channels_;
  for (std::int64_t pixel = 0; pixel < area.pixels(); pixel += together) {
    const std::int64_t pixels = std::min(together, area.pixels() - pixel);
    if (packed_ != nullptr) set_windows(work.band, *packed_, pixel, pixels, work.windows, work.offsets);
    run_tile({area, pixel, area_start + size_from(pixel) * channels_, size_from(pixels), work, tally});
  }
}

void ConvolutionRun::run_tile(const Tile& tile) const {
  switch (route_) {
    case Route::narrow: return narrow_tile(tile);
    case Route::wide: return wide_tile(tile);
    case Route::pairs: return pairs_tile(tile);
    case Route::prove_outputs: return proven_tile(tile);
    case Route::step_by_step:
      tile.work.wide.resize(tile.pixels * channels_);
      step_tile(tile, std::vector<char>(tile.work.wide.size(), 1));
      return deliver(tile, {}, tile.work.wide);
  }
}

/// Rows of all samples, or columns where there is only one row.
void ConvolutionRun::run_part(std::int64_t first, std::int64_t last, Tally& tally) const {
  thread_local Workspace work;
  const ConvShape& s = layer_.shape_;
  const OutputArea largest = largest_area(layer_.geometry_, form_);
  if (s.batch * s.out_height == 1) {
    for (std::int64_t x = first; x < last; x += largest.columns())
      run_area({0, 0, 1, x, std::min(last, x + largest.columns())}, work, tally);
    return;
  }
  while (first < last) {
    const std::int64_t sample = first / s.out_height, y = first % s.out_height;
    const std::int64_t count = std::min({largest.last_row, last - first, s.out_height - y});
    run_area({sample, y, y + count, 0, s.out_width}, work, tally);
    first += count;
  }
}

void ConvolutionRun::operator()(Events* events, SumRoutes* routes) {
  const ConvShape& s = layer_.shape_;
  const std::int64_t rows = s.batch * s.out_height;
  const std::int64_t units = rows == 1 ? s.out_width : rows;
  const double outputs = static_cast<double>(s.out_count()) / static_cast<double>(std::max<std::int64_t>(1, units));
  const bool is_depthwise = packed_ != nullptr && packed_->runs.depthwise;
  const double per_output = is_depthwise ? nanoseconds_per_depthwise_output : nanoseconds_per_output;
  const double nanoseconds = outputs * (static_cast<double>(s.taps()) / products_per_nanosecond + per_output);
  std::mutex merging;
  for_each_part(units, units_per_part(nanoseconds), [&](std::int64_t first, std::int64_t last) {
    Tally tally;
    run_part(first, last, tally);
    const std::scoped_lock lock(merging);
    if (events != nullptr) *events += tally.events;
    if (routes != nullptr) *routes += tally.routes;
  });
}

void Convolution::for_each_tile(const ConvInput& input, const ReceiveSums& receive, Events* events, SumRoutes* routes,
                                const OutputsByLines* by_lines) const {
  ConvolutionRun(*this, input, receive, events != nullptr, by_lines)(events, routes);
}

}  // namespace lastbit
