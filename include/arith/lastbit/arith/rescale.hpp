// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The way from an accumulator to an output: a chain of stages in hardware order. A stage is a rule (a constant of the device); what a
// layer brings (multiplier, exponent, zero point, bounds) comes in through RescaleOperands. One function, `apply`, defines every stage:
//
//   shift_left              v * 2^max(exponent, 0), narrowed to `bits` by `overflow`
//   shift_left_by           v * 2^constant, narrowed to `bits` by `overflow`
//   divide                  v / count by `rounding`: the count of values that were summed
//   multiply                v * M exactly; M = the encoded multiplier, first narrowed to `bits` bits by `rounding` (0 bits: as it is)
//   doubling_high_multiply  v * multiplier / 2^(bits - 1) by `rounding`, saturated to `bits`
//   two_term_shift          v + v * 2^k, where the multiplier is 2^k + 1, narrowed to `bits` by `overflow`
//   shift_right             v / 2^n by `rounding`; n = `amount`, with r = fraction bits - exponent of the encoded scale:
//                           remaining          what the multiply left over
//                           negative_exponent  max(-exponent, 0)
//                           constant           a constant
//                           fraction           the fraction bits alone
//                           excess             before the multiply: what of r goes beyond `constant` - bits of the output, at least 0 and at
//                                              most `limit`; 0 for data of 16 bits or less, which fit the multiplier as they are
//                           rest               after it: r less what `excess` has shifted, at least 0 and at most `limit`
//   shift_right_with_zero_point  v / 2^n + output zero point by `rounding`, one rounding of the sum; n as in shift_right
//   add_half                v + 2^(n-1), n = `amount` of the shift_right that follows, if n > 0; narrowed to `bits` by `overflow`
//   float_scale             v * scale, both and the product in float (`arithmetic` f32) or double (f64), rounded to an integer by `rounding`
//   float_scale_with_zero_point  v * scale + output zero point: product and sum in float (`f32`) or double (`f64`), each rounded to it, then to
//                           an integer by `rounding`
//   narrow                  to `bits` by `overflow`
//   relu                    max(v, 0) if the layer has a rectifier
//   clip                    into [0, clip] if the layer has a clip of its accumulators
//   add_zero_point          v + output zero point
//   clamp                   into the layer's bounds, its activation's included
//   saturate                into the layer's bounds, its activation's not included: a device whose activation acts on the accumulator
//   table, pwl              look-up (table.hpp) and piecewise-linear function (pwl.hpp) of the layer
//
// Values are Int128, in which a 64-bit accumulator times a 32-bit multiplier, shifted left by at most 31, fits; beyond that sums, products
// and left shifts are modulo 2^128.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string_view>

#include "lastbit/arith/multiplier.hpp"
#include "lastbit/arith/overflow.hpp"
#include "lastbit/arith/pwl.hpp"
#include "lastbit/arith/rounding.hpp"
#include "lastbit/arith/table.hpp"

namespace lastbit {

// clang-format off
enum class StageKind : std::uint8_t {
  shift_left, multiply, doubling_high_multiply, two_term_shift, shift_right, float_scale, narrow, relu, add_zero_point, clamp, table, pwl,
  add_half, clip, saturate, shift_right_with_zero_point, float_scale_with_zero_point,
  shift_left_by, divide,
};
// clang-format on

enum class ShiftAmount : std::uint8_t { remaining, negative_exponent, constant, fraction, excess, rest };

struct Stage {
  StageKind kind = StageKind::clamp;
  Rounding rounding = Rounding::floor;
  Overflow overflow = Overflow::saturate;
  std::uint8_t bits = 0;
  ShiftAmount amount = ShiftAmount::remaining;
  std::uint8_t constant = 0;
  std::uint8_t limit = 0;  ///< largest shift; read by excess and rest
  ScaleArithmetic arithmetic = ScaleArithmetic::f32;

