// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is known about a layer before it runs: its sums as a forward convolution, their bounds, their weights in the kernels' order.
#include "engine/ops/convolution.hpp"

#include <algorithm>
#include <cstdlib>

namespace lastbit {
namespace {

int bits_for(Int128 magnitude) {
  int bits = 1;
  while (bits < 127 && magnitude >> (bits - 1) != 0) ++bits;
  return bits;
}

/// Kernel rows and columns in reverse.
std::vector<std::int16_t> turned(const std::vector<std::int16_t>& weights, const ConvShape& shape) {
  std::vector<std::int16_t> out(weights.size());
  const auto positions = static_cast<std::size_t>(shape.kernel_height * shape.kernel_width);
  const auto channels = static_cast<std::size_t>(shape.group_channels());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t o = i / (positions * channels), position = i / channels % positions;
    out[(o * positions + positions - 1 - position) * channels + i % channels] = weights[i];
  }
  return out;
}

bool fit_bytes(const std::vector<std::int16_t>& weights) {
  return std::all_of(weights.begin(), weights.end(), [](std::int16_t weight) { return weight >= -128 && weight <= 127; });
}

}  // namespace

ConvGeometry forward_geometry(const ConvShape& shape, Direction direction) {
  ConvGeometry geometry{.shape = shape};
  ConvShape& s = geometry.shape;
  if (direction == Direction::transposed) {
    geometry.row_step = std::exchange(s.stride_height, 1);
    geometry.column_step = std::exchange(s.stride_width, 1);
    s.pad_top = s.kernel_height - 1 - s.pad_top;
    s.pad_left = s.kernel_width - 1 - s.pad_left;
  }
  if (is_depthwise(s)) geometry.repeat = s.out_channels / s.in_channels;
  return geometry;
}

Convolution::Convolution(const ConvShape& shape, Direction direction, const ConvArithmetic& arithmetic, std::vector<std::int16_t> weights,
                         std::vector<std::int64_t> bias, ElementType input, std::int64_t largest_input,
                         std::vector<std::int64_t> multipliers, std::vector<RescaleOperands> term_operands, CodeZeros zeros)
    : shape_(shape),
      direction_(direction),
      arithmetic_(arithmetic),
      weights_(std::move(weights)),
      bias_(std::move(bias)),
      multipliers_(std::move(multipliers)),
      term_operands_(std::move(term_operands)),
      input_type_(input),
      largest_input_(largest_input),
      zeros_(std::move(zeros)),
      path_(&kernels::selected_path()),
      geometry_(forward_geometry(shape, direction)) {
  if (!term_operands_.empty()) {
    accumulator_bits_ = rule().overflow == Overflow::exact ? 64 : rule().bits;
    return;
  }
  if (is_one_tile()) arithmetic_.sum.accumulator.when = NarrowingPoint::at_end;  // what it comes to
  weight_sums_ = WeightSums(weights_, static_cast<std::size_t>(shape_.out_channels));
  prove(largest_input);
  if (!multipliers_.empty() && (proven_by_types_ || !has_partial_sums(rule()))) {
    fold_multipliers();
    weight_sums_ = WeightSums(weights_, static_cast<std::size_t>(shape_.out_channels));
  }
  if (input_type_ == ElementType::uint16) return;
  if (direction_ == Direction::transposed) pack(turned(weights_, shape_));
  else pack(weights_);
  const bool in_kernels = !bytes_.bytes.empty() || accumulator_bits_ <= 32 || !cuts_.empty();
  if (proven_by_types_ && in_kernels) std::vector<std::int16_t>().swap(weights_);  // `= {}` would keep its memory
}

/// Whether the device narrows a sum after its last term only, and a bias before the first changes nothing by it.
bool Convolution::is_one_tile() const {
  if (rule().when != NarrowingPoint::every_tile || has_partial_sums(rule())) return false;
  const bool at_start = arithmetic_.bias == BiasAt::accumulator_start;
  const auto terms = static_cast<std::uint64_t>(shape_.taps() + (at_start ? 0 : 1));
  const bool one = std::ranges::all_of(rule().tile.terms, [&](std::uint32_t tile) { return tile >= terms; });
  return one && (!at_start || std::ranges::all_of(bias_, [&](std::int64_t bias) { return fits_width(bias, rule().bits); }));
}

/// Exact terms times the multiplier are exact terms of larger weights: 128 * 255 fits 16 bits.
void Convolution::fold_multipliers() {
  const std::size_t taps = weights_.size() / static_cast<std::size_t>(shape_.out_channels);
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    weights_[i] = static_cast<std::int16_t>(narrow_exact(weights_[i] * multiplier(i / taps), 16));
  }
  multipliers_.clear();
}

