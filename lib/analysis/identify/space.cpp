// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/space.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "analysis/identify/known_rules.hpp"
#include "analysis/identify/multipliers.hpp"
#include "lastbit/rule_alternatives.hpp"

namespace lastbit {
namespace {

using enum Rounding;

// ---- sums ----

/// What `of` says of the accumulators of all built-in sheets, each once.
template <class Value>
std::vector<Value> of_accumulators(std::optional<Value> (*of)(const AccumulatorRule&)) {
  std::vector<Value> list;
  for (const AccumulatorRule& rule : known_rules<AccumulatorRule>()) {
    const auto value = of(rule);
    if (value && std::ranges::find(list, *value) == list.end()) list.push_back(*value);
  }
  return list;
}

/// Terms between two narrowings: input buffers of the devices that have them.
const std::vector<TermsByGroup>& tiles() {
  static const auto all = of_accumulators<TermsByGroup>(
      [](const AccumulatorRule& rule) { return rule.when == NarrowingPoint::every_tile ? std::optional(rule.tile) : std::nullopt; });
  return all;
}

/// Sums that vector instructions make, with the tile of the device that makes them.
struct KnownPartial {
  PartialSums partial;
  TermsByGroup tile;
  friend bool operator==(const KnownPartial&, const KnownPartial&) = default;
};
const std::vector<KnownPartial>& partial_sums() {
  static const auto all = of_accumulators<KnownPartial>([](const AccumulatorRule& rule) {
    return has_partial_sums(rule) ? std::optional(KnownPartial{rule.partial, rule.tile}) : std::nullopt;
  });
  return all;
}

/// Widths that some sheet has, and those that it could have instead, where `fits` allows. Exact sums tell nothing of theirs.
std::vector<std::uint8_t> widths_beside(const std::string& path, bool (*fits)(int bits)) {
  std::vector<std::uint8_t> widths;
  const auto add = [&](int bits) {
    const auto width = static_cast<std::uint8_t>(bits);
    if (fits(bits) && std::ranges::find(widths, width) == widths.end()) widths.push_back(width);
  };
  for (const AccumulatorRule& rule : known_rules<AccumulatorRule>())
    if (rule.overflow != Overflow::exact) add(rule.bits);
  for (const std::string& bits : alternatives(builtin_backends().front().backend, path)) add(std::stoi(bits));
  return widths;
}

const std::vector<std::uint8_t>& accumulator_widths() {
  static const auto all = widths_beside("conv.i8.accumulator.bits", [](int bits) { return bits >= 16 && bits % (bits > 32 ? 8 : 2) == 0; });
  return all;
}

struct BiasWidth {
  std::uint8_t bits;
  Rounding rounding;
};
/// As given, and stored in fewer bytes than a sum has.
const std::vector<BiasWidth>& bias_widths() {
  static const auto all = [] {
    std::vector<BiasWidth> list{{0, floor}};
    for (const std::uint8_t bits : widths_beside("conv.i8.accumulator.bits", [](int width) { return width < 32 && width % 8 == 0; })) {
      for (const Rounding rounding : {floor, half_away}) list.push_back({bits, rounding});
    }
    return list;
  }();
  return all;
}

std::vector<AccumulatorRule> accumulators(const SpaceScope& scope) {
  std::vector<AccumulatorRule> list;
  for (const std::uint8_t bits : accumulator_widths()) {
    list.push_back({.bits = bits, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add});
    list.push_back({.bits = bits, .overflow = Overflow::saturate, .when = NarrowingPoint::every_add});
    list.push_back({.bits = bits, .overflow = Overflow::saturate, .when = NarrowingPoint::at_end});
  }
  for (const TermsByGroup& tile : tiles())
    list.push_back({.bits = 32, .overflow = Overflow::saturate, .when = NarrowingPoint::every_tile, .tile = tile});
  for (const auto& [partial, tile] : partial_sums()) {
    if (!(partial.method == PartialMethod::consecutive_terms ? scope.wide_data : scope.sums_codes)) continue;
    list.push_back({.bits = 32, .overflow = Overflow::saturate, .when = NarrowingPoint::at_end, .partial = partial});
    if (tile(1) > 0)
      list.push_back({.bits = 32, .overflow = Overflow::saturate, .when = NarrowingPoint::every_tile, .tile = tile, .partial = partial});
  }
  return list;
}

// ---- from sum to output ----

constexpr std::array arithmetics{ScaleArithmetic::f64, ScaleArithmetic::f32};
constexpr std::array last_roundings{half_even, half_away, half_up, half_down, half_toward_zero, floor, toward_zero, ceil, to_odd};
constexpr std::array first_roundings{half_up, half_even, half_away, floor, toward_zero, to_odd};

ScaleEncoding encoding_of(const Multiplier& multiplier, ScaleArithmetic arithmetic) {
  ScaleEncoding scale = multiplier.scale;
  scale.arithmetic = arithmetic;
  return scale;
}

Stage multiply_stage(const Multiplier& multiplier) {
  Stage stage = stage::multiply();
  if (multiplier.kept == 0) return stage;
  stage.bits = multiplier.kept;
  stage.rounding = multiplier.narrowing;
  return stage;
}

/// Rules under construction: every chain begins with the clip, where layers have one, and ends in the bounds.
class Rules {
 public:
  explicit Rules(const SpaceScope& scope) : scope_(scope) {}
  [[nodiscard]] bool rectifies() const { return scope_.rectifies; }
  [[nodiscard]] bool converts() const { return scope_.converts; }

