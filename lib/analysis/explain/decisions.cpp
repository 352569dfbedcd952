// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/explain/decisions.hpp"

#include <span>

namespace lastbit {
namespace {

/// The same values with the multiplier in [0.5, 1).
ScaleEncoding normalised(ScaleEncoding scale) {
  if (scale.normalization != Normalization::one_to_two) return scale;
  scale.normalization = Normalization::half_to_one;
  ++scale.min_exponent;
  ++scale.max_exponent;
  return scale;
}

class StageReader {
 public:
  explicit StageReader(const Chain& chain) : rest_(chain.begin(), chain.size) {}

  const Stage* take(StageKind kind) {
    if (rest_.empty() || rest_[0].kind != kind) return nullptr;
    const Stage* const stage = &rest_[0];
    rest_ = rest_.subspan(1);
    return stage;
  }
  [[nodiscard]] bool done() const { return rest_.empty(); }

 private:
  std::span<const Stage> rest_;
};

/// The multiplication and what rounds after it; false where the form is another.
bool read_multiplication(StageReader& reader, RescaleDecisions& into) {
  if (const Stage* stage = reader.take(StageKind::float_scale)) {
    into.in_float = true;
    into.last_rounding = stage->rounding;
    return true;
  }
  bool by_exponent = false;  // the last shift
  if (const Stage* stage = reader.take(StageKind::doubling_high_multiply)) {
    if (stage->bits != into.scale.significant_bits + 1) return false;
    into.first_rounding = stage->rounding;
    by_exponent = true;
  } else if (const Stage* plain = reader.take(StageKind::multiply)) {
    into.multiplier_bits = plain->bits;
    into.narrowing = plain->rounding;
  } else {
    return false;
  }
  const Stage* shift = reader.take(StageKind::shift_right);
  if (shift != nullptr && shift->amount == ShiftAmount::fraction) {
    into.first_rounding = shift->rounding;
    shift = reader.take(StageKind::shift_right);
  }
  if (shift == nullptr || shift->amount != (by_exponent ? ShiftAmount::negative_exponent : ShiftAmount::remaining)) return false;
  into.last_rounding = shift->rounding;
  reader.take(StageKind::narrow);
  return true;
}

}  // namespace

std::optional<RescaleDecisions> decisions_of(const RescaleRule& rule) {
  RescaleDecisions decisions{.scale = normalised(rule.scale), .first_rounding = {}, .by = rule.by};
  StageReader reader(rule.chain);
  decisions.rectified_first = reader.take(StageKind::relu) != nullptr;
  reader.take(StageKind::shift_left);
  if (!read_multiplication(reader, decisions)) return std::nullopt;
  if (reader.take(StageKind::add_zero_point) == nullptr || reader.take(StageKind::clamp) == nullptr || !reader.done()) return std::nullopt;
  return decisions;
}

RescaleRule rescale_from(const RescaleDecisions& decisions) {
  Chain chain;
  if (decisions.rectified_first) chain.append(stage::relu());
  if (decisions.in_float) {
    chain.append(stage::float_scale(decisions.last_rounding));
  } else {
    chain.append({.kind = StageKind::multiply, .rounding = decisions.narrowing, .bits = decisions.multiplier_bits});
    if (decisions.first_rounding) chain.append(stage::shift_right_by_fraction(*decisions.first_rounding));
    chain.append(stage::shift_right(decisions.last_rounding));
  }
  chain.append(stage::add_zero_point());
  chain.append(stage::clamp());
  return {decisions.scale, chain, decisions.by};
}

}  // namespace lastbit
