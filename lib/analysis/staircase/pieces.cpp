// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/staircase/pieces.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace lastbit {
namespace {

/// Values, products and sums of more bits are not followed: the exact machine computes them modulo 2^128.
constexpr int most_bits = 126;

/// How many bits the magnitude has.
int magnitude_bits(Int128 value) {
  const UInt128 magnitude = value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  const auto high = static_cast<std::uint64_t>(magnitude >> 64), low = static_cast<std::uint64_t>(magnitude);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low));
}

/// The exact machine, stopped after so many steps.
class FirstSteps {
 public:
  FirstSteps(std::int64_t accumulator, const RescaleOperands& operands, int steps) : exact_({accumulator, 0}, operands), left_(steps) {}
  [[nodiscard]] Int128 value() const { return exact_.at().value; }
  [[nodiscard]] const RescaleOperands& operands() const { return exact_.operands(); }

  bool shift_left(auto&& places) { return goes_on() && exact_.shift_left(places); }
  bool multiply(auto&& factor) { return goes_on() && exact_.multiply(factor); }
  bool shift_right(auto&& amount, Rounding rounding) { return goes_on() && exact_.shift_right(amount, rounding); }
  bool add(auto&& addend) { return goes_on() && exact_.add(addend); }
  bool add_by_sign(auto&& addends) { return goes_on() && exact_.add_by_sign(addends); }
  bool add_and_narrow(auto&& addend, int bits, Overflow overflow) { return add(addend) && narrow(bits, overflow); }
  bool narrow(int bits, Overflow overflow) { return goes_on() && exact_.narrow(bits, overflow); }
  bool clamp(auto&& bounds) { return goes_on() && exact_.clamp(bounds); }
  bool scale_in_float(auto&& real, Rounding rounding) { return goes_on() && exact_.scale_in_float(real, rounding); }
  bool divide(auto&& divisor, Rounding rounding) { return goes_on() && exact_.divide(divisor, rounding); }
  bool piecewise(auto&& acts, auto&& piece_of, auto&& function) { return goes_on() && exact_.piecewise(acts, piece_of, function); }
  bool look_up(auto&& function) { return goes_on() && exact_.look_up(function); }
  bool binary_point(auto&& fraction_bits) { return goes_on() && exact_.binary_point(fraction_bits); }

 private:
  bool goes_on() { return left_-- > 0; }

  ExactMachine exact_;
  int left_;
};

/// An interval, and the values at its ends after the steps so far.
struct Piece {
  IntegerRange accumulators;
  Int128 at_first = 0, at_last = 0;
};

class Splitter {
 public:
  Splitter(const Chain& chain, const RescaleOperands& operands, const IntegerRange& accumulators, std::size_t most)
      : chain_(chain), operands_(operands), most_(most), pieces_{{accumulators, accumulators.min, accumulators.max}} {}

  [[nodiscard]] std::optional<std::vector<IntegerRange>> run_chain() {
    for (const Stage& stage : chain_) {
      stage_ = &stage;
      if (!run(stage, *this)) return std::nullopt;
    }
    std::vector<IntegerRange> parts;
    for (const Piece& piece : pieces_) parts.push_back(piece.accumulators);
    return parts;
  }

  [[nodiscard]] const RescaleOperands& operands() const { return operands_; }

  bool shift_left(auto&& places) {
    return grows_by(places(operands_)) && put([&](ExactMachine& one) { one.shift_left(places); });
  }
  bool multiply(auto&& factor) {
    return grows_by(magnitude_bits(factor(operands_))) && put([&](ExactMachine& one) { one.multiply(factor); });
  }
  bool shift_right(auto&& amount, Rounding rounding) {
    const int places = amount(operands_, fraction_);
    return grows_by(places < 0 ? -places : 1) && put([&](ExactMachine& one) { one.shift_right(amount, rounding); });
  }
  bool add(auto&& addend) {
    return magnitude_bits(addend(operands_, fraction_)) < most_bits && grows_by(1) && put([&](ExactMachine& one) { one.add(addend); });
  }
  bool add_by_sign(auto&& addends) {
    const auto [above, below] = addends(operands_, fraction_);
    if (above != below && !split([](Int128 value) { return value < 0 ? Int128{-1} : Int128{0}; })) return false;
    return magnitude_bits(std::max(above, below)) < most_bits && grows_by(1) && put([&](ExactMachine& one) { one.add_by_sign(addends); });
  }
  bool add_and_narrow(auto&& addend, int bits, Overflow overflow) { return add(addend) && narrow(bits, overflow); }
  bool narrow(int bits, Overflow overflow) {
    const Int128 half = Int128{1} << (bits - 1);
    if (overflow == Overflow::wrap && !split([&](Int128 value) { return (value + half) >> bits; })) return false;
    return put([&](ExactMachine& one) { one.narrow(bits, overflow); });
  }
  bool clamp(auto&& bounds) {
    return put([&](ExactMachine& one) { one.clamp(bounds); });
  }
  bool scale_in_float(auto&& real, Rounding rounding) {
    return within(64) && put([&](ExactMachine& one) { one.scale_in_float(real, rounding); });
  }
  bool divide(auto&& divisor, Rounding rounding) {
    return put([&](ExactMachine& one) { one.divide(divisor, rounding); });
  }
  bool piecewise(auto&& acts, auto&& piece_of, auto&& function) {
    return (!acts(operands_) || split(piece_of)) && put([&](ExactMachine& one) { one.piecewise(acts, piece_of, function); });
  }
  bool look_up(auto&& function) {
    return rises_or_falls() && split([&](Int128 value) { return entry(value); }) && put([&](ExactMachine& one) { one.look_up(function); });
  }
  bool binary_point(auto&& fraction_bits) {
    fraction_ = fraction_bits(operands_, fraction_);
    ++steps_;
    return true;
  }

