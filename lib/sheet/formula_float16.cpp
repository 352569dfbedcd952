// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "lastbit/arith/ordered_sum.hpp"
#include "sheet/chain_text.hpp"
#include "sheet/formula.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

using Lines = std::vector<std::string>;

std::string overflow_text(const Float16Rules& rule) {
  std::string text_of_rule = text(rule.rounding) + ", overflow: " + text(rule.overflow);
  if (rule.top_exponent != Float16TopExponent::infinity_nan) text_of_rule += ", top exponent: " + text(rule.top_exponent);
  return text_of_rule;
}

std::string sum_text(const SumRule& rule) {
  return text(rule.order) + (in_blocks(rule.order) ? " of " + text(int{rule.block}) : "") + ", every sum rounded to " +
         text(rule.precision);
}

Lines mean_formula(const Float16Mean& rule) {
  const bool first = rule.scaling == MeanScaling::before_sum;
  return {std::string("y = ") + (first ? "sum(x * c)" : "sum(x) * c") + ", c = " + text(rule.sum.precision) + "(1/count)",
          "sum: " + sum_text(rule.sum)};
}

Lines quantize_formula(const Float16Quantize& rule) {
  const std::string in = text(rule.steps);
  const std::string product = rule.factor == ScaleFactor::once ? in + "(x*s)" : in + "(" + in + "(x*r)*r)";
  return {"y = saturate(" + text(rule.rounding) + "(" + in + "(" + product + " + zp))), " +
          (rule.factor == ScaleFactor::once ? "s = " + in + "(1/scale)" : "r = " + in + "(sqrt(1/scale))")};
}

}  // namespace

/// r(v): v rounded to float16 by the rule of the step.
void add_formulas(std::vector<OperationFormula>& list, const std::string& name, const Float16Arithmetic& rule) {
  const auto add = [&](std::string_view member, Lines lines) { list.push_back({join_path(name, member), std::move(lines)}); };
  add("conversion", {"y = r(x), r: " + overflow_text(rule.conversion)});
  add("sum", {"y = r(a + b), r: " + overflow_text(rule.sum)});
  add("product", {"y = r(a * b), r: " + overflow_text(rule.product)});
  add("quotient",
      {"y = r(a / b), r: " + overflow_text(rule.quotient.rounded) + ", division by zero: " + text(rule.quotient.zero_division)});
  add("cube", {"y = conversion(sum of exact products, bias at " +
                   std::string(rule.cube.bias == BiasAt::accumulator_start ? "start" : "end") + "); terms: " + text(rule.cube.terms),
               "sum: " + sum_text(rule.cube.sum)});
  add("add_n", {"y = sum of the inputs: " + sum_text(rule.add_n)});
  add("mean", mean_formula(rule.mean));
  add("average_pool", mean_formula(rule.average_pool));
  add("logistic",
      {"y = 1 / (1 + exp(-x)), every step rounded to " + text(rule.logistic.steps) + "; lower bound: " + text(rule.logistic.bound)});
  add("tanh", {"y = (x - x*e) / ((|x| + tiny) * (e + 1)), e = exp(-2|x|), every step rounded to " + text(rule.tanh.steps)});
  add("hard_swish", {"y = x * bounded(x + 3, 0, 6) * (1/6), every step rounded to " + text(rule.hard_swish.steps)});
  add("softmax",
      {"y = e / sum(e), e = exp(float16(x - max)) rounded to " + text(rule.softmax.exponential), "sum: " + sum_text(rule.softmax.sum)});
  add("quantize", quantize_formula(rule.quantize));
  add("dequantize", {"y = conversion(float(q - zp) * s), s = float(scale) cut to " + text(int{rule.dequantize.scale_bits}) + " bits"});
}

}  // namespace lastbit
