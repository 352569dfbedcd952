// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The way from an accumulator to an output: a chain of stages in hardware order. A stage is a rule (a constant of the device); what a
// layer brings (multiplier, exponent, zero point, bounds) comes in through RescaleOperands. stages/<kind>.hpp defines each stage in the steps
// of a machine; the machine here, which computes the value, defines the steps.
//
// Values are Int128, in which a 64-bit accumulator times a 32-bit multiplier, shifted left by at most 31, fits; beyond that sums, products
// and left shifts are modulo 2^128.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>

#include "lastbit/arith/stages.hpp"

namespace lastbit {

inline constexpr std::size_t max_stages = 12;

/// Stages in hardware order, at most max_stages; a constant that can be a template argument.
struct Chain {
  std::array<Stage, max_stages> stages{};
  std::uint8_t size = 0;

  constexpr Chain() = default;
  constexpr Chain(std::initializer_list<Stage> list) {
    for (const Stage& stage : list) append(stage);
  }
  /// One stage more than max_stages throws std::length_error; in a constant it does not compile.
  constexpr void append(const Stage& stage) {
    if (size >= max_stages) throw std::length_error("a chain has at most 12 stages");
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

/// Whether a chain reads the encoded multiplier or its exponent; a chain that multiplies in float reads only how the scale is computed.
[[nodiscard]] constexpr bool reads_multiplier(const Chain& chain) {
  return std::any_of(chain.begin(), chain.end(),
                     [](const Stage& stage) { return scale_of(stage) == ScaleUse::exponent || scale_of(stage) == ScaleUse::multiplier; });
}

/// Whether a chain turns the unit of the accumulator into that of the output by a scale; a division by the count does it without.
[[nodiscard]] constexpr bool applies_scale(const Chain& chain) {
  return std::any_of(chain.begin(), chain.end(), [](const Stage& stage) { return scale_of(stage) != ScaleUse::none; });
}

/// Whether a chain reads what a layer states of its converter.
[[nodiscard]] constexpr bool reads_converter(const Chain& chain) {
  return std::any_of(chain.begin(), chain.end(), [](const Stage& stage) { return stage.kind == StageKind::multiply_by_converter; });
}

[[nodiscard]] constexpr bool ends_in(const Chain& chain, StageKind kind) {
  return !chain.empty() && chain.stages[chain.size - 1U].kind == kind;
}

/// A value on its way through the chain.
struct InFlight {
  Int128 value = 0;
  int fraction_bits = 0;  ///< places below the binary point that a multiply stage has added; negative: that a shift before it has taken
};

/// The machine that computes the value: its steps are the definition.
class ExactMachine {
 public:
  constexpr ExactMachine(const InFlight& at, const RescaleOperands& operands) noexcept : at_(at), operands_(&operands) {}
  [[nodiscard]] constexpr const InFlight& at() const noexcept { return at_; }
  [[nodiscard]] constexpr const RescaleOperands& operands() const noexcept { return *operands_; }

  constexpr bool shift_left(auto&& places) { return put(multiply_modulo(at_.value, Int128{1} << places(*operands_))); }
  constexpr bool multiply(auto&& factor) { return put(multiply_modulo(at_.value, factor(*operands_))); }
  constexpr bool shift_right(auto&& amount, Rounding rounding) {
    return put(shift_any(at_.value, amount(*operands_, at_.fraction_bits), rounding));
  }
  constexpr bool add(auto&& addend) { return put(add_modulo(at_.value, addend(*operands_, at_.fraction_bits))); }
  constexpr bool add_by_sign(auto&& addends) {
    const auto [above, below] = addends(*operands_, at_.fraction_bits);
    return put(add_modulo(at_.value, at_.value < 0 ? below : above));
  }
  constexpr bool add_and_narrow(auto&& addend, int bits, Overflow overflow) { return add(addend) && narrow(bits, overflow); }
  constexpr bool narrow(int bits, Overflow overflow) { return put(lastbit::narrow(at_.value, bits, overflow)); }
  constexpr bool clamp(auto&& bounds) {
    const StageBounds within = bounds(*operands_);
    return put(std::clamp(at_.value, within.low, within.high));
  }
  constexpr bool scale_in_float(auto&& real, Rounding rounding) {
    stated(rounding, "stage", "rounding");
    return put(round_to_integer(real(static_cast<std::int64_t>(at_.value), *operands_), rounding));
  }
  constexpr bool divide(auto&& divisor, Rounding rounding) {
    return put(lastbit::divide(at_.value, Int128{divisor(*operands_)}, rounding));
  }
  constexpr bool piecewise(auto&& acts, auto&&, auto&& function) {
    return put(acts(*operands_) ? function(at_.value, *operands_) : at_.value);
  }
  constexpr bool look_up(auto&& function) { return put(function(at_.value, *operands_)); }
  constexpr bool binary_point(auto&& fraction_bits) {
    at_.fraction_bits = fraction_bits(*operands_, at_.fraction_bits);
    return true;
  }

 private:
  constexpr bool put(Int128 value) noexcept {
    at_.value = value;
    return true;
  }

  InFlight at_;
  const RescaleOperands* operands_;
};

/// The machine with room for whatever a stage computes: nothing is narrowed.
class UnnarrowedMachine : public ExactMachine {
 public:
  using ExactMachine::ExactMachine;
  static constexpr bool narrow(int, Overflow) noexcept { return true; }
  constexpr bool add_and_narrow(auto&& addend, int, Overflow) { return add(addend); }
};

/// One stage on one value.
[[nodiscard]] constexpr InFlight apply(const Stage& stage, const InFlight& at, const RescaleOperands& operands) {
  ExactMachine machine(at, operands);
  run(stage, machine);
  return machine.at();
}

/// The whole chain on one accumulator.
[[nodiscard]] constexpr std::int64_t finish(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands) {
  ExactMachine machine({accumulator, 0}, operands);
  for (const Stage& stage : chain) run(stage, machine);
  return narrow_saturate(machine.at().value, 64);
}

/// The same with room in every stage.
[[nodiscard]] constexpr std::int64_t finish_unnarrowed(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands) {
  UnnarrowedMachine machine({accumulator, 0}, operands);
  for (const Stage& stage : chain) run(stage, machine);
  return narrow_saturate(machine.at().value, 64);
}

}  // namespace lastbit
