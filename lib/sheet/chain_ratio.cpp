// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "lastbit/op/add.hpp"
#include "lastbit/op/pool.hpp"
#include "lastbit/ratio_text.hpp"
#include "lastbit/rules.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

/// Outputs up to here are compared, within 8 bits.
constexpr int most_steps = 100;
constexpr std::int64_t most_accumulator = 1 << 23;

RescaleOperands plain_operands(const EncodedScale& scale) {
  RescaleOperands operands{.scale = scale, .min = min_of_width(8), .max = max_of_width(8)};
  operands.storage_min = operands.min, operands.storage_max = operands.max;
  return operands;
}

/// Of a layer that states registers for each sign they are alike.
RescaleOperands chain_operands(const RescaleRule& rule, double real) {
  RescaleOperands operands = plain_operands(encode(rule.scale, real));
  const bool by_sign = std::ranges::any_of(rule.chain, [](const Stage& stage) { return stage.kind == StageKind::shift_right_by_sign; });
  if (by_sign) operands.below_zero = {0, operands.scale.multiplier, operands.scale.fraction_bits - operands.scale.exponent};
  return operands;
}

/// What the encoding holds of the real scale, where it holds it.
std::optional<double> held_scale(const Chain& chain, const EncodedScale& scale) {
  if (!reads_multiplier(chain)) return scale.real_f64;
  const double held = std::ldexp(static_cast<double>(scale.multiplier), scale.exponent - scale.fraction_bits);
  const bool is_near = held > scale.real_f64 / 3 && held < scale.real_f64 * 3;
  return is_near ? std::optional(held) : std::nullopt;
}

bool takes_numbers_alone(const Chain& chain) {
  return std::ranges::none_of(chain, [](const Stage& stage) { return facts_of(stage).needs_values || stage.kind == StageKind::segments; });
}

/// How far from the exact result the chain may come: less than a step for every stage that rounds, and what a narrowed multiplier loses.
double most_off(const Chain& chain, double steps) {
  double most = 0;
  for (const Stage& stage : chain) {
    if (stage.kind == StageKind::multiply) most += stage.bits > 0 ? std::abs(steps) * std::ldexp(1.0, 1 - stage.bits) : 0;
    else if (facts_of(stage).reads(stage).rounding) most += 1;
  }
  return std::max(most, 1.0);
}

struct Off {
  std::int64_t accumulator = 0, output = 0;
  double scale = 0, by = 0;
};

/// The accumulator at which the chain is furthest from its ratio, if it is too far from it anywhere.
std::optional<Off> furthest_off(const RescaleRule& rule) {
  std::optional<Off> worst;
  for (const double real : {0x1p-5, 0.0271, 0x1p-9, 0.00113}) {
    const RescaleOperands operands = chain_operands(rule, real);
    const std::optional<double> held = held_scale(rule.chain, operands.scale);
    if (!held) continue;
    for (int steps = -most_steps; steps <= most_steps; ++steps) {
      const auto nearest = static_cast<std::int64_t>(std::floor(steps / *held));
      for (const std::int64_t accumulator : {nearest, nearest + 1}) {
        if (std::abs(accumulator) > most_accumulator) continue;
        const double exact = static_cast<double>(accumulator) * *held;
        const std::int64_t output = finish_unnarrowed(rule.chain, accumulator, operands);
        const double by = std::abs(static_cast<double>(output) - exact);
        if (by >= most_off(rule.chain, exact) && (!worst || by > worst->by)) worst = Off{accumulator, output, *held, by};
      }
    }
  }
  return worst;
}

/// In steps of the output; what the encodings lose is far less than a factor of two, which is what a misplaced scale comes to.
bool is_near(std::int64_t output, double exact) { return std::abs(static_cast<double>(output) - exact) < 3 + std::abs(exact) / 8; }

constexpr double in_scale = 0.043, other_scale = 0.031, weight_scale = 0.0117, out_scale = 0.052;

bool scales_codes(const SumArithmetic& rule) {
  const SumLayer layer{.operands = {{.scale = in_scale}, {.scale = other_scale}}, .out_scale = out_scale};
  const ResolvedSum sum = resolve(rule, layer);
  const RescaleOperands output = plain_operands(encode(rule.output.scale, sum.output_scale));
  for (std::int64_t code = -most_steps; code <= most_steps; ++code) {
    const std::array<std::int64_t, 2> codes{code, 0};
    if (!is_near(finish_unnarrowed(rule.output.chain, sum_of(rule, sum, codes), output), static_cast<double>(code) * in_scale / out_scale))
      return false;
  }
  return true;
}

