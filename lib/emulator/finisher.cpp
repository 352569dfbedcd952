// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "emulator/finisher.hpp"

#include <algorithm>

namespace lastbit {
namespace {

int bits_of(std::int64_t value) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value < 0 ? ~value : value))); }

/// Bits of the values that a clamp moves outwards: it does so only if 0 lies outside its bounds.
int clamped_bits(std::int64_t min, std::int64_t max) { return 1 + std::max(min > 0 ? bits_of(min) : 0, max < 0 ? bits_of(max) : 0); }

/// Calls body(value, channel) on rows of channels; with one channel for all, the channel is a constant of the loop.
template <class Body>
void each(std::span<std::int64_t> values, std::size_t channels, Body&& body) {
  if (channels == 1) {
    for (auto& value : values) body(value, std::size_t{0});
    return;
  }
  for (std::size_t row = 0; row < values.size(); row += channels) {
    std::int64_t* const at = values.data() + row;
    for (std::size_t c = 0; c < channels; ++c) body(at[c], c);
  }
}

}  // namespace

Finisher::Finisher(const Chain& chain, std::vector<RescaleOperands> operands, int accumulator_bits)
    : chain_(chain), operands_(std::move(operands)) {
  if (!plan_64_bit(accumulator_bits)) plan_.clear();
}

// Follows the width of the value through the chain; true if no intermediate leaves 64 bits and every shift is an ordinary one.
bool Finisher::plan_64_bit(int accumulator_bits) {
  int bits = accumulator_bits;
  std::vector<int> fraction(operands_.size(), 0);
  for (const Stage& stage : chain_) {
    WideStage wide{stage, {}, {}};
    int grown = bits;
    for (std::size_t c = 0; c < operands_.size(); ++c) {
      const EncodedScale& scale = operands_[c].scale;
      std::int64_t factor = scale.multiplier;
      int amount = 0;
      switch (stage.kind) {
        case StageKind::shift_left: amount = std::clamp(scale.exponent, 0, 62); break;
        case StageKind::multiply: {
          const NarrowedMultiplier narrowed = narrow_multiplier(scale, stage.bits, stage.rounding);
          factor = narrowed.multiplier;
          fraction[c] = fraction_after_multiply(fraction[c], narrowed.fraction_bits);
          break;
        }
        case StageKind::doubling_high_multiply:
          amount = stage.bits - 1;
          if (amount > 62) return false;
          break;
        case StageKind::shift_right:
        case StageKind::shift_right_with_zero_point:
          amount = shift_amount(stage, fraction[c], operands_[c]);
          fraction[c] = fraction_after_shift(stage, amount);
          if (amount < 0 || amount > 62) return false;
          if (stage.kind == StageKind::shift_right_with_zero_point) {
            if (amount + bits_of(operands_[c].zero_point) > 62) return false;
            factor = operands_[c].zero_point * (std::int64_t{1} << amount);
          }
          break;
        case StageKind::add_zero_point: factor = operands_[c].zero_point; break;
        case StageKind::add_half:
          amount = shift_amount(stage, fraction[c], operands_[c]);
          if (amount > 62) return false;
          factor = amount <= 0 ? 0 : std::int64_t{1} << (amount - 1);
          break;
        case StageKind::two_term_shift:
          factor = two_term_factor(scale.multiplier);
          fraction[c] = fraction_after_multiply(fraction[c], scale.fraction_bits);
          break;
        case StageKind::table:
        case StageKind::pwl: return false;
        default: break;
      }
      const bool multiplies =
          stage.kind == StageKind::multiply || stage.kind == StageKind::doubling_high_multiply || stage.kind == StageKind::two_term_shift;
      if (multiplies) grown = std::max(grown, bits + bits_of(factor));
      if (stage.kind == StageKind::shift_left) grown = std::max(grown, bits + amount);
      if (stage.kind == StageKind::add_zero_point || stage.kind == StageKind::add_half ||
          stage.kind == StageKind::shift_right_with_zero_point)
        grown = std::max(grown, std::max(bits, bits_of(factor) + 1) + 1);
      if (scales_in_float(stage.kind)) grown = 63;
      if (stage.kind == StageKind::clamp) grown = std::max(grown, clamped_bits(operands_[c].min, operands_[c].max));
      if (stage.kind == StageKind::saturate) grown = std::max(grown, clamped_bits(operands_[c].storage_min, operands_[c].storage_max));
      wide.factor.push_back(factor);
      wide.amount.push_back(amount);
    }
    if (grown > 64) return false;
    const bool bounds = stage.kind == StageKind::narrow || stage.kind == StageKind::shift_left || stage.kind == StageKind::add_half ||
                        stage.kind == StageKind::doubling_high_multiply || stage.kind == StageKind::two_term_shift;
    bits = bounds && stage.overflow != Overflow::exact ? std::min<int>(grown, stage.bits) : grown;
    if (shifts_right(stage.kind)) bits = std::max(2, grown - *std::min_element(wide.amount.begin(), wide.amount.end()) + 1);
    plan_.push_back(std::move(wide));
  }
  return true;
}