 private:
  /// All through each entry. A segment whose rounding steps down below 0 does neither there.
  [[nodiscard]] bool rises_or_falls() const {
    if (stage_->kind != StageKind::segments || stage_->step == RoundingStep::up || operands_.segments.empty()) return true;
    const Int128 first = operands_.segments.front().start;
    const bool reaches_below =
        std::ranges::any_of(pieces_, [=](const Piece& piece) { return std::min(piece.at_first, piece.at_last) < first; });
    return !reaches_below && std::ranges::all_of(operands_.segments, [](const ScaleSegment& each) { return each.multiplier >= 0; });
  }

  /// What a look-up takes the value to: an entry of the table, or a segment; of a function that leaves it as it is, all to one.
  [[nodiscard]] Int128 entry(Int128 value) const {
    if (stage_->kind == StageKind::table) {
      const LookupTable& table = operands_.table;
      const auto last = static_cast<std::int64_t>(table.values.size()) - 1;
      return table.values.empty() ? Int128{0} : std::clamp<Int128>(value, table.first, table.first + last);
    }
    if (stage_->kind == StageKind::segments) return Int128{segment_of(operands_.segments, value)};
    const std::int64_t x = narrow_saturate(value, 32);
    const auto above = std::ranges::find_if(operands_.pwl, [&](const PwlSegment& segment) { return segment.x_base > x; });
    return Int128{above - operands_.pwl.begin()};
  }

  [[nodiscard]] bool within(int bits) const {
    return std::ranges::all_of(pieces_,
                               [&](const Piece& piece) { return fits_width(piece.at_first, bits) && fits_width(piece.at_last, bits); });
  }
  [[nodiscard]] bool grows_by(int bits) const {
    return std::ranges::all_of(pieces_, [&](const Piece& piece) {
      return std::max(magnitude_bits(piece.at_first), magnitude_bits(piece.at_last)) + bits < most_bits;
    });
  }

  /// The step on both ends of every piece.
  bool put(auto&& step) {
    for (Piece& piece : pieces_) {
      for (Int128* const value : {&piece.at_first, &piece.at_last}) {
        ExactMachine one({*value, fraction_}, operands_);
        step(one);
        *value = one.at().value;
      }
    }
    ++steps_;
    return true;
  }

  [[nodiscard]] Int128 value_before(std::int64_t accumulator) const {
    FirstSteps machine(accumulator, operands_, steps_);
    for (const Stage& stage : chain_) {
      if (!run(stage, machine)) break;
    }
    return machine.value();
  }

  /// Every piece into parts of one class each, where a value that rises has classes that rise.
  bool split(auto&& class_of) {
    std::vector<Piece> parts;
    for (const Piece& piece : pieces_) {
      Piece rest = piece;
      while (class_of(rest.at_first) != class_of(rest.at_last)) {
        std::int64_t same = rest.accumulators.min, other = rest.accumulators.max;
        while (other - same > 1) {
          const std::int64_t middle = same + (other - same) / 2;
          (class_of(value_before(middle)) == class_of(rest.at_first) ? same : other) = middle;
        }
        parts.push_back({{rest.accumulators.min, same}, rest.at_first, value_before(same)});
        if (parts.size() >= most_) return false;
        rest.accumulators.min = other;
        rest.at_first = value_before(other);
      }
      parts.push_back(rest);
      if (parts.size() > most_) return false;
    }
    pieces_ = std::move(parts);
    return true;
  }

  const Chain& chain_;
  const RescaleOperands& operands_;
  std::size_t most_;
  std::vector<Piece> pieces_;
  const Stage* stage_ = nullptr;
  int steps_ = 0;  ///< done
  int fraction_ = 0;
};

}  // namespace

std::optional<std::vector<IntegerRange>> monotone_pieces(const Chain& chain, const RescaleOperands& operands,
                                                         const IntegerRange& accumulators, std::size_t most) {
  return Splitter(chain, operands, accumulators, most).run_chain();
}

}  // namespace lastbit
