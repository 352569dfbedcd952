// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The multipliers that `identify` looks for in convolutions: those of the built-in sheets and what lies beside them.
#pragma once

#include <vector>

#include "lastbit/backend.hpp"

namespace lastbit {

/// A multiplier as the compiler encodes it, and how many bits of it the device keeps.
struct Multiplier {
  ScaleEncoding scale;
  std::uint8_t kept = 0;  ///< 0: all
  Rounding narrowing = Rounding::floor;
  [[nodiscard]] bool of_layer() const { return scale.normalization == Normalization::layer; }
  /// Whether the largest exponent says which multiplier a usual scale has.
  [[nodiscard]] bool reads_largest_exponent() const {
    return scale.normalization == Normalization::least_error || scale.form == MultiplierForm::odd;
  }
  [[nodiscard]] bool has_fraction() const { return scale.normalization == Normalization::half_to_one; }
  /// Rounded, and that is all.
  [[nodiscard]] bool is_usual() const {
    return (has_fraction() || of_layer()) && scale.form == MultiplierForm::any && scale.added == MultiplierAddend::nothing;
  }
};

/// Those of the sheets, and what differs from one of them that is only rounded in one choice that another one makes: how it is rounded; of a
/// multiplier of the usual kind, how many bits it has, and how many of them are kept.
[[nodiscard]] const std::vector<Multiplier>& multipliers();

/// Those of which a device of so many bits keeps all.
[[nodiscard]] std::vector<Multiplier> whole_multipliers(int bits);

/// How the built-in sheets encode scales of a form.
[[nodiscard]] std::vector<ScaleEncoding> encodings_of(MultiplierForm form);

}  // namespace lastbit
