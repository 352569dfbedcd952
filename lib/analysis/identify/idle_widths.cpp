// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/idle_widths.hpp"

#include <algorithm>
#include <utility>

#include "analysis/identify/conv_search.hpp"

namespace lastbit {
namespace {

/// Follows a chain at both ends of an interval. As long as every step keeps the order of values, or turns it round, no value between is narrowed where both
/// ends are not.
class EndsMachine {
 public:
  EndsMachine(const RescaleOperands& operands, const IntegerRange& accumulators)
      : operands_(operands), low_({accumulators.min, 0}, operands), high_({accumulators.max, 0}, operands) {}

  /// Products and left shifts of one stage then stay below 2^127.
  void begin_stage() {
    acts_ = false;
    keeps_order_ = keeps_order_ && fits_width(low_.at().value, 64) && fits_width(high_.at().value, 64);
  }
  /// Whether the stage has narrowed a value, or may have.
  [[nodiscard]] bool acts() const { return acts_ || !keeps_order_; }

  bool shift_left(auto&& places) { return low_.shift_left(places) && high_.shift_left(places); }
  bool multiply(auto&& factor) { return low_.multiply(factor) && high_.multiply(factor); }
  bool shift_right(auto&& amount, Rounding rounding) { return low_.shift_right(amount, rounding) && high_.shift_right(amount, rounding); }
  bool add(auto&& addend) { return low_.add(addend) && high_.add(addend); }
  bool add_by_sign(auto&& addends) {
    const std::pair<Int128, Int128> both = addends(operands_, low_.at().fraction_bits);
    if (both.second > both.first + 1) keeps_order_ = false;
    return low_.add_by_sign(addends) && high_.add_by_sign(addends);
  }
  bool add_and_narrow(auto&& addend, int bits, Overflow overflow) { return add(addend) && narrow(bits, overflow); }
  bool narrow(int bits, Overflow overflow) {
    const Int128 low = low_.at().value, high = high_.at().value;
    low_.narrow(bits, overflow);
    high_.narrow(bits, overflow);
    const bool acts = low_.at().value != low || high_.at().value != high;
    acts_ = acts_ || acts;
    if (acts && overflow == Overflow::wrap) keeps_order_ = false;
    return true;
  }
  bool clamp(auto&& bounds) { return low_.clamp(bounds) && high_.clamp(bounds); }
  bool scale_in_float(auto&& real, Rounding rounding) {
    return low_.scale_in_float(real, rounding) && high_.scale_in_float(real, rounding);
  }
  bool divide(auto&& divisor, Rounding rounding) { return low_.divide(divisor, rounding) && high_.divide(divisor, rounding); }
  bool piecewise(auto&& acts, auto&& piece_of, auto&& function) {
    if (acts(operands_)) keeps_order_ = false;
    return low_.piecewise(acts, piece_of, function) && high_.piecewise(acts, piece_of, function);
  }
  bool look_up(auto&& function) {
    keeps_order_ = false;
    return low_.look_up(function) && high_.look_up(function);
  }
  bool binary_point(auto&& fraction_bits) { return low_.binary_point(fraction_bits) && high_.binary_point(fraction_bits); }

 private:
  const RescaleOperands& operands_;
  ExactMachine low_, high_;
  bool acts_ = false, keeps_order_ = true;
};

}  // namespace

StageBits acting_widths(const Chain& chain, const RescaleOperands& operands, const IntegerRange& accumulators) {
  EndsMachine ends(operands, accumulators);
  StageBits acting = 0;
  for (std::size_t number = 0; number < chain.size; ++number) {
    ends.begin_stage();
    run(chain.stages[number], ends);
    if (ends.acts()) acting |= StageBits{1} << number;
  }
  return acting;
}

Chain without_idle_widths(const Chain& chain, StageBits acting) {
  Chain left;
  for (std::size_t number = 0; number < chain.size; ++number) {
    Stage stage = chain.stages[number];
    const bool is_idle = (acting >> number & 1) == 0 && facts_of(stage).reads(stage).overflow;
    if (is_idle && stage.kind == StageKind::narrow) continue;
    if (is_idle) stage.bits = 0, stage.overflow = Overflow::exact;
    left.append(stage);
  }
  return left;
}

bool reads_real_scale(const Chain& chain) {
  return std::ranges::any_of(chain, [](const Stage& stage) { return scale_of(stage) == ScaleUse::in_float; });
}

std::uint64_t hash_of(const Chain& chain) {
  std::uint64_t hash = chain.size;
  for (const Stage& stage : chain) {
    const int members[] = {static_cast<int>(stage.kind),
                           static_cast<int>(stage.rounding),
                           static_cast<int>(stage.overflow),
                           stage.bits,
                           static_cast<int>(stage.amount),
                           stage.constant,
                           stage.limit};
    for (const int member : members) hash = mixed(hash, member);
  }
  return hash;
}

}  // namespace lastbit