bool Convolution::drops_no_term() const {
  const PartialSums& partial = rule().partial;
  const bool whole_rows = shape_.pad_left == 0 && (shape_.out_width - 1) * shape_.stride_width + shape_.kernel_width <= shape_.in_width;
  const std::int64_t run = shape_.kernel_width * shape_.group_channels();
  return partial.tail != PartialTail::dropped || partial.vector == 0 || (whole_rows && run % partial.vector == 0);
}

/// Whether the device adds up pairs of codes in 16 bits, which saturate, and no sum of these leaves 32 bits. Narrowing in between would end them.
bool Convolution::sums_pairs_of_codes() const {
  const PartialSums& partial = rule().partial;
  const bool are_pairs = sums_codes(rule()) && partial.terms == TermsByGroup(2) && partial.vector == 0 && partial.emptied % 2 == 0 &&
                         partial.bits == 16 && partial.overflow == Overflow::saturate;
  const bool is_forward = direction_ == Direction::forward && !is_depthwise(shape_) && multipliers_.empty();
  const bool have_zeros = std::ranges::any_of(zeros_.weights, [](std::int64_t zero) { return zero != 0; });
  if (!are_pairs || rule().when != NarrowingPoint::at_end || !is_forward || input_type_ != ElementType::uint8 || rule().bits < 32 ||
      have_zeros)
    return false;
  // Pairs of the whole kernel that cross its positions, or go into a second sum: no kernel forms these.
  if (sums_kernels(rule()) && partial.emptied > 0) return false;
  if (sums_kernels(rule()) && shape_.group_channels() % 2 != 0 && shape_.taps() != shape_.group_channels()) return false;
  for (std::size_t o = 0; o < weight_sums_.channels(); ++o) {
    const auto [least, largest] = bias_range(o);
    const Int128 products = weight_sums_.magnitude(o) * (Int128{range_of(input_type_).max} + std::abs(zeros_.input));
    if (products + std::max(largest, -least) > max_of_width(32)) return false;
  }
  return true;
}

std::pair<std::int64_t, std::int64_t> Convolution::bias_range(std::size_t channel) const {
  std::int64_t least = 0, largest = 0;
  for (std::size_t i = channel; i < bias_.size(); i += static_cast<std::size_t>(shape_.out_channels)) {
    least = std::min(least, bias_[i]);
    largest = std::max(largest, bias_[i]);
  }
  return {least, largest};
}

SumBounds Convolution::with_bias(std::size_t channel, const IntegerRange& range) const {
  SumBounds bounds = weight_sums_.bounds(channel, range, multiplier(channel));
  const auto [least, largest] = bias_range(channel);
  return {bounds.lower + least, bounds.upper + largest};
}

// Every partial sum, in any order and with the bias at either end, lies between the bounds. Where those fit the accumulator no rule of it
// can act. Partial sums have a width of their own, which none may leave, and must lose no term.
bool Convolution::is_proven(std::size_t channel, const IntegerRange& range) const {
  const SumBounds total = with_bias(channel, range);
  if (total.lower < min_of_width(rule().bits) || total.upper > max_of_width(rule().bits)) return false;
  return !has_partial_sums(rule()) || (partial_sums_fit(channel, range) && drops_no_term());
}

// Those of any neighbours, wherever a run begins: of so many weights in a row, all of one sign with the largest input.
bool Convolution::partial_sums_fit(std::size_t channel, const IntegerRange& range) const {
  const PartialSums& partial = rule().partial;
  const auto fit = [&](Int128 lower, Int128 upper) { return lower >= min_of_width(partial.bits) && upper <= max_of_width(partial.bits); };
  const bool of_codes = sums_codes(rule()), is_byte = size_of(input_type_) == 1;
  const IntegerRange type = range_of(input_type_);
  const std::int64_t zero = of_codes ? zeros_.input : 0, weight_zero = of_codes ? zeros_.of_weights(static_cast<std::int64_t>(channel)) : 0;
  IntegerRange inputs{range.min + zero, range.max + zero};
  if (of_codes && is_byte) inputs = {std::max(inputs.min, type.min), std::min(inputs.max, type.max)};
  if (sums_kernels(rule())) inputs = {std::min(inputs.min, zero), std::max(inputs.max, zero)};  // padding
  const SumBounds all = weight_sums_.bounds(channel, inputs);
  if (weight_zero == 0 && fit(all.lower, all.upper)) return true;
  const std::size_t taps = weights_.size() / weight_sums_.channels();
  std::size_t length = std::max<std::size_t>(partial.emptied, *std::max_element(partial.terms.terms.begin(), partial.terms.terms.end()));
  if (partial.tail == PartialTail::one_sum) length = std::max<std::size_t>(length, partial.vector);
  const std::span<const std::int16_t> row = std::span(weights_).subspan(channel * taps, taps);
  const auto term = [&](std::size_t tap) {
    const std::int64_t weight = row[tap] + weight_zero, one = weight * inputs.min, other = weight * inputs.max;
    return std::pair(std::min<std::int64_t>({0, one, other}), std::max<std::int64_t>({0, one, other}));
  };
  std::int64_t lower = 0, upper = 0;
  for (std::size_t tap = 0; tap < taps; ++tap) {
    lower += term(tap).first;
    upper += term(tap).second;
    if (tap >= length) lower -= term(tap - length).first, upper -= term(tap - length).second;
    if (!fit(lower, upper)) return false;
  }
  return true;
}

