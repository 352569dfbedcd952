// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How far shift_right, shift_right_with_zero_point and add_half go: n = `amount`, with r = fraction bits - exponent of the encoded scale:
//
//   remaining          what the multiply left over
//   negative_exponent  max(-exponent, 0)
//   constant           a constant
//   fraction           the fraction bits alone
//   excess             before the multiply: what of r goes beyond `constant` - bits of the output, at least 0 and at most `limit`;
//                      0 for data of 16 bits or less, which fit the multiplier as they are
//   rest               after it: r less what `excess` has shifted, at least 0 and at most `limit`
//   converter          what the layer states of its converter
#pragma once

#include <algorithm>

#include "lastbit/arith/stages/stage.hpp"

namespace lastbit {

/// Refuses a scale that has been encoded in float alone, where a stage reads more of it.
constexpr void require_multiplier(const EncodedScale& scale) {
  if (scale.significant_bits == 0) refuse_unstated("scale", "significant_bits");
}

[[nodiscard]] constexpr int shift_amount(const Stage& stage, const RescaleOperands& operands, int fraction_bits) {
  const bool reads_scale =
      stage.amount != ShiftAmount::constant && stage.amount != ShiftAmount::fraction && stage.amount != ShiftAmount::converter;
  if (reads_scale) require_multiplier(operands.scale);
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
    case ShiftAmount::converter: return operands.converter.shift;
    case ShiftAmount::remaining: break;
  }
  return fraction_bits - exponent;
}

/// The fraction bits that the shift leaves, negative if it went before the multiply; and those after a multiplier of `added` of them.
[[nodiscard]] constexpr int fraction_after_shift(const Stage& stage, const RescaleOperands& operands, int fraction_bits) {
  return stage.amount == ShiftAmount::excess ? -shift_amount(stage, operands, fraction_bits) : 0;
}
[[nodiscard]] constexpr int fraction_after_multiply(int fraction_bits, int added) noexcept { return std::min(fraction_bits, 0) + added; }

/// With what an amount reads.
[[nodiscard]] constexpr StageMembers with_amount(const Stage& stage, StageMembers members) noexcept {
  members.amount = true;
  members.constant = stage.amount == ShiftAmount::constant || stage.amount == ShiftAmount::excess;
  members.limit = stage.amount == ShiftAmount::excess || stage.amount == ShiftAmount::rest;
  return members;
}

[[nodiscard]] constexpr ScaleUse scale_of_shift(const Stage& stage) noexcept {
  return stage.amount == ShiftAmount::constant || stage.amount == ShiftAmount::converter ? ScaleUse::none : ScaleUse::exponent;
}

[[nodiscard]] constexpr int places_after_shift(const Stage& stage, const RescaleOperands& operands, const BinaryPlaces& before) {
  return before.places - shift_amount(stage, operands, before.fraction_before);
}

}  // namespace lastbit
