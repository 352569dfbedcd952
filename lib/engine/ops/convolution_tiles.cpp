// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sums in any order: by the fast kernels, into 32 bits or more, and the proof of every output by itself.
#include <algorithm>
#include <numeric>

#include "engine/ops/convolution_run.hpp"

namespace lastbit {
namespace {

/// Which taps of a row or column of windows lie inside, as a range.
struct Inside {
  std::int64_t first = 0, last = 0;
  friend bool operator==(const Inside&, const Inside&) = default;
};

/// Those of every output, and of which kind each one is.
std::vector<Inside> kinds_of(std::int64_t outputs, std::int64_t taps, std::int64_t stride, std::int64_t dilation, std::int64_t padding,
                             std::int64_t inputs, std::vector<std::size_t>& kind_of) {
  std::vector<Inside> kinds;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const std::int64_t start = i * stride - padding;
    Inside inside{0, taps};
    while (inside.first < inside.last && start + inside.first * dilation < 0) ++inside.first;
    while (inside.last > inside.first && start + (inside.last - 1) * dilation >= inputs) --inside.last;
    const auto known = std::ranges::find(kinds, inside);
    kind_of.push_back(static_cast<std::size_t>(known - kinds.begin()));
    if (known == kinds.end()) kinds.push_back(inside);
  }
  return kinds;
}

/// Of channel o: what the products of pairs of codes in the padding are less than their terms, all together.
std::int64_t lost_in_padding(const ConvShape& shape, std::int64_t o, const Inside& row, const Inside& column,
                             std::span<const std::int16_t> weights, std::int64_t zero_point, const PartialSums& pairs) {
  std::int64_t lost = 0;
  const std::int64_t depth = shape.group_channels();
  for (std::int64_t ky = 0; ky < shape.kernel_height; ++ky) {
    for (std::int64_t kx = 0; kx < shape.kernel_width; ++kx) {
      if (ky >= row.first && ky < row.last && kx >= column.first && kx < column.last) continue;
      const auto of_position =
          weights.subspan(size_from(((o * shape.kernel_height + ky) * shape.kernel_width + kx) * depth), size_from(depth));
      for (std::size_t i = 0; i < of_position.size(); i += 2) {
        const std::int64_t both = zero_point * (of_position[i] + (i + 1 < of_position.size() ? of_position[i + 1] : 0));
        lost += both - narrow(both, pairs.bits, pairs.overflow);
      }
    }
  }
  return lost;
}

}  // namespace

ZeroPointTerms::ZeroPointTerms(const ConvShape& shape, std::span<const std::int16_t> weights, std::int64_t zero_point,
                               const AccumulatorRule& rule)
    : channels_(size_from(shape.out_channels)) {
  const std::vector<Inside> rows =
      kinds_of(shape.out_height, shape.kernel_height, shape.stride_height, shape.dilation_height, shape.pad_top, shape.in_height, rows_);
  const std::vector<Inside> columns =
      kinds_of(shape.out_width, shape.kernel_width, shape.stride_width, shape.dilation_width, shape.pad_left, shape.in_width, columns_);
  column_kinds_ = columns.size();
  const std::int64_t depth = shape.group_channels();
  for (const Inside& row : rows) {
    for (const Inside& column : columns) {
      for (std::int64_t o = 0; o < shape.out_channels; ++o) {
        std::int64_t sum = 0;
        for (std::int64_t ky = row.first; ky < row.last; ++ky) {
          const auto from = weights.begin() + ((o * shape.kernel_height + ky) * shape.kernel_width + column.first) * depth;
          sum = std::accumulate(from, from + (column.last - column.first) * depth, sum);
        }
        std::int64_t term = zero_point * sum;
        if (sums_kernels(rule)) term += lost_in_padding(shape, o, row, column, weights, zero_point, rule.partial);
        terms_.push_back(static_cast<std::int32_t>(term));
      }
    }
  }
}

void ConvolutionRun::set_windows(const Band& band, const PackedWeights& packed, std::int64_t first, std::int64_t count,
                                 std::vector<const std::byte*>& windows, std::vector<std::ptrdiff_t>& offsets) {
  windows.resize(size_from(count));
  offsets.clear();
  const bool depthwise = packed.runs.depthwise;
  if (depthwise) band.interleaved_windows(first, windows);
  else band.windows(first, windows);
  for (const auto& run : packed.runs.runs)
    offsets.push_back(depthwise ? band.interleaved_offset(run.ky, run.kx) : band.offset(run.ky, run.kx));
}

