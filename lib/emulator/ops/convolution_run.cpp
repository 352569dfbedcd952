// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One run of a convolution: which route every output takes, and the tiles in which its sums are made.
#include <algorithm>
#include <mutex>
#include <optional>

#include "emulator/ops/convolution.hpp"
#include "lastbit/op/transposed_conv2d.hpp"
#include "parallel.hpp"

namespace lastbit {
namespace {

constexpr std::size_t band_bytes = 256 * 1024;       // of input rows at a time: they stay in the second-level cache
constexpr std::int64_t tile_sums = 16 * 1024;        // 32 bits each
constexpr std::int64_t grain_products = 256 * 1024;  // less is not worth another thread

/// What a thread needs between the input and the sums; kept from one run to the next.
struct Workspace {
  Band band, magnitudes;
  std::vector<const std::byte*> windows, magnitude_windows;
  std::vector<std::ptrdiff_t> offsets, group_offsets;
  std::vector<std::int32_t> narrow, part, size;
  std::vector<std::int64_t> wide;
  std::vector<const std::int16_t*> step_windows;
  std::vector<std::int64_t> step_sums, step_outside, step_start;
};

/// Groups [first_group, first_group + groups) of each of the runs [first_run, first_run + run_count).
struct GroupRange {
  std::size_t first_run = 0, run_count = 0, first_group = 0, groups = 0;
};

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace

/// Everything about a run that its tiles share.
class ConvolutionRun {
 public:
  ConvolutionRun(const Convolution& layer, const ConvInput& input, const ReceiveSums& receive, bool counts);
  void operator()(Events* events, SumRoutes* routes);

 private:
  enum class Route : std::uint8_t { narrow, wide, prove_outputs, step_by_step };
  struct Tally {
    Events events;
    SumRoutes routes;
  };
  void choose_route();
  void prepare_start();
  void run_area(const OutputArea& area, Workspace& work, Tally& tally) const;
  void run_part(std::int64_t first, std::int64_t last, Tally& tally) const;
  void multiply(const PackedWeights& packed, const std::byte* const* windows, std::size_t pixels, const GroupRange& segment,
                std::span<const std::int32_t> start, std::int32_t* sums, kernels::SumProducts dense, kernels::SumProducts channelwise,
                Workspace& work) const;
  static void set_windows(const Band& band, const PackedWeights& packed, std::int64_t first, std::int64_t count,
                          std::vector<const std::byte*>& windows, std::vector<std::ptrdiff_t>& offsets);
  void narrow_tile(std::size_t first, std::size_t pixels, Workspace& work, Tally& tally) const;
  void add_products(std::size_t first, std::size_t last, std::size_t pixels, Workspace& work) const;
  void wide_tile(std::size_t first, std::size_t pixels, Workspace& work, Tally& tally) const;
  struct BiasRoom {
    std::int64_t above = 0, below = 0, bias = 0;
  };
  [[nodiscard]] std::vector<BiasRoom> rooms_at(std::size_t first) const;
  void proven_tile(const OutputArea& area, std::int64_t first_pixel, std::size_t first, std::size_t pixels, Workspace& work,
                   Tally& tally) const;
  void step_tile(const OutputArea& area, std::int64_t first_pixel, std::size_t first, std::size_t pixels, const std::vector<char>& wanted,
                 Workspace& work, Tally& tally) const;
  [[nodiscard]] bool has_step_kernel() const;
  [[nodiscard]] bool has_tile_products(std::size_t period) const;
  void step_tiles(std::int64_t first_pixel, std::size_t first, const std::vector<std::size_t>& chosen, const std::vector<char>& wanted,
                  std::size_t period, Workspace& work, Tally& tally) const;
  void step_group(std::int64_t first_pixel, std::size_t first, const std::vector<std::size_t>& chosen, std::size_t group,
                  const std::vector<char>& wanted, std::size_t period, Workspace& work, Tally& tally) const;
  void step_reference(std::size_t output, Workspace& work, std::size_t first, Tally& tally) const;
  void deliver(std::size_t first, std::span<const std::int32_t> narrow, std::span<const std::int64_t> wide, Tally& tally) const;
  [[nodiscard]] std::int64_t bias_of(std::size_t output) const {
    const auto& bias = layer_.bias_;
    if (bias.empty()) return 0;
    return bias[bias.size() == channels_ ? output % channels_ : output % bias.size()];
  }
  [[nodiscard]] const AccumulatorRule& rule() const { return layer_.arithmetic_.accumulator; }