  void add(const ScaleEncoding& scale, std::initializer_list<Stage> stages) { add(scale, std::span<const Stage>(stages)); }
  void add(const ScaleEncoding& scale, std::span<const Stage> stages) {
    push(scale, stages, Rectifier::none, stage::clamp());
    if (std::any_of(stages.begin(), stages.end(), [](const Stage& stage) { return stage.kind == StageKind::relu; }))
      return push(scale, stages, Rectifier::none, stage::clamp_to_type());
    if (!scope_.rectifies || std::none_of(stages.begin(), stages.end(), leaves_width)) return;
    push(scale, stages, Rectifier::at_zero, stage::clamp());
    push(scale, stages, Rectifier::at_zero, stage::clamp_to_type());
  }
  [[nodiscard]] const std::vector<RescaleRule>& all() const { return list_; }
  [[nodiscard]] std::vector<RescaleRule> take() { return std::move(list_); }

 private:
  /// Only then it matters whether a rectifier acts on the sum or by the bounds of the output.
  static bool leaves_width(const Stage& stage) { return stage.bits < 64 && facts_of(stage).reads(stage).overflow; }

  void push(const ScaleEncoding& scale, std::span<const Stage> stages, Rectifier rectifier, const Stage& bounds) {
    Chain chain;
    if (rectifier == Rectifier::at_zero) chain.append(stage::relu());
    if (scope_.clips) chain.append(stage::clamp_accumulator());
    for (const Stage& stage : stages) chain.append(stage);
    if (facts_of(chain.stages[chain.size - 1U]).zero_point == ZeroPointUse::none) chain.append(stage::add_zero_point());
    chain.append(bounds);
    if (has_what_is_stated(scope_, chain)) list_.push_back({scale, chain});
  }