  friend constexpr bool operator==(const Stage&, const Stage&) = default;
};

/// A number of a device's data sheet: one out of range does not compile. Numbers from files are checked where they are read.
template <int least, int most>
struct DeviceConstant {
  std::uint8_t value;
  consteval DeviceConstant(int number) : value(static_cast<std::uint8_t>(number)) {
    if (number < least || number > most) throw "device constant out of range";
  }
};
using Width = DeviceConstant<2, 64>;
using MultiplierBits = DeviceConstant<1, 32>;
using ConstantShift = DeviceConstant<0, 62>;

[[nodiscard]] constexpr Stage shift_left(Width bits, Overflow overflow) {
  return {.kind = StageKind::shift_left, .overflow = overflow, .bits = bits.value};
}
[[nodiscard]] constexpr Stage shift_left_by(ConstantShift places, Width bits, Overflow overflow) {
  return {.kind = StageKind::shift_left_by, .overflow = overflow, .bits = bits.value, .constant = places.value};
}
[[nodiscard]] constexpr Stage divide_by_count(Rounding rounding) { return {.kind = StageKind::divide, .rounding = rounding}; }
[[nodiscard]] constexpr Stage multiply() { return {.kind = StageKind::multiply}; }
[[nodiscard]] constexpr Stage multiply(MultiplierBits bits, Rounding narrowing) {
  return {.kind = StageKind::multiply, .rounding = narrowing, .bits = bits.value};
}
[[nodiscard]] constexpr Stage doubling_high_multiply(Width bits, Rounding rounding) {
  return {.kind = StageKind::doubling_high_multiply, .rounding = rounding, .bits = bits.value};
}
[[nodiscard]] constexpr Stage two_term_shift(Width bits, Overflow overflow) {
  return {.kind = StageKind::two_term_shift, .overflow = overflow, .bits = bits.value};
}
[[nodiscard]] constexpr Stage shift_right(Rounding rounding) { return {.kind = StageKind::shift_right, .rounding = rounding}; }
/// The zero point joins before the rounding, so that the rule sees the code's own sign and parity.
[[nodiscard]] constexpr Stage shift_right_with_zero_point(Rounding rounding) {
  return {.kind = StageKind::shift_right_with_zero_point, .rounding = rounding};
}
[[nodiscard]] constexpr Stage float_scale_with_zero_point(Rounding rounding, ScaleArithmetic arithmetic = ScaleArithmetic::f32) {
  return {.kind = StageKind::float_scale_with_zero_point, .rounding = rounding, .arithmetic = arithmetic};
}
[[nodiscard]] constexpr Stage shift_right_by_exponent(Rounding rounding) {
  return {.kind = StageKind::shift_right, .rounding = rounding, .amount = ShiftAmount::negative_exponent};
}
[[nodiscard]] constexpr Stage shift_right_by(ConstantShift places, Rounding rounding) {
  return {.kind = StageKind::shift_right, .rounding = rounding, .amount = ShiftAmount::constant, .constant = places.value};
}
/// To the binary point of the multiplier: what the exponent asks for is left to a later shift.
[[nodiscard]] constexpr Stage shift_right_by_fraction(Rounding rounding) {
  return {.kind = StageKind::shift_right, .rounding = rounding, .amount = ShiftAmount::fraction};
}
[[nodiscard]] constexpr Stage shift_right_excess(ConstantShift beyond, ConstantShift limit, Rounding rounding) {
  return {
      .kind = StageKind::shift_right, .rounding = rounding, .amount = ShiftAmount::excess, .constant = beyond.value, .limit = limit.value};
}
[[nodiscard]] constexpr Stage shift_right_rest(ConstantShift limit, Rounding rounding) {
  return {.kind = StageKind::shift_right, .rounding = rounding, .amount = ShiftAmount::rest, .limit = limit.value};
}
/// Half a unit before a shift_right of the same amount that truncates.
[[nodiscard]] constexpr Stage add_half(Width bits, Overflow overflow) {
  return {.kind = StageKind::add_half, .overflow = overflow, .bits = bits.value};
}
[[nodiscard]] constexpr Stage add_half_by_exponent(Width bits, Overflow overflow) {
  return {.kind = StageKind::add_half, .overflow = overflow, .bits = bits.value, .amount = ShiftAmount::negative_exponent};
}
[[nodiscard]] constexpr Stage float_scale(Rounding rounding, ScaleArithmetic arithmetic = ScaleArithmetic::f32) {
  return {.kind = StageKind::float_scale, .rounding = rounding, .arithmetic = arithmetic};
}
[[nodiscard]] constexpr Stage narrow_to(Width bits, Overflow overflow) {
  return {.kind = StageKind::narrow, .overflow = overflow, .bits = bits.value};
}
[[nodiscard]] constexpr Stage relu() { return {.kind = StageKind::relu}; }
[[nodiscard]] constexpr Stage clip() { return {.kind = StageKind::clip}; }
[[nodiscard]] constexpr Stage add_zero_point() { return {.kind = StageKind::add_zero_point}; }
[[nodiscard]] constexpr Stage clamp() { return {.kind = StageKind::clamp}; }
[[nodiscard]] constexpr Stage saturate() { return {.kind = StageKind::saturate}; }
[[nodiscard]] constexpr Stage table() { return {.kind = StageKind::table}; }
[[nodiscard]] constexpr Stage pwl() { return {.kind = StageKind::pwl}; }

inline constexpr std::size_t max_stages = 8;

struct Chain {
  std::array<Stage, max_stages> stages{};
  std::uint8_t size = 0;