bool scales_products(const SumArithmetic& rule) {
  const LayerQuantities layer = one_operand(in_scale, weight_scale, out_scale);
  const RescaleOperands term = plain_operands(encode(rule.operand.scale, effective_scale(rule.operand, layer)));
  const RescaleOperands output = plain_operands(encode(rule.output.scale, effective_scale(rule.output, layer)));
  const double scale = in_scale * weight_scale / out_scale;
  for (int steps = -most_steps; steps <= most_steps; ++steps) {
    const auto product = static_cast<std::int64_t>(steps / scale);
    const std::int64_t sum = rule.operand.chain.empty() ? product : finish_unnarrowed(rule.operand.chain, product, term);
    if (!is_near(finish_unnarrowed(rule.output.chain, sum, output), static_cast<double>(product) * scale)) return false;
  }
  return true;
}

bool scales_averages(const SumArithmetic& rule) {
  for (const std::int64_t count : {4, 9}) {
    const RescaleOperands term = term_operands(rule, in_scale, out_scale, count);
    const Average average(rule, in_scale, out_scale, count, plain_operands({}));
    for (std::int64_t code = -most_steps; code <= most_steps; ++code) {
      const std::int64_t each = rule.operand.chain.empty() ? code : finish_unnarrowed(rule.operand.chain, code, term);
      if (!is_near(finish_unnarrowed(rule.output.chain, each * count, average.operands()),
                   static_cast<double>(code) * in_scale / out_scale))
        return false;
    }
  }
  return true;
}

/// The sum whose operand or output this is.
const SumArithmetic* sum_of_rule(const Backend& backend, const std::string& path) {
  const std::string owner = path.substr(0, path.rfind('.'));
  if (const auto* const conv = structure_at<ConvArithmetic>(backend, owner)) return &conv->sum;
  if (const auto* const matmul = structure_at<MatmulArithmetic>(backend, owner)) return &matmul->sum;
  if (const auto* const pool = structure_at<AveragePoolArithmetic>(backend, owner)) return &pool->sum;
  if (const auto* const mean = structure_at<MeanArithmetic>(backend, owner)) return &mean->sum;
  return structure_at<SumArithmetic>(backend, owner);
}

bool places_its_scale_elsewhere(const Backend& backend, const std::string& path, const RescaleRule& rule) {
  const SumArithmetic* const sum = sum_of_rule(backend, path);
  if (sum != nullptr) return scales_codes(*sum) || scales_products(*sum) || scales_averages(*sum);
  // A function's own fixed point, or another unit than the layer's: a constant says so.
  return std::ranges::any_of(rule.chain, [](const Stage& stage) { return facts_of(stage).reads(stage).constant; });
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string message_of(const RescaleRule& rule, const Off& off) {
  return "of the accumulator " + std::to_string(off.accumulator) + " the chain makes " + std::to_string(off.output) +
         ", but it times the ratio " + text_of(rule.by) + " = " + number_text(off.scale) + " is " +
         number_text(static_cast<double>(off.accumulator) * off.scale) +
         "; look at scale.normalization, at what the shifts' amounts are and at what multiplies (lastbit describe --rules)";
}

}  // namespace

std::vector<Diagnostic> chains_off_their_ratios(const Backend& backend) {
  std::vector<Diagnostic> off;
  for (const Rule* const place : rules_of<RescaleRule>()) {
    const auto* const rule = structure_at<RescaleRule>(backend, place->path);
    if (rule == nullptr || rule->chain.empty() || !applies_scale(rule->chain) || !takes_numbers_alone(rule->chain)) continue;
    const std::optional<Off> worst = furthest_off(*rule);
    if (!worst) continue;
    const bool is_another_scale = !is_near(worst->output, static_cast<double>(worst->accumulator) * worst->scale);
    if (!is_another_scale || !places_its_scale_elsewhere(backend, place->path, *rule))
      off.push_back({ErrorCode::malformed_file, place->path, message_of(*rule, *worst)});
  }
  return off;
}

}  // namespace lastbit
