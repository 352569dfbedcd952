// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/multipliers.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "analysis/identify/known_rules.hpp"

namespace lastbit {
namespace {

using enum Rounding;

/// But for the exponents, which few layers leave.
bool is_same(const Multiplier& a, const Multiplier& b) {
  const auto members = [](const Multiplier& m) {
    return std::tuple(m.scale.significant_bits, m.scale.rounding, m.scale.normalization, m.scale.form, m.scale.carry, m.scale.added, m.kept,
                      m.narrowing);
  };
  return members(a) == members(b);
}

void add_once(std::vector<Multiplier>& list, const Multiplier& one) {
  if (one.kept >= one.scale.significant_bits) return;
  if (std::ranges::none_of(list, [&](const Multiplier& known) { return is_same(known, one); })) list.push_back(one);
}

/// Those of the built-in sheets. Of a multiplier, which is positive, half_up is half_away; where its significand begins, the shift makes up for.
std::vector<Multiplier> multipliers_of_sheets() {
  std::vector<Multiplier> list;
  for (const ConvArithmetic& products : known_rules<ConvArithmetic>()) {
    const MultiplierForm form = products.sum.output.scale.form;
    if (!reads_multiplier(products.sum.output.chain) || (form != MultiplierForm::any && form != MultiplierForm::odd)) continue;
    Multiplier one{products.sum.output.scale};
    if (!one.reads_largest_exponent()) one.scale.max_exponent = 300;  // any: the largest scale that a device has is its own affair
    if (one.scale.rounding == half_up) one.scale.rounding = half_away;
    if (one.scale.normalization == Normalization::one_to_two) one.scale.normalization = Normalization::half_to_one;
    for (const Stage& stage : products.sum.output.chain) {
      if (stage.kind == StageKind::multiply && stage.bits > 0) one.kept = stage.bits, one.narrowing = stage.rounding;
    }
    add_once(list, one);
  }
  return list;
}

Multiplier with_bits(Multiplier one, std::uint8_t bits) {
  if (one.of_layer()) one.scale.min_exponent = static_cast<std::int16_t>(one.scale.min_exponent + bits - one.scale.significant_bits);
  one.scale.significant_bits = bits;
  return one;
}

}  // namespace

const std::vector<Multiplier>& multipliers() {
  static const auto all = [] {
    const std::vector<Multiplier> stated = multipliers_of_sheets();
    std::vector<Multiplier> list = stated;
    for (const Multiplier& one : stated) {
      if (!one.is_usual()) continue;
      const bool renormalizes = one.scale.carry == MultiplierCarry::renormalize;
      for (const Multiplier& other : stated) {
        for (const Rounding rounding : {other.scale.rounding, half_even}) {
          Multiplier next = one;
          next.scale.rounding = rounding;
          add_once(list, next);
        }
        if (renormalizes && one.kept == 0) {
          add_once(list, with_bits(one, other.scale.significant_bits));
          if (other.kept > 0) add_once(list, with_bits(one, other.kept));
        }
        if (renormalizes && !one.of_layer()) add_once(list, {one.scale, other.kept, other.narrowing});
      }
    }
    return list;
  }();
  return all;
}

std::vector<Multiplier> whole_multipliers(int bits) {
  std::vector<Multiplier> list;
  std::ranges::copy_if(multipliers(), std::back_inserter(list),
                       [&](const Multiplier& one) { return one.scale.significant_bits == bits && one.kept == 0 && one.has_fraction(); });
  return list;
}

std::vector<ScaleEncoding> encodings_of(MultiplierForm form) {
  std::vector<ScaleEncoding> list;
  for (const ConvArithmetic& products : known_rules<ConvArithmetic>()) {
    const ScaleEncoding& scale = products.sum.output.scale;
    if (scale.form == form && std::ranges::find(list, scale) == list.end()) list.push_back(scale);
  }
  return list;
}

}  // namespace lastbit