void ConvolutionRun::multiply(const PackedWeights& packed, const std::byte* const* windows, std::size_t pixels, const GroupRange& segment,
                              std::span<const std::int32_t> start, std::int32_t* sums, kernels::SumProducts dense,
                              kernels::SumProducts depthwise, Workspace& work, const MadeOutputs* made) const {
  const std::size_t skipped = (segment.first_run * packed.groups + segment.first_group) * layer_.path_->lanes * kernels::group_bytes;
  std::vector<std::ptrdiff_t>& offsets = work.group_offsets;
  offsets.resize(segment.run_count);
  for (std::size_t group = 0; group < packed.conv_groups; ++group) {
    const std::size_t channel_bytes = group * size_from(layer_.shape_.group_channels()) * bytes_of(form_);
    for (std::size_t r = 0; r < segment.run_count; ++r)
      offsets[r] =
          work.offsets[segment.first_run + r] + static_cast<std::ptrdiff_t>(channel_bytes + segment.first_group * kernels::group_bytes);
    const std::size_t vector = group * packed.group_vectors, channel = group * packed.group_channels;
    kernels::ProductTile tile{windows,
                              pixels,
                              offsets.data(),
                              segment.run_count,
                              segment.groups,
                              packed.bytes.data() + vector * packed.vector_bytes + skipped,
                              packed.vector_bytes,
                              start.data() + vector * packed.lanes,
                              packed.group_channels,
                              sums == nullptr ? nullptr : sums + channel,
                              channels_,
                              size_from(rule().partial.emptied) / 2};
    if (made != nullptr) {
      const PackedLines& lines = by_lines_->lines;
      const std::size_t lane = vector * packed.lanes;
      tile.finish = layer_.path_->line_outputs;
      tile.lines = {lines.slope.data() + lane,
                    lines.above.data() + lane,
                    lines.below.data() + lane,
                    lines.fraction_bits,
                    lines.by_sign,
                    lines.smallest,
                    lines.largest};
      tile.outputs = made->outputs + channel;
      tile.first_output = channel;
      tile.undecided = made->undecided;
    }
    (packed.runs.depthwise ? depthwise : dense)(tile);
  }
}

void ConvolutionRun::deliver(const Tile& tile, std::span<const std::int32_t> narrow, std::span<const std::int64_t> wide) const {
  receive_({tile.first, narrow, wide, counts_ ? &tile.tally.events : nullptr});
}

void ConvolutionRun::add_bias(const Tile& tile) const {
  if (!adds_bias_) return;
  for (std::size_t i = 0; i < tile.work.narrow.size(); ++i)
    tile.work.narrow[i] = static_cast<std::int32_t>(narrow_wrap(tile.work.narrow[i] + bias_of(tile.first + i), 32));
}

void ConvolutionRun::lines_tile(const Tile& tile) const {
  const bool bytes = form_ == BandForm::unsigned_bytes;
  const kernels::Path& path = *layer_.path_;
  if (tile.work.undecided.size() < tile.pixels * channels_) tile.work.undecided.resize(tile.pixels * channels_);
  kernels::UndecidedSums undecided{tile.work.undecided.data()};
  const MadeOutputs made{by_lines_->outputs + tile.first, &undecided};
  multiply(*packed_, tile.work.windows.data(), tile.pixels, {0, packed_->runs.runs.size(), 0, packed_->groups}, start_, nullptr,
           bytes ? path.dense_bytes : path.dense_words, bytes ? path.depthwise_bytes : path.depthwise_words, tile.work, &made);
  for (const auto& [output, sum] : std::span(tile.work.undecided).first(undecided.count))
    made.outputs[output] = by_lines_->decide(output % channels_, sum);
  tile.tally.routes.*counted_as_ += static_cast<std::int64_t>(tile.pixels * channels_);
}

void ConvolutionRun::narrow_tile(const Tile& tile) const {
  if (by_lines_ != nullptr) return lines_tile(tile);
  const std::size_t count = tile.pixels * channels_;
  tile.work.narrow.resize(count);
  const bool bytes = form_ == BandForm::unsigned_bytes;
  const kernels::Path& path = *layer_.path_;
  multiply(*packed_, tile.work.windows.data(), tile.pixels, {0, packed_->runs.runs.size(), 0, packed_->groups}, start_,
           tile.work.narrow.data(), bytes ? path.dense_bytes : path.dense_words, bytes ? path.depthwise_bytes : path.depthwise_words,
           tile.work);
  add_bias(tile);
  if (wraps_to_ < 32) {
    for (std::size_t i = 0; i < count; ++i)
      tile.work.narrow[i] = static_cast<std::int32_t>(narrow_wrap(std::int64_t{tile.work.narrow[i]}, wraps_to_));
  }
  tile.tally.routes.*counted_as_ += static_cast<std::int64_t>(count);
  if (rule().when == NarrowingPoint::at_end && counted_as_ == &SumRoutes::order_free) {  // 32 bits hold the sums, fewer may not
    tile.work.wide.assign(tile.work.narrow.begin(), tile.work.narrow.end());
    for (std::int64_t& sum : tile.work.wide) {
      if (fits_width(sum, rule().bits)) continue;
      ++tile.tally.events.accumulator_overflows;
      sum = narrow(sum, rule().bits, rule().overflow);
    }
    return deliver(tile, {}, tile.work.wide);
  }
  deliver(tile, tile.work.narrow, {});
}

