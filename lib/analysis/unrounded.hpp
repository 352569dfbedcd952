// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a stage rounds, in place of what it makes of it.
#pragma once

#include <optional>
#include <utility>

#include "lastbit/arith/rescale.hpp"

namespace lastbit {

/// value / unit, or a real number.
struct Unrounded {
  Int128 value = 0;
  Int128 unit = 1;
  double real = 0;
  bool is_real = false;
};

/// Computes as ExactMachine and remembers the last value that was rounded, where places were dropped.
class RoundingMachine : public ExactMachine {
 public:
  using ExactMachine::ExactMachine;
  /// Since it was last asked.
  [[nodiscard]] std::optional<Unrounded> take_unrounded() { return std::exchange(unrounded_, std::nullopt); }

  bool shift_right(auto&& amount, Rounding rounding) {
    const int places = amount(operands(), at().fraction_bits);
    if (places > 0 && places < width_of<Int128> - 2) unrounded_ = {.value = at().value, .unit = Int128{1} << places};
    return ExactMachine::shift_right(amount, rounding);
  }
  bool divide(auto&& divisor, Rounding rounding) {
    if (const std::int64_t by = divisor(operands()); by > 1) unrounded_ = {.value = at().value, .unit = by};
    return ExactMachine::divide(divisor, rounding);
  }
  bool scale_in_float(auto&& real, Rounding rounding) {
    unrounded_ = {.real = real(static_cast<std::int64_t>(at().value), operands()), .is_real = true};
    return ExactMachine::scale_in_float(real, rounding);
  }

 private:
  std::optional<Unrounded> unrounded_;
};

/// Nothing where the stage does not round, or drops no place.
[[nodiscard]] inline std::optional<Unrounded> unrounded(const Stage& stage, const InFlight& at, const RescaleOperands& operands) {
  RoundingMachine machine(at, operands);
  run(stage, machine);
  return machine.take_unrounded();
}

}  // namespace lastbit
