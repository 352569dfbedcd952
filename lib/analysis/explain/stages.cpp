// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "lastbit/explain.hpp"
#include "lastbit/rules.hpp"
#include "model/wide_digits.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

/// The kind and the rules it reads, sizes with their unit: "multiply 24 bits floor".
std::string name_of_stage(const Stage& stage) {
  std::string text(name_of(stage.kind));
  for (const RuleMember& member : stage_type().members) {
    const void* const value = member_address(member, &stage);
    const bool is_usual = member.type->kind == RuleType::Kind::number ? member.type->load(value) == 0
                                                                      : member.name == "amount" && stage.amount == ShiftAmount::remaining;
    if (member.name == "kind" || !is_read(member, &stage) || is_usual) continue;
    text += " " + value_text(*member.type, value) + (member.name == "bits" ? " bits" : "");
  }
  return text;
}

bool is_half_way(Int128 value, int places) {
  if (places <= 0 || places > 126) return false;
  const UInt128 half = UInt128{1} << (places - 1);
  return (static_cast<UInt128>(value) & (2 * half - 1)) == half;
}

/// Whether the stage, applied to `before`, rounds a value that lies half-way.
bool rounds_a_tie(const Stage& stage, const InFlight& before, const RescaleOperands& operands) {
  if (shifts_right(stage.kind)) {
    return is_half_way(before.value, shift_amount(stage, before.fraction_bits, operands));
  }
  const bool high = stage.kind == StageKind::doubling_high_multiply;
  return high && is_half_way(multiply_modulo(before.value, operands.scale.multiplier), stage.bits - 1);
}

/// Places below the binary point of the output after the stage.
int places_after(const Stage& stage, const InFlight& before, const InFlight& after, const RescaleOperands& operands, int places) {
  const int exponent = operands.scale.exponent;
  switch (stage.kind) {
    case StageKind::multiply:
    case StageKind::two_term_shift: return after.fraction_bits - exponent;
    case StageKind::doubling_high_multiply: return std::max(-exponent, 0);
    case StageKind::shift_right:
    case StageKind::shift_right_with_zero_point: return places - shift_amount(stage, before.fraction_bits, operands);
    case StageKind::float_scale:
    case StageKind::float_scale_with_zero_point: return 0;
    default: return places;
  }
}

}  // namespace

std::vector<StageStep> trace_stages(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands) {
  std::vector<StageStep> steps;
  InFlight at{accumulator, 0};
  int places = 0;
  for (const Stage& stage : chain) {
    const InFlight before = at;
    at = apply(stage, at, operands);
    places = places_after(stage, before, at, operands, places);
    steps.push_back({name_of_stage(stage), digits_of(at.value), std::ldexp(static_cast<double>(at.value), -places),
                     rounds_a_tie(stage, before, operands)});
  }
  return steps;
}

}  // namespace lastbit