void ConvolutionRun::add_products(std::size_t first, std::size_t last, std::size_t pixels, Workspace& work) const {
  const std::size_t count = pixels * channels_;
  work.part.resize(count);
  const bool split = !layer_.low_.bytes.empty();
  for (const PackedWeights* const part : {split ? &layer_.low_ : &layer_.words_, split ? &layer_.high_ : nullptr}) {
    if (part == nullptr) continue;
    const int shift = part == &layer_.high_ ? 8 : 0;
    for (std::size_t at = first, end = 0; at < last; at = end) {
      const auto cut = std::upper_bound(layer_.cuts_.begin(), layer_.cuts_.end(), at);
      end = cut == layer_.cuts_.end() ? last : std::min(last, *cut);
      const std::size_t run = at / part->groups, within = at % part->groups, whole = (end - at) / part->groups;
      GroupRange range{run, 1, within, std::min(end - at, part->groups - within)};
      if (within == 0 && whole > 0) range = {run, whole, 0, part->groups};
      end = at + range.run_count * range.groups;
      multiply(*part, work.windows.data(), pixels, range, start_, work.part.data(), layer_.path_->dense_words,
               layer_.path_->depthwise_words, work);
      for (std::size_t i = 0; i < count; ++i) work.wide[i] += std::int64_t{work.part[i]} << shift;
    }
  }
}

void ConvolutionRun::wide_tile(const Tile& tile) const {
  const std::size_t count = tile.pixels * channels_;
  tile.work.wide.assign(count, 0);
  add_products(0, packed_->runs.runs.size() * packed_->groups, tile.pixels, tile.work);
  for (std::size_t p = 0; p < tile.pixels; ++p) {
    const auto biases = biases_of(tile.first + p * channels_);
    std::int64_t* const sums = tile.work.wide.data() + p * channels_;
    for (std::size_t c = 0; c < channels_; ++c)
      sums[c] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[c]) + static_cast<std::uint64_t>(biases[c]));
  }
  if (counted_as_ == &SumRoutes::order_free) {
    std::int64_t outside = 0;
    if (rule().overflow == Overflow::saturate) {
      const IntegerRange width = width_;  // of its own: the sums are as wide, and would be taken for it
      for (std::int64_t& sum : tile.work.wide) {
        const std::int64_t exact = sum;
        sum = std::clamp(exact, width.min, width.max);
        outside += sum != exact ? 1 : 0;
      }
    } else {
      for (std::int64_t& sum : tile.work.wide) sum = settled(sum, outside);
    }
    tile.tally.events.accumulator_overflows += outside;
  }
  tile.tally.routes.*counted_as_ += static_cast<std::int64_t>(count);
  deliver(tile, {}, tile.work.wide);
}

/// Sums of pairs of codes, less what the zero point adds to these, and the bias: proven to stay within 32 bits.
void ConvolutionRun::pairs_tile(const Tile& tile) const {
  const std::size_t count = tile.pixels * channels_;
  tile.work.narrow.resize(count);
  const kernels::SumProducts sum_pairs = rule().partial.emptied > 0 ? layer_.path_->dense_emptied_pairs : layer_.path_->dense_pairs;
  multiply(*packed_, tile.work.windows.data(), tile.pixels, {0, packed_->runs.runs.size(), 0, packed_->groups}, start_,
           tile.work.narrow.data(), sum_pairs, nullptr, tile.work);
  for (std::size_t p = 0; p < tile.pixels; ++p) {
    const std::int64_t pixel = tile.first_pixel + static_cast<std::int64_t>(p), columns = tile.area.columns();
    const auto zero_terms = zero_terms_.at(tile.area.first_row + pixel / columns, tile.area.first_column + pixel % columns);
    std::int32_t* const sums = tile.work.narrow.data() + p * channels_;
    for (std::size_t c = 0; c < channels_; ++c)
      sums[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[c]) - static_cast<std::uint32_t>(zero_terms[c]));
  }
  add_bias(tile);
  tile.tally.routes.step_by_step += static_cast<std::int64_t>(count);
  deliver(tile, tile.work.narrow, {});
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

