// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "analysis/explain/stages.hpp"
#include "analysis/unrounded.hpp"
#include "lastbit/rules.hpp"
#include "model/wide_digits.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {

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

namespace {

bool is_half_way(Int128 value, Int128 unit) { return (2 * value) % (2 * unit) == unit || (2 * value) % (2 * unit) == -unit; }

/// Whether the stage, applied to `before`, rounds a value that lies half-way.
bool rounds_a_tie(const Stage& stage, const InFlight& before, const RescaleOperands& operands) {
  const auto at = unrounded(stage, before, operands);
  return at && !at->is_real && is_half_way(at->value, at->unit);
}

}  // namespace

std::vector<StageStep> trace_stages(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands) {
  std::vector<StageStep> steps;
  InFlight at{accumulator, 0};
  int places = 0;
  for (const Stage& stage : chain) {
    const InFlight before = at;
    at = apply(stage, at, operands);
    places = facts_of(stage).places(stage, operands, {places, before.fraction_bits, at.fraction_bits});
    steps.push_back({name_of_stage(stage), digits_of(at.value), std::ldexp(static_cast<double>(at.value), -places),
                     rounds_a_tie(stage, before, operands)});
  }
  return steps;
}

}  // namespace lastbit
