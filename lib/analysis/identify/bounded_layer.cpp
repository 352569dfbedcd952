// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/bounded_layer.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analysis/prove/sums.hpp"
#include "analysis/staircase/pieces.hpp"
#include "engine/operands.hpp"
#include "lastbit/staircase.hpp"

namespace lastbit {
namespace {

constexpr std::size_t most_pieces = 4096;

}  // namespace

bool operator<(const Narrowed& a, const Narrowed& b) {
  return std::tie(a.open, a.bits, a.overflow, a.shift) < std::tie(b.open, b.bits, b.overflow, b.shift);
}

BoundedLayer::BoundedLayer(const ConvSpace& space, const IdentifyPair& pair) : space_(space), data_(pair) {
  const ConvLayer& layer = variant().layer();
  if (layer.delivers_sums()) open_ = "the sums themselves are delivered";
  else if (!layer.multipliers.empty()) open_ = "rows are multiplied";
  else bound(range_of(pair.layer.tensor(pair.layer.inputs[0]).type));
}

Narrowed BoundedLayer::narrowed(const SumRules& rules) const {
  Narrowed result;
  if (rules.per_channel != PerChannelLowering::native && data_.variants.size() > 1) result.open = "weights that are brought to one scale";
  const std::vector<std::int64_t>& given = variant().given_bias();
  for (const std::int64_t value : given) result.shift.push_back(stored_bias(value, rules.bias_bits, rules.bias_rounding) - value);
  if (std::ranges::all_of(result.shift, [](std::int64_t shift) { return shift == 0; })) result.shift.clear();
  else if (std::ssize(given) != variant().layer().shape.out_channels) result.open = "a bias of which parts are dropped";
  const std::int64_t more =
      result.shift.empty() ? 0 : std::abs(*std::ranges::max_element(result.shift, {}, [](auto x) { return std::abs(x); }));
  const AccumulatorRule& rule = rules.accumulator;
  if (has_partial_sums(rule)) result.open = "sums of several terms in an accumulator of their own";
  else if (fits_width(partial_.min - more, rule.bits) && fits_width(partial_.max + more, rule.bits)) return result;
  else if (!is_order_independent(rule)) result.open = "sums that can leave their accumulator, where the order of the additions counts";
  else if (rule.overflow != Overflow::exact) result.bits = rule.bits, result.overflow = rule.overflow;
  return result;
}

std::optional<RescaleOperands> BoundedLayer::operands(std::uint32_t rescale, std::int64_t channel) const {
  const ChannelScales& scales = variant().scales();
  const std::vector<EncodedScale>* const encoded = scales.encoded(space_.rescales[rescale].scale, space_.encodings[rescale]);
  if (encoded == nullptr) return std::nullopt;
  return scales.operands(channel, *encoded);
}

void BoundedLayer::bound(const IntegerRange& codes) {
  const ConvLayer& layer = variant().layer();
  std::vector<IntegerRange> inputs;
  for (const std::int64_t zero : layer.zero_points) inputs.push_back(centred(codes, zero));
  if (inputs.empty()) inputs.push_back(codes);
  const Sums sums = sums_of_layer(layer, std::move(inputs), "");
  std::vector<std::optional<IntegerRange>> found(static_cast<std::size_t>(sums.channels));
  sums.each([&](const Sum& sum) {
    Int128 low = sum.bias.lower, high = sum.bias.upper, least = std::min<Int128>(0, low), most = std::max<Int128>(0, high);
    for (const SumTerm& term : sum.terms) {
      const IntegerRange one = product(sums.range_of(term.input), {term.weight, term.weight});
      low += one.min;
      high += one.max;
      least += std::min<std::int64_t>(0, one.min);
      most += std::max<std::int64_t>(0, one.max);
    }
    auto& channel = found[static_cast<std::size_t>(sum.channel)];
    const IntegerRange range{narrow_saturate(low, 62), narrow_saturate(high, 62)};
    channel = channel ? IntegerRange{std::min(channel->min, range.min), std::max(channel->max, range.max)} : range;
    partial_ = {std::min(partial_.min, narrow_saturate(least, 62)), std::max(partial_.max, narrow_saturate(most, 62))};
  });
  for (const auto& channel : found) sums_.push_back(channel.value_or(IntegerRange{}));
}

FinisherInput accumulators_of(const IntegerRange& sums, int bits, std::int64_t shift) {
  if (bits > 0) return FinisherInput::of_width(bits);
  return {sums.min + shift, sums.max + shift};
}

OnColumn::OnColumn(const Chain& chain, const RescaleOperands& operands, const Narrowed& narrowed, const Column& column)
    : chain_(chain),
      operands_(operands),
      bits_(narrowed.bits),
      overflow_(narrowed.overflow),
      shift_(narrowed.shift_of(column.channel)),
      sums_(column.sums),
      finisher_(chain, {operands}, accumulators_of(sums_, bits_, shift_)) {}

std::vector<std::int64_t> OnColumn::outputs(std::span<const std::int64_t> sums) const {
  std::vector<std::int64_t> values(sums.begin(), sums.end());
  for (std::int64_t& value : values) value = accumulator(value);
  finisher_(values);
  return values;
}

std::optional<std::vector<IntegerRange>> OnColumn::pieces() const {
  std::vector<IntegerRange> all;
  const std::vector<IntegerRange> straights = straight_parts();
  if (straights.size() > most_pieces) return std::nullopt;
  for (const IntegerRange& straight : straights) {
    const IntegerRange inside{accumulator(straight.min), accumulator(straight.max)};
    if (inside.min == inside.max) {
      all.push_back(straight);
      continue;
    }
    const auto parts = monotone_pieces(chain_, operands_, inside, most_pieces);
    if (!parts || all.size() + parts->size() > most_pieces) return std::nullopt;
    for (const IntegerRange& part : *parts) all.push_back({straight.min + (part.min - inside.min), straight.min + (part.max - inside.min)});
  }
  return all;
}

std::optional<std::vector<std::int64_t>> OnColumn::edges() const {
  std::vector<std::int64_t> found{sums_.min, sums_.max};
  const std::vector<IntegerRange> straights = straight_parts();
  if (straights.size() > most_pieces) return std::nullopt;
  for (const IntegerRange& straight : straights) {
    found.insert(found.end(), {straight.min, straight.max});
    const IntegerRange inside{accumulator(straight.min), accumulator(straight.max)};
    if (inside.min == inside.max) continue;
    const auto stairs = staircase(chain_, operands_, inside);
    if (!stairs || found.size() + 2 * stairs->steps.size() > most_edges) return std::nullopt;
    for (std::size_t step = 1; step < stairs->steps.size(); ++step) {
      const std::int64_t first = straight.min + (stairs->steps[step].first - inside.min);
      found.insert(found.end(), {first - 1, first});
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::int64_t OnColumn::accumulator(std::int64_t sum) const { return bits_ == 0 ? sum + shift_ : narrow(sum + shift_, bits_, overflow_); }

std::vector<IntegerRange> OnColumn::straight_parts() const {
  if (bits_ == 0) return {sums_};
  std::vector<IntegerRange> parts;
  const std::int64_t half = std::int64_t{1} << (bits_ - 1);
  for (std::int64_t first = sums_.min; first <= sums_.max && parts.size() <= most_pieces;) {
    const std::int64_t place = first + shift_;
    std::int64_t end = sums_.max + 1;  // of this part
    if (overflow_ == Overflow::wrap) end = std::min(end, first + (half - narrow_wrap(place, bits_)));
    else if (place < -half) end = std::min(end, -half - shift_);
    else if (place < half) end = std::min(end, half - shift_);
    parts.push_back({first, end - 1});
    first = end;
  }
  return parts;
}

}  // namespace lastbit