  const Convolution& layer_;
  const ConvInput& input_;
  const ReceiveSums& receive_;
  bool counts_;
  std::size_t channels_;
  Route route_ = Route::step_by_step;
  BandForm form_ = BandForm::words;
  const PackedWeights* packed_ = nullptr;
  bool adds_bias_ = false;  ///< after the sums of a narrow tile: there is one per position
  int wraps_to_ = 32;       ///< a narrow tile
  std::vector<std::int32_t> start_;
  std::vector<char> proven_;                   ///< of every channel, by this input's range
  std::vector<std::int64_t> unseen_;           ///< of every channel: what magnitudes of 2^15 hide
  std::vector<std::int32_t> reference_input_;  ///< centred, for terms that no kernel follows
  std::int64_t SumRoutes::*counted_as_ = &SumRoutes::order_free;
};

ConvolutionRun::ConvolutionRun(const Convolution& layer, const ConvInput& input, const ReceiveSums& receive, bool counts)
    : layer_(layer), input_(input), receive_(receive), counts_(counts), channels_(index(layer.shape_.out_channels)) {
  choose_route();
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
  if (input_.type == ElementType::uint16) return;
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
    else if (!order_free) {
      const bool has_products = rule().bits <= 32 && !layer_.magnitudes_.bytes.empty() && layer_.multipliers_.empty() &&
                                (!has_partial_sums(rule()) || layer_.drops_no_term());
      if (!has_products) return;
      route_ = Route::prove_outputs;
      packed_ = &layer_.words_;
      prepare_start();
      unseen_.assign(channels_, 0);
      const auto taps = index(layer_.shape_.taps());
      for (std::size_t o = 0; o < channels_; ++o) {
        if (range.min <= -32768) unseen_[o] += layer_.weight_sums_.magnitude(o);
        for (std::size_t t = 0; t < taps; ++t)
          if (layer_.weights_[o * taps + t] == -32768) unseen_[o] += layer_.largest_input_;
      }
      return;
    }
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

/// Modulo 2^32, like the sums: the bias, and what unsigned codes add to every product.
void ConvolutionRun::prepare_start() {
  start_ = spread_channels(*packed_, {}, layer_.path_->lanes);  // 0
  if (route_ != Route::narrow) return;
  adds_bias_ = layer_.bias_.size() > channels_;
  std::vector<std::int32_t> start(channels_);
  for (std::size_t o = 0; o < channels_; ++o) {
    std::uint64_t sum = layer_.bias_.size() == channels_ ? static_cast<std::uint64_t>(layer_.bias_[o]) : 0;
    if (form_ == BandForm::unsigned_bytes) sum -= static_cast<std::uint64_t>(layer_.weight_sums_.total(o) * unsigned_zero_point(input_));
    start[o] = static_cast<std::int32_t>(narrow_wrap(static_cast<std::int64_t>(sum), 32));
  }
  start_ = spread_channels(*packed_, start, layer_.path_->lanes);
}

void ConvolutionRun::set_windows(const Band& band, const PackedWeights& packed, std::int64_t first, std::int64_t count,
                                 std::vector<const std::byte*>& windows, std::vector<std::ptrdiff_t>& offsets) {
  windows.resize(index(count));
  offsets.clear();
  const bool channelwise = packed.runs.channelwise;
  for (std::int64_t p = 0; p < count; ++p) windows[index(p)] = channelwise ? band.interleaved_window(first + p) : band.window(first + p);
  for (const auto& run : packed.runs.runs)
    offsets.push_back(channelwise ? band.interleaved_offset(run.ky, run.kx) : band.offset(run.ky, run.kx));
}

void ConvolutionRun::multiply(const PackedWeights& packed, const std::byte* const* windows, std::size_t pixels, const GroupRange& segment,
                              std::span<const std::int32_t> start, std::int32_t* sums, kernels::SumProducts dense,
                              kernels::SumProducts channelwise, Workspace& work) const {
  const std::size_t lanes = layer_.path_->lanes;
  const std::size_t skipped = (segment.first_run * packed.groups + segment.first_group) * lanes * kernels::group_bytes;
  std::vector<std::ptrdiff_t>& offsets = work.group_offsets;
  offsets.resize(segment.run_count);
  for (std::size_t group = 0; group < packed.conv_groups; ++group) {
    const std::size_t channel_bytes = group * index(layer_.shape_.group_channels()) * bytes_of(form_);
    for (std::size_t r = 0; r < segment.run_count; ++r)
      offsets[r] =
          work.offsets[segment.first_run + r] + static_cast<std::ptrdiff_t>(channel_bytes + segment.first_group * kernels::group_bytes);
    const std::size_t vector = group * packed.group_vectors;
    const kernels::ProductTile tile{windows,
                                    pixels,
                                    offsets.data(),
                                    segment.run_count,
                                    segment.groups,
                                    packed.bytes.data() + vector * packed.vector_bytes + skipped,
                                    packed.vector_bytes,
                                    start.data() + vector * lanes,
                                    packed.group_channels,
                                    sums + group * packed.group_channels,
                                    channels_};
    (packed.runs.channelwise ? channelwise : dense)(tile);
  }
}

void ConvolutionRun::deliver(std::size_t first, std::span<const std::int32_t> narrow, std::span<const std::int64_t> wide,
                             Tally& tally) const {
  receive_({first, narrow, wide, counts_ ? &tally.events : nullptr});
}

void ConvolutionRun::narrow_tile(std::size_t first, std::size_t pixels, Workspace& work, Tally& tally) const {
  const std::size_t count = pixels * channels_;
  work.narrow.resize(count);
  const bool bytes = form_ == BandForm::unsigned_bytes;
  const kernels::Path& path = *layer_.path_;
  multiply(*packed_, work.windows.data(), pixels, {0, packed_->runs.runs.size(), 0, packed_->groups}, start_, work.narrow.data(),
           bytes ? path.dense_bytes : path.dense_words, bytes ? path.channelwise_bytes : path.channelwise_words, work);
  for (std::size_t i = 0; adds_bias_ && i < count; ++i)
    work.narrow[i] = static_cast<std::int32_t>(narrow_wrap(work.narrow[i] + bias_of(first + i), 32));
  if (wraps_to_ < 32) {
    for (std::size_t i = 0; i < count; ++i)
      work.narrow[i] = static_cast<std::int32_t>(narrow_wrap(std::int64_t{work.narrow[i]}, wraps_to_));
  }
  tally.routes.*counted_as_ += static_cast<std::int64_t>(count);
  if (rule().when == NarrowingPoint::at_end && counted_as_ == &SumRoutes::order_free) {  // 32 bits hold the sums, fewer may not
    work.wide.assign(work.narrow.begin(), work.narrow.end());
    for (std::int64_t& sum : work.wide) {
      if (fits_width(sum, rule().bits)) continue;
      ++tally.events.accumulator_overflows;
      sum = narrow(sum, rule().bits, rule().overflow);
    }
    return deliver(first, {}, work.wide, tally);
  }
  deliver(first, work.narrow, {}, tally);
}

/// Adds the products of groups [first, last), counted through all runs, to work.wide.
void ConvolutionRun::add_products(std::size_t first, std::size_t last, std::size_t pixels, Workspace& work) const {
  const std::size_t count = pixels * channels_;
  work.part.resize(count);
  const bool split = !layer_.low_.bytes.empty();
  for (const PackedWeights* const part : {split ? &layer_.low_ : &layer_.words_, split ? &layer_.high_ : nullptr}) {
    if (part == nullptr) continue;
    const std::int64_t factor = part == &layer_.high_ ? 256 : 1;
    for (std::size_t at = first, end = 0; at < last; at = end) {
      const auto cut = std::upper_bound(layer_.cuts_.begin(), layer_.cuts_.end(), at);
      end = cut == layer_.cuts_.end() ? last : std::min(last, *cut);
      const std::size_t run = at / part->groups, within = at % part->groups, whole = (end - at) / part->groups;
      GroupRange range{run, 1, within, std::min(end - at, part->groups - within)};
      if (within == 0 && whole > 0) range = {run, whole, 0, part->groups};
      end = at + range.run_count * range.groups;
      multiply(*part, work.windows.data(), pixels, range, start_, work.part.data(), layer_.path_->dense_words,
               layer_.path_->channelwise_words, work);
      for (std::size_t i = 0; i < count; ++i) work.wide[i] += factor * work.part[i];
    }
  }
}

void ConvolutionRun::wide_tile(std::size_t first, std::size_t pixels, Workspace& work, Tally& tally) const {
  const std::size_t count = pixels * channels_;
  work.wide.assign(count, 0);
  add_products(0, packed_->runs.runs.size() * packed_->groups, pixels, work);
  const bool narrows = counted_as_ == &SumRoutes::order_free && rule().overflow != Overflow::exact;
  for (std::size_t i = 0; i < count; ++i) {
    const auto sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(work.wide[i]) + static_cast<std::uint64_t>(bias_of(first + i)));
    work.wide[i] = sum;
    if (counted_as_ != &SumRoutes::order_free || fits_width(sum, rule().bits)) continue;
    ++tally.events.accumulator_overflows;
    if (narrows) work.wide[i] = narrow(sum, rule().bits, rule().overflow);
  }
  tally.routes.*counted_as_ += static_cast<std::int64_t>(count);
  deliver(first, {}, work.wide, tally);
}

/// How far the sums of one pixel's terms may go on each side of their bias, channel by channel; less than 0 where the bias is outside itself.
std::vector<ConvolutionRun::BiasRoom> ConvolutionRun::rooms_at(std::size_t first) const {
  std::vector<BiasRoom> rooms(channels_);
  for (std::size_t c = 0; c < channels_; ++c) {
    const std::int64_t bias = bias_of(first + c);
    rooms[c] = {narrow_saturate(Int128{max_of_width(rule().bits)} - std::max<std::int64_t>(bias, 0), 64),
                narrow_saturate(std::min<Int128>(bias, 0) - min_of_width(rule().bits), 64), bias};
  }
  return rooms;
}

// With S the sum of all terms and A that of their magnitudes, the positive ones add up to (A + S) / 2 and the negative ones to (S - A) / 2:
// between those lies every partial sum. A stops at 2^31 - 1, where nothing is proven; below it S is exact modulo 2^32.
void ConvolutionRun::proven_tile(const OutputArea& area, std::int64_t first_pixel, std::size_t first, std::size_t pixels, Workspace& work,
                                 Tally& tally) const {
  const std::size_t count = pixels * channels_;
  work.narrow.resize(count);
  work.size.resize(count);
  const GroupRange whole{0, packed_->runs.runs.size(), 0, packed_->groups};
  const kernels::Path& path = *layer_.path_;
  multiply(*packed_, work.windows.data(), pixels, whole, start_, work.narrow.data(), path.dense_words, path.channelwise_words, work);
  multiply(layer_.magnitudes_, work.magnitude_windows.data(), pixels, whole, start_, work.size.data(), path.dense_magnitudes,
           path.channelwise_magnitudes, work);
  std::vector<char> wanted(count, 0);
  std::int64_t failing = 0, by_input = 0;
  work.wide.resize(count);
  const bool one_bias = layer_.bias_.size() <= channels_;
  std::vector<BiasRoom> rooms = one_bias ? rooms_at(first) : std::vector<BiasRoom>{};
  for (std::size_t p = 0; p < pixels; ++p) {
    if (!one_bias) rooms = rooms_at(first + p * channels_);
    for (std::size_t c = 0; c < channels_; ++c) {
      const std::size_t i = p * channels_ + c;
      const std::int64_t sum = work.narrow[i], size = work.size[i] + unseen_[c];
      const bool stays = size < max_of_width(32) && (size + sum + 1) / 2 <= rooms[c].above && (size - sum + 1) / 2 <= rooms[c].below;
      work.wide[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(rooms[c].bias));
      wanted[i] = stays || proven_[c] != 0 ? 0 : 1;
      failing += wanted[i];
      by_input += proven_[c];
    }
  }
  tally.routes.proven_by_input += by_input;
  tally.routes.proven_by_output += static_cast<std::int64_t>(count) - by_input - failing;
  const bool any = failing > 0;
  if (any) step_tile(area, first_pixel, first, pixels, wanted, work, tally);
  deliver(first, {}, work.wide, tally);
}

bool ConvolutionRun::has_step_kernel() const {
  if (layer_.step_weights_.empty() || !layer_.multipliers_.empty()) return false;
  if (rule().when == NarrowingPoint::every_add) return rule().overflow != Overflow::exact;
  return rule().overflow != Overflow::exact && rule().when == NarrowingPoint::every_tile &&
         layer_.arithmetic_.bias == BiasAt::accumulator_start && !layer_.geometry_.has_padding();
}

/// The sums marked in `wanted`, in the device's order, into work.wide.
void ConvolutionRun::step_tile(const OutputArea& area, std::int64_t first_pixel, std::size_t first, std::size_t pixels,
                               const std::vector<char>& wanted, Workspace& work, Tally& tally) const {
  if (!has_step_kernel()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] != 0) step_reference(first + i, work, first, tally);
    }
    return;
  }
  const bool tiled = rule().when == NarrowingPoint::every_tile;
  // Pixels that the device treats together narrow after equally many terms.
  for (std::size_t together = 1; together <= (tiled ? largest_group : 1); ++together) {
    std::vector<std::size_t> chosen;
    for (std::size_t p = 0; p < pixels; ++p) {
      const std::int64_t column = area.first_column + (first_pixel + static_cast<std::int64_t>(p)) % area.columns();
      const auto from = wanted.begin() + static_cast<std::ptrdiff_t>(p * channels_);
      const bool asked = std::any_of(from, from + static_cast<std::ptrdiff_t>(channels_), [](char one) { return one != 0; });
      if (asked && (!tiled || layer_.shape_.group_at(column) == together)) chosen.push_back(p);
    }
    if (chosen.empty()) continue;
    const std::size_t period = tiled ? rule().tile(together) : 1;
    if (has_tile_products(period)) step_tiles(first_pixel, first, chosen, wanted, period, work, tally);
    else {
      for (std::size_t group = 0; group < index(layer_.shape_.groups); ++group)
        step_group(first_pixel, first, chosen, group, wanted, period, work, tally);
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
void ConvolutionRun::step_tiles(std::int64_t first_pixel, std::size_t first, const std::vector<std::size_t>& chosen,
                                const std::vector<char>& wanted, std::size_t period, Workspace& work, Tally& tally) const {
  const std::size_t groups = layer_.words_.runs.runs.size() * layer_.words_.groups, count = chosen.size() * channels_;
  const std::vector<std::int64_t> before = std::move(work.wide);
  work.windows.clear();
  for (const std::size_t p : chosen) work.windows.push_back(work.band.window(first_pixel + static_cast<std::int64_t>(p)));
  work.wide.resize(count);
  work.step_outside.assign(count, 0);
  const auto output_of = [&](std::size_t i) { return chosen[i / channels_] * channels_ + i % channels_; };
  const auto settle = [&](std::size_t i, Int128 exact) {
    work.wide[i] = static_cast<std::int64_t>(narrow(exact, rule().bits, rule().overflow));
    work.step_outside[i] += work.wide[i] != exact ? 1 : 0;
  };
  for (std::size_t i = 0; i < count; ++i) settle(i, bias_of(first + output_of(i)));
  for (std::size_t g = 0; g < groups; g += period / 2) {
    add_products(g, std::min(groups, g + period / 2), chosen.size(), work);
    for (std::size_t i = 0; i < count; ++i) settle(i, work.wide[i]);
  }
  std::vector<std::int64_t> sums = std::exchange(work.wide, before);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t output = output_of(i);
    if (wanted[output] == 0) continue;
    work.wide[output] = sums[i];
    tally.events.accumulator_overflows += work.step_outside[i];
    ++tally.routes.step_by_step;
  }
}

void ConvolutionRun::step_group(std::int64_t first_pixel, std::size_t first, const std::vector<std::size_t>& chosen, std::size_t group,
                                const std::vector<char>& wanted, std::size_t period, Workspace& work, Tally& tally) const {
  const auto groups = index(layer_.shape_.groups);
  const std::size_t per_group = channels_ / groups, row = layer_.step_row_, taps = index(layer_.shape_.taps());
  const ConvRuns& runs = layer_.words_.runs;
  const bool at_start = layer_.arithmetic_.bias == BiasAt::accumulator_start;
  const bool one_bias = layer_.bias_.size() <= channels_;
  const auto settle = [&](Int128 exact, std::int64_t& sum) {
    sum = static_cast<std::int64_t>(narrow(exact, rule().bits, rule().overflow));
    return std::int64_t{sum != exact};
  };
  std::vector<std::ptrdiff_t> offsets;
  for (const auto& run : runs.runs)
    offsets.push_back(work.band.offset(run.ky, run.kx) / 2 + static_cast<std::ptrdiff_t>(group * index(layer_.shape_.group_channels())));
  const std::size_t at_once = one_bias ? chosen.size() : 1;  // one start for all, or one for each
  for (std::size_t begin = 0; begin < chosen.size(); begin += at_once) {
    const std::span<const std::size_t> now(chosen.data() + begin, at_once);
    work.step_windows.clear();
    for (const std::size_t p : now)
      work.step_windows.push_back(reinterpret_cast<const std::int16_t*>(work.band.window(first_pixel + static_cast<std::int64_t>(p))));
    work.step_start.assign(row, 0);
    std::vector<std::int64_t> outside_at_start(per_group);
    for (std::size_t c = 0; at_start && c < per_group; ++c) {
      outside_at_start[c] = settle(bias_of(first + now[0] * channels_ + group * per_group + c), work.step_start[c]);
    }
    work.step_sums.resize(now.size() * row);
    work.step_outside.assign(counts_ ? now.size() * row : 0, 0);
    layer_.path_->steps({work.step_windows.data(), now.size(), offsets.data(), offsets.size(), runs.length,
                         layer_.step_weights_.data() + group * taps * row, row, work.step_start.data(), min_of_width(rule().bits),
                         max_of_width(rule().bits), rule().overflow == Overflow::saturate, period, row, work.step_sums.data(),
                         counts_ ? work.step_outside.data() : nullptr});
    for (std::size_t k = 0; k < now.size(); ++k) {
      for (std::size_t c = 0; c < per_group; ++c) {
        const std::size_t i = now[k] * channels_ + group * per_group + c;
        if (wanted[i] == 0) continue;
        std::int64_t sum = work.step_sums[k * row + c];
        std::int64_t outside = outside_at_start[c] + (counts_ ? work.step_outside[k * row + c] : 0);
        if (!at_start) {
          outside += settle(Int128{sum} + bias_of(first + i), sum);
        }
        work.wide[i] = sum;
        tally.events.accumulator_overflows += outside;
        ++tally.routes.step_by_step;
      }
    }
  }
}

void ConvolutionRun::step_reference(std::size_t output, Workspace& work, std::size_t first, Tally& tally) const {
  const ConvShape& s = layer_.shape_;
  const auto pixel = static_cast<std::int64_t>(output / channels_);
  const ConvIndex at{pixel / s.out_width / s.out_height, pixel / s.out_width % s.out_height, pixel % s.out_width,
                     static_cast<std::int64_t>(output % channels_)};
  const auto sum_of =
      layer_.direction_ == Direction::forward ? accumulate_values<std::int32_t> : accumulate_transposed_values<std::int32_t>;
  Accumulator sum =
      sum_of(s, at, reference_input_, layer_.weights_, layer_.bias_, rule(), layer_.arithmetic_.bias, layer_.multiplier(index(at.o)));
  work.wide[output - first] = sum.result();
  tally.events.accumulator_overflows += sum.overflow_count();
  ++tally.routes.step_by_step;
}

void ConvolutionRun::run_area(const OutputArea& area, Workspace& work, Tally& tally) const {
  const ConvShape& s = layer_.shape_;
  const auto tile_pixels = std::max<std::int64_t>(8, tile_sums / s.out_channels);
  const bool has_bands = route_ != Route::step_by_step || has_step_kernel();
  const std::size_t lanes = layer_.path_->lanes;
  if (has_bands) work.band.fill(layer_.geometry_, input_, area, form_);
  if (packed_ != nullptr && packed_->runs.channelwise) work.band.interleave(lanes);
  if (route_ == Route::prove_outputs) {
    work.magnitudes.fill(layer_.geometry_, input_, area, BandForm::magnitudes);
    if (packed_->runs.channelwise) work.magnitudes.interleave(lanes);
  }
  const std::size_t area_start = index(((area.sample * s.out_height + area.first_row) * s.out_width + area.first_column)) * channels_;
  for (std::int64_t pixel = 0; pixel < area.pixels(); pixel += tile_pixels) {
    const std::int64_t pixels = std::min(tile_pixels, area.pixels() - pixel);
    const std::size_t first = area_start + index(pixel) * channels_;
    if (packed_ != nullptr) set_windows(work.band, *packed_, pixel, pixels, work.windows, work.offsets);
    switch (route_) {
      case Route::narrow: narrow_tile(first, index(pixels), work, tally); break;
      case Route::wide: wide_tile(first, index(pixels), work, tally); break;
      case Route::prove_outputs:
        set_windows(work.magnitudes, layer_.magnitudes_, pixel, pixels, work.magnitude_windows, work.offsets);
        proven_tile(area, pixel, first, index(pixels), work, tally);
        break;
      case Route::step_by_step:
        work.wide.resize(index(pixels) * channels_);
        step_tile(area, pixel, first, index(pixels), std::vector<char>(work.wide.size(), 1), work, tally);
        deliver(first, {}, work.wide, tally);
        break;
    }
  }
}

/// Rows of all samples, or columns where there is only one row, as many at a time as the band's bytes allow.
void ConvolutionRun::run_part(std::int64_t first, std::int64_t last, Tally& tally) const {
  thread_local Workspace work;
  const ConvShape& s = layer_.shape_;
  if (s.batch * s.out_height == 1) {
    const std::size_t one = Band::bytes_for(layer_.geometry_, 1, 1, form_);
    const std::int64_t columns = std::max<std::int64_t>(8, static_cast<std::int64_t>(band_bytes / std::max<std::size_t>(1, one)));
    for (std::int64_t x = first; x < last; x += columns) run_area({0, 0, 1, x, std::min(last, x + columns)}, work, tally);
    return;
  }
  const std::size_t one = Band::bytes_for(layer_.geometry_, 1, s.out_width, form_);
  const std::size_t next = Band::bytes_for(layer_.geometry_, 2, s.out_width, form_) - one;
  const std::int64_t rows = one >= band_bytes ? 1 : 1 + static_cast<std::int64_t>((band_bytes - one) / std::max<std::size_t>(1, next));
  while (first < last) {
    const std::int64_t sample = first / s.out_height, y = first % s.out_height;
    const std::int64_t count = std::min({rows, last - first, s.out_height - y});
    run_area({sample, y, y + count, 0, s.out_width}, work, tally);
    first += count;
  }
}

void ConvolutionRun::operator()(Events* events, SumRoutes* routes) {
  const ConvShape& s = layer_.shape_;
  const std::int64_t rows = s.batch * s.out_height;
  const std::int64_t units = rows == 1 ? s.out_width : rows;
  const std::int64_t products = s.out_count() * s.taps() / std::max<std::int64_t>(1, units);
  std::mutex merging;
  for_each_part(units, std::max<std::int64_t>(1, grain_products / std::max<std::int64_t>(1, products)),
                [&](std::int64_t first, std::int64_t last) {
                  Tally tally;
                  run_part(first, last, tally);
                  const std::scoped_lock lock(merging);
                  if (events != nullptr) *events += tally.events;
                  if (routes != nullptr) *routes += tally.routes;
                });
}

void Convolution::for_each_tile(const ConvInput& input, const ReceiveSums& receive, Events* events, SumRoutes* routes) const {
  ConvolutionRun(*this, input, receive, events != nullptr)(events, routes);
}

}  // namespace lastbit