  constexpr Chain() = default;
  constexpr Chain(std::initializer_list<Stage> list) {
    for (const Stage& stage : list) append(stage);
  }
  /// One stage more than max_stages throws std::length_error; in a constant it does not compile.
  constexpr void append(const Stage& stage) {
    if (size >= max_stages) throw std::length_error("a chain has at most 8 stages");
    stages[size++] = stage;
  }
  [[nodiscard]] friend constexpr Chain operator+(Chain chain, const Stage& stage) {
    chain.append(stage);
    return chain;
  }
  [[nodiscard]] friend constexpr Chain operator+(Chain chain, const Chain& more) {
    for (const Stage& stage : more) chain.append(stage);
    return chain;
  }
  [[nodiscard]] constexpr const Stage* begin() const { return stages.data(); }
  [[nodiscard]] constexpr const Stage* end() const { return stages.data() + size; }
  [[nodiscard]] constexpr bool empty() const { return size == 0; }
  friend constexpr bool operator==(const Chain&, const Chain&) = default;
};

[[nodiscard]] constexpr bool shifts_right(StageKind kind) {
  return kind == StageKind::shift_right || kind == StageKind::shift_right_with_zero_point;
}
[[nodiscard]] constexpr bool scales_in_float(StageKind kind) {
  return kind == StageKind::float_scale || kind == StageKind::float_scale_with_zero_point;
}

/// Whether a chain reads the encoded multiplier or its exponent; a chain that multiplies in float reads only how the scale is computed.
[[nodiscard]] constexpr bool reads_multiplier(const Chain& chain) {
  for (const Stage& stage : chain) {
    const StageKind kind = stage.kind;
    if (kind == StageKind::shift_left || kind == StageKind::multiply || kind == StageKind::doubling_high_multiply ||
        kind == StageKind::two_term_shift || (shifts_right(kind) && stage.amount != ShiftAmount::constant)) {
      return true;
    }
  }
  return false;
}

/// Whether a chain turns the unit of the accumulator into that of the output by a scale; a division by the count does it without.
[[nodiscard]] constexpr bool applies_scale(const Chain& chain) {
  for (const Stage& stage : chain) {
    if (scales_in_float(stage.kind)) return true;
  }
  return reads_multiplier(chain);
}

enum class Rectifier : std::uint8_t { none, at_zero };

inline constexpr std::int64_t no_clip = -1;

/// What a layer, or a channel of it, brings to the chain.
struct RescaleOperands {
  EncodedScale scale{};
  std::int64_t zero_point = 0;
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  Rectifier rectifier = Rectifier::none;
  LookupTable table{};
  std::span<const PwlSegment> pwl{};
  int data_bits = 32;   ///< width of what comes in
  int output_bits = 8;  ///< width of what goes out
  std::int64_t clip = no_clip;
  std::int64_t storage_min = std::numeric_limits<std::int64_t>::min();  ///< read by saturate
  std::int64_t storage_max = std::numeric_limits<std::int64_t>::max();
  std::int64_t count = 1;  ///< read by divide
};

/// The multiplier a `multiply` stage uses, and how many of its bits are fraction.
struct NarrowedMultiplier {
  std::int64_t multiplier = 0;
  int fraction_bits = 0;
};

/// Drops low bits until `bits` of the significant bits remain; a carry beyond them saturates.
[[nodiscard]] constexpr NarrowedMultiplier narrow_multiplier(const EncodedScale& scale, int bits, Rounding rounding) noexcept {
  const int dropped = scale.significant_bits - bits;
  if (bits == 0 || dropped <= 0) return {scale.multiplier, scale.fraction_bits};
  const std::int64_t largest = (std::int64_t{1} << bits) - 1;
  return {std::min(shift_right(scale.multiplier, dropped, rounding), largest), scale.fraction_bits - dropped};
}

/// A value on its way through the chain.
struct InFlight {
  Int128 value = 0;
  int fraction_bits = 0;  ///< places below the binary point that a multiply stage has added; negative: that a shift before it has taken
};

/// n of a shift_right or add_half stage.
[[nodiscard]] constexpr int shift_amount(const Stage& stage, int fraction_bits, const RescaleOperands& operands) noexcept {
  const int exponent = operands.scale.exponent;
  switch (stage.amount) {
    case ShiftAmount::negative_exponent: return std::max(-exponent, 0);
    case ShiftAmount::constant: return stage.constant;
    case ShiftAmount::fraction: return fraction_bits;
    case ShiftAmount::excess: {
      const int kept = stage.constant - operands.output_bits;
      return operands.data_bits <= 16 ? 0 : std::clamp<int>(operands.scale.fraction_bits - exponent - kept, 0, stage.limit);
    }
    case ShiftAmount::rest: return std::clamp<int>(fraction_bits - exponent, 0, stage.limit);
    case ShiftAmount::remaining: break;
  }
  return fraction_bits - exponent;
}
/// The fraction bits that a shift by `amount` leaves, and that a multiplier of `added` of them leaves.
[[nodiscard]] constexpr int fraction_after_shift(const Stage& stage, int amount) noexcept {
  return stage.amount == ShiftAmount::excess ? -amount : 0;
}
[[nodiscard]] constexpr int fraction_after_multiply(int fraction_bits, int added) noexcept { return std::min(fraction_bits, 0) + added; }

/// value / 2^amount for any amount: a negative one is a shift left modulo 2^128, one beyond the width leaves only sign and fraction.
[[nodiscard]] constexpr Int128 shift_any(Int128 value, int amount, Rounding rounding) noexcept {
  if (amount <= 0) return multiply_modulo(value, Int128{1} << std::min(-amount, 62));
  return shift_right(value, std::min(amount, width_of<Int128> - 2), rounding);
}

/// 2^k + 1, where k is the largest for which that is at most the multiplier, and at least 0.
[[nodiscard]] constexpr std::int64_t two_term_factor(std::int64_t multiplier) noexcept {
  return multiplier < 2 ? 2 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(multiplier - 1))) + 1;
}