std::span<const std::int64_t> ConvolutionRun::biases_of(std::size_t first) const {
  const std::vector<std::int64_t>& bias = layer_.bias_.empty() ? no_bias_ : layer_.bias_;
  return std::span(bias).subspan(first % bias.size(), channels_);
}

// With S the sum of all terms and A that of their magnitudes, the positive ones add up to (A + S) / 2 and the negative ones to (S - A) / 2:
// between those lies every partial sum. A stops at 2^31 - 1, where nothing is proven; below it S is exact modulo 2^32.
std::int64_t ConvolutionRun::prove_tile(const Tile& tile, std::vector<char>& wanted) const {
  const std::size_t count = tile.pixels * channels_;
  tile.work.narrow.resize(count);
  tile.work.size.resize(count);
  tile.work.wide.resize(count);
  wanted.resize(count);
  const GroupRange whole{0, packed_->runs.runs.size(), 0, packed_->groups};
  const kernels::Path& path = *layer_.path_;
  set_windows(tile.work.magnitudes, layer_.magnitudes_, tile.first_pixel, static_cast<std::int64_t>(tile.pixels),
              tile.work.magnitude_windows, tile.work.offsets);
  multiply(*packed_, tile.work.windows.data(), tile.pixels, whole, start_, tile.work.narrow.data(), path.dense_words, path.depthwise_words,
           tile.work);
  multiply(layer_.magnitudes_, tile.work.magnitude_windows.data(), tile.pixels, whole, start_, tile.work.size.data(), path.dense_magnitudes,
           path.depthwise_magnitudes, tile.work);
  std::int64_t failing = 0;
  const bool one_bias = layer_.bias_.size() <= channels_;
  std::vector<BiasRoom> rooms = one_bias ? rooms_at(tile.first) : std::vector<BiasRoom>{};
  for (std::size_t p = 0; p < tile.pixels; ++p) {
    if (!one_bias) rooms = rooms_at(tile.first + p * channels_);
    for (std::size_t c = 0; c < channels_; ++c) {
      const std::size_t i = p * channels_ + c;
      const std::int64_t sum = tile.work.narrow[i], size = tile.work.size[i] + unseen_[c];
      const bool stays = size < max_of_width(32) && (size + sum + 1) / 2 <= rooms[c].above && (size - sum + 1) / 2 <= rooms[c].below;
      tile.work.wide[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(rooms[c].bias));
      wanted[i] = stays || proven_[c] != 0 ? 0 : 1;
      failing += wanted[i];
    }
  }
  return failing;
}

void ConvolutionRun::proven_tile(const Tile& tile) const {
  std::vector<char> wanted;
  const std::int64_t failing = prove_tile(tile, wanted);
  const auto by_input = static_cast<std::int64_t>(tile.pixels) * std::ranges::count(proven_, char{1});
  tile.tally.routes.proven_by_input += by_input;
  tile.tally.routes.proven_by_output += static_cast<std::int64_t>(wanted.size()) - by_input - failing;
  if (failing > 0) step_tile(tile, wanted);
  deliver(tile, {}, tile.work.wide);
}

/// Of some pixels in the middle of the first sample.
bool ConvolutionRun::mostly_fails() const {
  constexpr std::int64_t most_pixels = 16;
  const ConvShape& s = layer_.shape_;
  const std::int64_t pixels = std::min(most_pixels, s.out_width), y = s.out_height / 2, x = (s.out_width - pixels) / 2;
  const OutputArea area{0, y, y + 1, x, x + pixels};
  Workspace work;
  Tally tally;
  fill_bands(area, work);
  set_windows(work.band, *packed_, 0, pixels, work.windows, work.offsets);
  std::vector<char> wanted;
  prove_tile({area, 0, size_from(y * s.out_width + x) * channels_, size_from(pixels), work, tally}, wanted);
  std::int64_t failing = 0;
  for (auto pixel = wanted.begin(); pixel != wanted.end(); pixel += static_cast<std::ptrdiff_t>(channels_))
    failing += std::any_of(pixel, pixel + static_cast<std::ptrdiff_t>(channels_), [](char one) { return one != 0; }) ? 1 : 0;
  return 2 * failing > pixels;
}

}  // namespace lastbit