void Convolution::prove(std::int64_t largest_input) {
  const IntegerRange range{-largest_input, largest_input};
  proven_by_types_ = true;
  Int128 largest = 0;
  for (std::size_t o = 0; o < weight_sums_.channels(); ++o) {
    proven_by_types_ = proven_by_types_ && is_proven(o, range);
    const SumBounds bounds = with_bias(o, range);
    largest = std::max({largest, bounds.upper, -bounds.lower});
  }
  accumulator_bits_ = proven_by_types_ ? bits_for(largest) : rule().overflow == Overflow::exact ? 64 : rule().bits;
}

void Convolution::pack(const std::vector<std::int16_t>& weights) {
  const AccumulatorRule& rule = this->rule();
  const bool in_32_bits =
      (proven_by_types_ && accumulator_bits_ <= 32) || (rule.overflow == Overflow::wrap && rule.bits <= 32 && is_order_independent(rule));
  const bool is_8_bit = input_type_ == ElementType::int8 || input_type_ == ElementType::uint8;
  if (in_32_bits && is_8_bit && path_->dense_bytes != nullptr && fit_bytes(weights)) {
    bytes_ = pack_weights(geometry_, weights, BandForm::unsigned_bytes, path_->lanes);
    if (proven_by_types_) return;
  }
  if (!proven_by_types_ && path_->dense_pairs != nullptr && fit_bytes(weights) && sums_pairs_of_codes())
    pairs_ = pack_pairs(geometry_, weights, path_->lanes, rule.partial.emptied > 0);
  words_ = pack_weights(geometry_, weights, BandForm::words, path_->lanes);
  if (!in_32_bits) pack_wide(weights);
  const bool narrows_once = rule.when == NarrowingPoint::at_end && !has_partial_sums(rule);
  if (proven_by_types_ || rule.bits > 32 || narrows_once) return;
  magnitudes_ = pack_weights(geometry_, weights, BandForm::magnitudes, path_->lanes);
  if (is_depthwise(shape_) || has_partial_sums(rule)) return;
  // [group][tap][channel]
  const auto groups = static_cast<std::size_t>(shape_.groups), channels = static_cast<std::size_t>(shape_.out_channels) / groups;
  const auto taps = static_cast<std::size_t>(shape_.taps());
  std::int64_t largest_weight = 0;
  for (const std::int16_t weight : weights) largest_weight = std::max<std::int64_t>(largest_weight, std::abs(std::int64_t{weight}));
  step_products_fit_words_ = largest_weight * largest_input_ <= std::numeric_limits<std::int16_t>::max();
  step_row_ = kernels::whole_vectors(channels, 2 * path_->lanes);
  step_weights_.resize(groups * taps * step_row_);
  for (std::size_t o = 0; o < groups * channels; ++o) {
    for (std::size_t t = 0; t < taps; ++t) step_weights_[(o / channels * taps + t) * step_row_ + o % channels] = weights[o * taps + t];
  }
}

/// Words, unless taking off so often costs more than multiplying bytes of them twice.
void Convolution::pack_wide(const std::vector<std::int16_t>& weights) {
  cuts_ = sum_cuts(geometry_, weights, words_, largest_input_);
  std::vector<std::int16_t> low(weights.size()), high(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    low[i] = static_cast<std::int16_t>(narrow_wrap(std::int64_t{weights[i]}, 8));
    high[i] = static_cast<std::int16_t>((weights[i] - low[i]) / 256);
  }
  std::vector<std::size_t> cuts = sum_cuts(geometry_, std::vector<std::int16_t>(weights.size(), 128), words_, largest_input_);
  constexpr std::size_t gain = 4;
  if (!cuts_.empty() && cuts_.size() <= gain * cuts.size()) return;
  cuts_ = std::move(cuts);
  low_ = pack_weights(geometry_, low, BandForm::words, path_->lanes);
  high_ = pack_weights(geometry_, high, BandForm::words, path_->lanes);
}

void Convolution::sums(const ConvInput& input, std::span<std::int64_t> out, Events* events, SumRoutes* routes) const {
  for_each_tile(
      input,
      [&](const SumTile& tile) {
        if (tile.wide.empty()) std::copy(tile.narrow.begin(), tile.narrow.end(), out.begin() + static_cast<std::ptrdiff_t>(tile.first));
        else std::copy(tile.wide.begin(), tile.wide.end(), out.begin() + static_cast<std::ptrdiff_t>(tile.first));
      },
      events, routes);
}

}  // namespace lastbit