void Finisher::run_stage(const WideStage& wide, std::span<std::int64_t> values) const {
  const Stage& stage = wide.stage;
  const std::size_t channels = operands_.size();
  const std::int64_t* const factor = wide.factor.data();
  const int* const amount = wide.amount.data();
  const RescaleOperands* const operands = operands_.data();
  switch (stage.kind) {
    case StageKind::multiply: each(values, channels, [=](std::int64_t& v, std::size_t c) { v *= factor[c]; }); break;
    case StageKind::add_zero_point: each(values, channels, [=](std::int64_t& v, std::size_t c) { v += factor[c]; }); break;
    case StageKind::clamp:
      each(values, channels, [=](std::int64_t& v, std::size_t c) { v = std::clamp(v, operands[c].min, operands[c].max); });
      break;
    case StageKind::relu:
      if (operands->rectifier == Rectifier::at_zero)
        each(values, channels, [](std::int64_t& v, std::size_t) { v = std::max<std::int64_t>(v, 0); });
      break;
    case StageKind::narrow: each(values, channels, [&](std::int64_t& v, std::size_t) { v = narrow(v, stage.bits, stage.overflow); }); break;
    case StageKind::shift_left:
      each(values, channels,
           [&](std::int64_t& v, std::size_t c) { v = narrow(v * (std::int64_t{1} << amount[c]), stage.bits, stage.overflow); });
      break;
    case StageKind::doubling_high_multiply:
      with_rounding(stage.rounding, [&]<Rounding rule>() {
        each(values, channels,
             [=](std::int64_t& v, std::size_t c) { v = narrow_saturate(shift_right<rule>(v * factor[c], amount[c]), stage.bits); });
      });
      break;
    case StageKind::shift_right:
      with_rounding(stage.rounding, [&]<Rounding rule>() {
        each(values, channels, [=](std::int64_t& v, std::size_t c) { v = shift_right<rule>(v, amount[c]); });
      });
      break;
    case StageKind::shift_right_with_zero_point:
      with_rounding(stage.rounding, [&]<Rounding rule>() {
        each(values, channels, [=](std::int64_t& v, std::size_t c) { v = shift_right<rule>(v + factor[c], amount[c]); });
      });
      break;
    case StageKind::float_scale_with_zero_point:
      each(values, channels, [=](std::int64_t& v, std::size_t c) { v = scale_onto_zero_point(v, stage, operands[c]); });
      break;
    case StageKind::float_scale:
      each(values, channels, [=](std::int64_t& v, std::size_t c) { v = scale_in_float(v, stage, operands[c].scale); });
      break;
    case StageKind::two_term_shift:
      each(values, channels, [=](std::int64_t& v, std::size_t c) { v = narrow(v * factor[c], stage.bits, stage.overflow); });
      break;
    case StageKind::add_half:
      each(values, channels, [=](std::int64_t& v, std::size_t c) { v = narrow(v + factor[c], stage.bits, stage.overflow); });
      break;
    case StageKind::clip:
      each(values, channels, [=](std::int64_t& v, std::size_t c) {
        if (operands[c].clip != no_clip) v = std::clamp<std::int64_t>(v, 0, operands[c].clip);
      });
      break;
    case StageKind::saturate:
      each(values, channels, [=](std::int64_t& v, std::size_t c) { v = std::clamp(v, operands[c].storage_min, operands[c].storage_max); });
      break;
    case StageKind::table:
    case StageKind::pwl: break;  // never planned
  }
}

void Finisher::run_reference(std::span<std::int64_t> values, Events* events) const {
  each(values, operands_.size(), [&](std::int64_t& value, std::size_t c) {
    InFlight at{value, 0};
    for (const Stage& stage : chain_) {
      const InFlight before = at;
      at = apply(stage, at, operands_[c]);
      const bool bounds = stage.kind == StageKind::clamp || stage.kind == StageKind::saturate;
      if (events != nullptr && bounds && at.value != before.value) ++events->saturated_outputs;
    }
    value = narrow_saturate(at.value, 64);
  });
}

void Finisher::operator()(std::span<std::int64_t> values, Events* events) const {
  if (events != nullptr) events->outputs += static_cast<std::int64_t>(values.size());
  if (plan_.empty() || events != nullptr) return run_reference(values, events);
  for (const WideStage& wide : plan_) run_stage(wide, values);
}

void Finisher::operator()(std::span<const std::int32_t> sums, Tensor& output, std::size_t offset, Events* events) const {
  const std::vector<std::int64_t> wide(sums.begin(), sums.end());
  (*this)(wide, output, offset, events);
}

void Finisher::operator()(std::span<const std::int64_t> sums, Tensor& output, std::size_t offset, Events* events) const {
  std::vector<std::int64_t> values(sums.begin(), sums.end());
  (*this)(values, events);
  store(values, output, offset);
}

namespace {

template <class Value>
void store_values(std::span<const Value> values, Tensor& tensor, std::size_t offset) {
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const auto out = tensor.values<T>().subspan(offset, values.size());
      std::transform(values.begin(), values.end(), out.begin(), [](Value value) { return static_cast<T>(value); });
    }
  });
}

}  // namespace

void store(std::span<const std::int64_t> values, Tensor& tensor, std::size_t offset) { store_values(values, tensor, offset); }
void store(std::span<const std::int32_t> values, Tensor& tensor, std::size_t offset) { store_values(values, tensor, offset); }

}  // namespace lastbit