  SpaceScope scope_;
  std::vector<RescaleRule> list_;
};

/// VIPNano, TFLite's single rounding, N2D2's fixed multiplier, and what lies between them.
void add_one_shift(Rules& rules) {
  for (const Multiplier& multiplier : multipliers()) {
    const Stage times = multiply_stage(multiplier);
    for (const ScaleArithmetic arithmetic : arithmetics) {
      const ScaleEncoding scale = encoding_of(multiplier, arithmetic);
      for (const Rounding rounding : last_roundings) {
        const Stage shift = stage::shift_right(rounding);
        rules.add(scale, {times, shift});
        rules.add(scale, {times, stage::shift_right_with_zero_point(rounding)});
        rules.add(scale, {times, shift, stage::narrow_to(32, Overflow::wrap)});
        rules.add(scale, {stage::narrow_to(32, Overflow::wrap), times, shift});
        rules.add(scale, {stage::narrow_to(32, Overflow::wrap), times, shift, stage::narrow_to(32, Overflow::wrap)});
        rules.add(scale, {stage::narrow_to(32, Overflow::saturate), times, shift});
      }
      rules.add(scale, {times, stage::add_half(64, Overflow::wrap), stage::shift_right(toward_zero)});
      rules.add(scale, {times, stage::narrow_to(32, Overflow::wrap), stage::add_half(32, Overflow::wrap), stage::shift_right(floor)});
    }
  }
}

/// A rounding at the binary point of the multiplier, and one more for what the exponent asks for.
void add_two_shifts(Rules& rules) {
  for (const Multiplier& multiplier : multipliers()) {
    for (const ScaleArithmetic arithmetic : arithmetics) {
      const ScaleEncoding scale = encoding_of(multiplier, arithmetic);
      for (const Rounding first : first_roundings) {
        for (const Rounding last : last_roundings)
          rules.add(scale, {multiply_stage(multiplier), stage::shift_right_by_fraction(first), stage::shift_right(last)});
      }
    }
  }
}

/// gemmlowp, CMSIS-NN, TFLite's double rounding: a shift left, the high half of the doubled product, a shift right.
void add_doubling_high(Rules& rules) {
  for (const Multiplier& multiplier : whole_multipliers(31)) {
    for (const ScaleArithmetic arithmetic : arithmetics) {
      for (const Overflow overflow : {Overflow::wrap, Overflow::saturate}) {
        for (const Rounding first : first_roundings) {
          for (const Rounding last : last_roundings) {
            rules.add(encoding_of(multiplier, arithmetic),
                      {stage::shift_left(32, overflow), stage::doubling_high_multiply(32, first), stage::shift_right_by_exponent(last)});
          }
          rules.add(encoding_of(multiplier, arithmetic),
                    {stage::shift_left(32, overflow), stage::doubling_high_multiply(32, first),
                     stage::add_half_by_sign_by_exponent(32, Overflow::wrap), stage::shift_right_by_exponent(floor)});
        }
      }
    }
  }
}

/// XNNPACK, ONNX Runtime, N2D2's FLOAT_MULT; PyTorch, whose scales are made of inverses.
void add_float(Rules& rules) {
  for (std::size_t i = 0; i < names_of(ScaleArithmetic{}).size(); ++i) {
    const auto arithmetic = static_cast<ScaleArithmetic>(i);
    ScaleEncoding scale;
    scale.arithmetic = arithmetic;
    for (const ProductArithmetic product : {ProductArithmetic::f32, ProductArithmetic::f64}) {
      for (const Rounding rounding : last_roundings) {
        rules.add(scale, {stage::float_scale(rounding, product)});
        rules.add(scale, {stage::float_scale_with_zero_point(rounding, product)});
      }
    }
  }
}

/// Devices that only shift: of layers whose scales have that form.
void add_one_shift_alone(Rules& rules, const ScaleEncoding& power) {
  for (const Rounding rounding : last_roundings) rules.add(power, {stage::shift_right_by_exponent(rounding)});
  for (const Rounding truncation : {floor, toward_zero}) {
    for (const Overflow overflow : {Overflow::wrap, Overflow::saturate}) {
      for (const Width width : {Width(32), Width(64)})
        rules.add(power, {stage::add_half_by_exponent(width, overflow), stage::shift_right_by_exponent(truncation)});
    }
  }
}

/// And those that add two shifts.
void add_sum_of_shifts(Rules& rules, const ScaleEncoding& two_powers) {
  for (const Overflow overflow : {Overflow::wrap, Overflow::saturate}) {
    for (const Width width : {Width(32), Width(64)}) {
      const Stage shifts = stage::two_term_shift(width, overflow);
      for (const Rounding rounding : last_roundings) rules.add(two_powers, {shifts, stage::shift_right(rounding)});
      for (const Rounding truncation : {floor, toward_zero})
        rules.add(two_powers, {shifts, stage::add_half(width, overflow), stage::shift_right(truncation)});
    }
  }
}

void add_shifts_alone(Rules& rules) {
  for (const ScaleEncoding& power : encodings_of(MultiplierForm::power_of_two)) add_one_shift_alone(rules, power);
  for (const ScaleEncoding& two_powers : encodings_of(MultiplierForm::power_of_two_plus_one)) add_sum_of_shifts(rules, two_powers);
}

/// Horizon BPU: a shift so that 16 bits suffice, the multiplier, and the rest of the shift.
void add_split_shift(Rules& rules) {
  for (const Multiplier& multiplier : whole_multipliers(15)) {
    for (const ScaleArithmetic arithmetic : arithmetics) {
      for (const Overflow overflow : {Overflow::saturate, Overflow::wrap}) {
        for (const Rounding first : {floor, half_up, half_even, half_away, toward_zero}) {
          for (const Rounding last : last_roundings) {
            rules.add(encoding_of(multiplier, arithmetic), {stage::shift_right_excess(30, 31, first), stage::narrow_to(16, overflow),
                                                            stage::multiply(), stage::shift_right_rest(31, last)});
          }
        }
      }
    }
  }
}

/// Whether the stage does nothing in a layer that states no converter.
bool is_of_converter(const Stage& stage) {
  return stage.kind == StageKind::add_converter_offset || stage.kind == StageKind::multiply_by_converter ||
         (facts_of(stage).reads(stage).amount && stage.amount == ShiftAmount::converter);
}

/// The stages of a chain that scale, without those that every chain gets here; with a rectifier that stands between two of them, where layers
/// have one.
std::vector<Stage> scaling_part(const Chain& chain, const Rules& rules) {
  std::vector<Stage> stages;
  bool between_scales = false;
  for (const Stage& stage : chain) {
    if (!rules.converts() && is_of_converter(stage)) continue;
    const StageFacts& facts = facts_of(stage);
    const bool is_common = facts.bounds != nullptr || stage.kind == StageKind::add_zero_point || stage.kind == StageKind::absolute;
    if (!is_common || (stage.kind == StageKind::relu && between_scales && rules.rectifies() && reads_converter(chain)))
      stages.push_back(stage);
    between_scales = between_scales || scale_of(stage) == ScaleUse::multiplier;
  }
  return stages;
}

/// Of a power of two a shift has to do with the exponent alone, whichever way it is told.
using Form = std::vector<std::pair<StageKind, ShiftAmount>>;
Form form_of(const RescaleRule& rule, const std::vector<Stage>& stages) {
  Form form;
  for (const Stage& stage : stages) {
    const bool by_exponent = rule.scale.form == MultiplierForm::power_of_two && stage.amount == ShiftAmount::remaining;
    form.emplace_back(stage.kind, by_exponent ? ShiftAmount::negative_exponent : stage.amount);
  }
  return form;
}

/// Stages of a sheet with every rounding in place of theirs.
void add_roundings(Rules& rules, const ScaleEncoding& scale, std::vector<Stage> stages, std::size_t from) {
  while (from < stages.size() && !facts_of(stages[from]).reads(stages[from]).rounding) ++from;
  if (from == stages.size()) return rules.add(scale, std::span<const Stage>(stages));
  for (const Rounding rounding : last_roundings) {
    stages[from].rounding = rounding;
    add_roundings(rules, scale, stages, from + 1);
  }
}

/// Whatever form a built-in sheet rescales its sums in that is none of the above.
void add_forms_of_sheets(Rules& rules) {
  std::set<Form> forms;
  for (const RescaleRule& rule : rules.all()) forms.insert(form_of(rule, scaling_part(rule.chain, rules)));
  for (const ConvArithmetic& sums : known_rules<ConvArithmetic>()) {
    const std::vector<Stage> stages = scaling_part(sums.sum.output.chain, rules);
    if (!stages.empty() && forms.insert(form_of(sums.sum.output, stages)).second) add_roundings(rules, sums.sum.output.scale, stages, 0);
  }
}

}  // namespace

bool has_what_is_stated(const SpaceScope& scope, const Chain& chain) {
  const auto multiplies = [](const Stage& stage) { return scale_of(stage) == ScaleUse::multiplier; };
  const auto clips = [](const Stage& stage) { return stage.kind == StageKind::clamp_accumulator; };
  if (scope.clips && std::none_of(chain.begin(), chain.end(), clips)) return false;
  if (scope.multiplies && std::none_of(chain.begin(), chain.end(), multiplies)) return false;
  return !scope.converts || reads_converter(chain);
}

std::vector<SumRules> sum_space(const SpaceScope& scope) {
  std::vector<SumRules> list;
  const auto lowerings = scope.per_channel ? std::vector{PerChannelLowering::native, PerChannelLowering::requantized_to_tensor}
                                           : std::vector{PerChannelLowering::native};
  for (const PerChannelLowering lowering : lowerings) {
    for (const BiasWidth& width : bias_widths()) {
      for (const AccumulatorRule& accumulator : accumulators(scope)) {
        for (const BiasAt bias : {BiasAt::accumulator_start, BiasAt::accumulator_end})
          list.push_back({accumulator, bias, width.bits, width.rounding, lowering});
      }
    }
  }
  return list;
}

std::vector<RescaleRule> rescale_space(const SpaceScope& scope) {
  if (scope.sums_only) return {RescaleRule{{}, {stage::clamp()}}};
  Rules rules(scope);
  add_one_shift(rules);
  add_doubling_high(rules);
  add_float(rules);
  add_shifts_alone(rules);
  add_two_shifts(rules);
  add_split_shift(rules);
  add_forms_of_sheets(rules);
  return rules.take();
}

ConvArithmetic arithmetic_of(const SumRules& sum, const RescaleRule& rescale) {
  return {.sum = {.accumulator = sum.accumulator, .output = rescale},
          .bias = sum.bias,
          .per_channel = sum.per_channel,
          .bias_bits = sum.bias_bits,
          .bias_rounding = sum.bias_rounding};
}

SumRules sum_rules_of(const ConvArithmetic& arithmetic) {
  return {arithmetic.sum.accumulator, arithmetic.bias, arithmetic.bias_bits, arithmetic.bias_rounding, arithmetic.per_channel};
}

}  // namespace lastbit