[[nodiscard]] constexpr Int128 doubling_high(Int128 value, const Stage& stage, std::int64_t multiplier) noexcept {
  return narrow_saturate(shift_right(multiply_modulo(value, multiplier), stage.bits - 1, stage.rounding), stage.bits);
}

/// 2^(n-1); a shift by nothing, or to the left, has no half.
[[nodiscard]] constexpr Int128 half_of(const Stage& stage, const InFlight& at, const RescaleOperands& operands) noexcept {
  const int amount = shift_amount(stage, at.fraction_bits, operands);
  return amount <= 0 ? Int128{0} : Int128{1} << std::min(amount - 1, width_of<Int128> - 2);
}

[[nodiscard]] constexpr std::int64_t scale_in_float(std::int64_t value, const Stage& stage, const EncodedScale& scale) noexcept {
  if (stage.arithmetic == ScaleArithmetic::f64) return round_to_integer(static_cast<double>(value) * scale.real_f64, stage.rounding);
  return round_to_integer(static_cast<float>(value) * scale.real_f32, stage.rounding);
}

/// float(v) * s + zero point; a float sum rounded from the double one is the float sum.
[[nodiscard]] constexpr std::int64_t scale_onto_zero_point(std::int64_t value, const Stage& stage,
                                                           const RescaleOperands& operands) noexcept {
  const auto zero_point = static_cast<double>(operands.zero_point);
  if (stage.arithmetic == ScaleArithmetic::f64) {
    const double product = static_cast<double>(value) * operands.scale.real_f64;
    return round_to_integer(product + zero_point, stage.rounding);
  }
  const float product = static_cast<float>(value) * operands.scale.real_f32;
  return round_to_integer(static_cast<float>(static_cast<double>(product) + zero_point), stage.rounding);
}

/// The zero point in units of a value that is yet to be shifted right by `amount`; from 100 places on only the sign of the value counts.
inline constexpr int widest_zero_point_shift = 100;
[[nodiscard]] constexpr Int128 shift_onto_zero_point(Int128 value, int amount, const Stage& stage, std::int64_t zero_point) noexcept {
  if (amount <= 0) return add_modulo(shift_any(value, amount, stage.rounding), zero_point);
  const int places = std::min(amount, widest_zero_point_shift);
  return shift_right(add_modulo(value, multiply_modulo(zero_point, Int128{1} << places)), places, stage.rounding);
}

/// One stage on one value: the definition. float_scale, table and pwl read the low 64 (32) bits, which earlier stages have settled.
[[nodiscard]] constexpr InFlight apply(const Stage& stage, InFlight at, const RescaleOperands& operands) noexcept {
  const Int128 v = at.value;
  const EncodedScale& scale = operands.scale;
  switch (stage.kind) {
    case StageKind::shift_left:
      at.value = narrow(multiply_modulo(v, Int128{1} << std::clamp(scale.exponent, 0, 62)), stage.bits, stage.overflow);
      break;
    case StageKind::shift_left_by: at.value = narrow(multiply_modulo(v, Int128{1} << stage.constant), stage.bits, stage.overflow); break;
    case StageKind::divide: at.value = divide(v, Int128{operands.count}, stage.rounding); break;
    case StageKind::multiply: {
      const NarrowedMultiplier narrowed = narrow_multiplier(scale, stage.bits, stage.rounding);
      at = {multiply_modulo(v, narrowed.multiplier), fraction_after_multiply(at.fraction_bits, narrowed.fraction_bits)};
      break;
    }
    case StageKind::doubling_high_multiply: at.value = doubling_high(v, stage, scale.multiplier); break;
    case StageKind::two_term_shift: {
      at = {narrow(multiply_modulo(v, two_term_factor(scale.multiplier)), stage.bits, stage.overflow),
            fraction_after_multiply(at.fraction_bits, scale.fraction_bits)};
      break;
    }
    case StageKind::shift_right: {
      const int amount = shift_amount(stage, at.fraction_bits, operands);
      at = {shift_any(v, amount, stage.rounding), fraction_after_shift(stage, amount)};
      break;
    }
    case StageKind::shift_right_with_zero_point: {
      const int amount = shift_amount(stage, at.fraction_bits, operands);
      at = {shift_onto_zero_point(v, amount, stage, operands.zero_point), fraction_after_shift(stage, amount)};
      break;
    }
    case StageKind::add_half: at.value = narrow(add_modulo(v, half_of(stage, at, operands)), stage.bits, stage.overflow); break;
    case StageKind::float_scale: at.value = scale_in_float(static_cast<std::int64_t>(v), stage, scale); break;
    case StageKind::float_scale_with_zero_point: at.value = scale_onto_zero_point(static_cast<std::int64_t>(v), stage, operands); break;
    case StageKind::narrow: at.value = narrow(v, stage.bits, stage.overflow); break;
    case StageKind::relu: at.value = operands.rectifier == Rectifier::at_zero ? std::max<Int128>(v, 0) : v; break;
    case StageKind::clip: at.value = operands.clip == no_clip ? v : std::clamp<Int128>(v, 0, operands.clip); break;
    case StageKind::add_zero_point: at.value = add_modulo(v, operands.zero_point); break;
    case StageKind::clamp: at.value = std::clamp<Int128>(v, operands.min, operands.max); break;
    case StageKind::saturate: at.value = std::clamp<Int128>(v, operands.storage_min, operands.storage_max); break;
    case StageKind::table: at.value = operands.table(narrow_saturate(v, 64)); break;
    case StageKind::pwl: at.value = evaluate_pwl(operands.pwl, static_cast<std::int32_t>(narrow_saturate(v, 32))); break;
  }
  return at;
}

/// The whole chain on one accumulator.
[[nodiscard]] constexpr std::int64_t finish(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands) noexcept {
  InFlight at{accumulator, 0};
  for (const Stage& stage : chain) at = apply(stage, at, operands);
  return narrow_saturate(at.value, 64);
}

}  // namespace lastbit
