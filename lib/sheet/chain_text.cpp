// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "sheet/chain_text.hpp"

#include <algorithm>

namespace lastbit {

std::string narrowed(Overflow overflow, int bits, const std::string& value) {
  switch (overflow) {
    case Overflow::wrap: return "wrap" + text(bits) + "(" + value + ")";
    case Overflow::saturate: return "sat" + text(bits) + "(" + value + ")";
    case Overflow::exact: break;
  }
  return value;
}

namespace {

std::string exponents(const ScaleEncoding& scale) { return text(scale.min_exponent) + " to " + text(scale.max_exponent); }

/// A chain as one expression, built from the inside out: the words in which stages write themselves.
class Expression {
 public:
  Expression(const RescaleRule& rule, const std::string& start)
      : scale_(rule.scale), value_(start), is_sum_(start.starts_with("x - ") || start.starts_with("a' + ")) {
    for (const Stage& stage : rule.chain) with_stage(stage.kind, [&]<class Described>() { Described::write(*this, stage); });
  }

  [[nodiscard]] const std::string& value() const { return value_; }
  /// The value as an operand of a product.
  [[nodiscard]] std::string factor() const { return is_sum_ ? "(" + value_ + ")" : value_; }
  [[nodiscard]] static std::string word(auto value) { return text(value); }

  void product(const std::string& value) { become(value, false); }
  void sum(const std::string& value) { become(value, true); }
  void call(const std::string& function, const std::string& argument) { become(function + "(" + argument + ")", false); }
  void narrow(const Stage& stage) { become(narrowed(stage.overflow, stage.bits, value_), is_sum_ && stage.overflow == Overflow::exact); }

  /// M, of which a later shift drops the fraction bits.
  std::string multiplier(const Stage& stage) {
    reads_fraction();
    if (stage.bits == 0 || stage.bits >= scale_.significant_bits) return "M";
    fraction_bits_ += stage.bits - scale_.significant_bits;
    return text(stage.rounding) + "(M to " + text(stage.bits) + " bits)";
  }
  void reads_fraction() { fraction_bits_ = fraction_bits_of(scale_); }

  std::string divisor(const Stage& stage) {
    std::string all = coming_divisor(stage);
    const bool takes = stage.amount == ShiftAmount::fraction || stage.amount == ShiftAmount::rest || stage.amount == ShiftAmount::remaining;
    if (takes) fraction_bits_ = 0;
    has_excess_ = has_excess_ || stage.amount == ShiftAmount::excess;
    return all;
  }
  /// That of the shift for which the stage prepares.
  [[nodiscard]] std::string coming_divisor(const Stage& stage) const {
    switch (stage.amount) {
      case ShiftAmount::negative_exponent: return "2^max(-e,0)";
      case ShiftAmount::constant: return "2^" + text(stage.constant);
      case ShiftAmount::fraction: return "2^" + text(fraction_bits_);
      case ShiftAmount::excess: return "2^pre";
      case ShiftAmount::rest:
        return "2^clip(" + text(fraction_bits_) + "-e" + (has_excess_ ? "-pre" : "") + ",0," + text(stage.limit) + ")";
      case ShiftAmount::converter: return "2^n2";
      case ShiftAmount::remaining: break;
    }
    return "2^(" + text(fraction_bits_) + "-e)";
  }
  [[nodiscard]] std::string float_product(const Stage& stage) const {
    return std::string(stage.arithmetic == ProductArithmetic::f64 ? "double" : "float") + "(" + value_ + ") * s";
  }

 private:
  void become(const std::string& value, bool is_sum) {
    value_ = value;
    is_sum_ = is_sum;
  }

  const ScaleEncoding& scale_;
  std::string value_;
  bool is_sum_;  ///< a factor needs parentheses
  int fraction_bits_ = 0;
  bool has_excess_ = false;
};

/// What `pre` stands for in a chain that shifts before it multiplies.
std::string excess_text(const Chain& chain, int fraction_bits) {
  for (const Stage& stage : chain) {
    if (stage.amount != ShiftAmount::excess) continue;
    return "; pre = clip(" + text(fraction_bits) + "-e-(" + text(stage.constant) + "-bits out),0," + text(stage.limit) +
           "), 0 for data of 16 bits or less";
  }
  return "";
}

/// What s stands for, if the chain multiplies in float.
std::string float_scale_text(const RescaleRule& rule, const std::string& ratio) {
  const auto uses_float = [](const Stage& stage) { return scale_of(stage) == ScaleUse::in_float; };
  if (std::none_of(rule.chain.begin(), rule.chain.end(), uses_float)) return "";
  const bool in_double = std::any_of(rule.chain.begin(), rule.chain.end(),
                                     [&](const Stage& stage) { return uses_float(stage) && stage.arithmetic == ProductArithmetic::f64; });
  return std::string("s = ") + (in_double ? "double(" : "float(") + ratio + "), computed in " + computed_in(rule.scale.arithmetic);
}

/// How M is made of the scale, M*2^e on which it is based.
std::string rounded_multiplier(const ScaleEncoding& scale) {
  const std::string bits = text(scale.significant_bits), below = "below 2^" + bits + " - 1";
  if (scale.normalization == Normalization::least_error)
    return "M " + below + ", " + text(scale.rounding) + "; e: the largest of those with the least error, ";
  if (scale.normalization == Normalization::largest_below)
    return "M: " + text(scale.rounding) + "; e: the least with M " + below + " before it is rounded, ";
  std::string words = "M: " + bits + " bits, " + text(scale.rounding);
  if (scale.form == MultiplierForm::odd) words += ", trailing zeros shifted out";
  if (scale.added == MultiplierAddend::one) words += ", plus one";
  if (scale.carry == MultiplierCarry::saturate) words += ", at most 2^" + bits + " - 1";
  if (scale.carry == MultiplierCarry::lost) words += ", its carry lost";
  return words + "; e: " + (scale.normalization == Normalization::layer ? "one for the layer, " : "");
}

/// What M and e stand for, if the chain reads them.
std::string multiplier_text(const RescaleRule& rule, const std::string& ratio) {
  if (!reads_multiplier(rule.chain)) return "";
  const ScaleEncoding& scale = rule.scale;
  const int fraction_bits = fraction_bits_of(scale);
  const std::string pre = excess_text(rule.chain, fraction_bits);
  if (scale.form == MultiplierForm::power_of_two) {
    const bool shows_multiplier =
        std::any_of(rule.chain.begin(), rule.chain.end(), [](const Stage& stage) { return scale_of(stage) == ScaleUse::multiplier; });
    return std::string(fraction_bits == 0 ? "2^e" : "2^(e-" + text(fraction_bits) + ")") + " = " + ratio + ", " +
           (shows_multiplier ? "M = 1, " : "") + "no other scale; e: " + exponents(scale) + pre;
  }
  if (scale.form == MultiplierForm::power_of_two_plus_one) {
    return "M*2^e = " + ratio + ", M = 2^k + 1, no other scale; k: 0 to " + text(scale.significant_bits - 1) + "; e: " + exponents(scale) +
           pre;
  }
  return "M*2^" + (fraction_bits == 0 ? "e" : "(e-" + text(fraction_bits) + ")") + " = " + ratio + ", computed in " +
         computed_in(scale.arithmetic) + "; " + rounded_multiplier(scale) + exponents(scale) + pre;
}

/// Where a second scale comes from.
std::string converter_text(const Chain& chain) {
  if (!reads_converter(chain)) return "";
  const bool has_offset =
      std::any_of(chain.begin(), chain.end(), [](const Stage& stage) { return stage.kind == StageKind::add_converter_offset; });
  return std::string(has_offset ? "offset2, " : "") + "M2, n2: the layer's `converter`, " + (has_offset ? "0, " : "") +
         "1, 0 where it states none";
}

std::string joined(const std::string& a, const std::string& b) { return a + (a.empty() || b.empty() ? "" : "; ") + b; }

}  // namespace

std::string computed_in(ScaleArithmetic arithmetic) {
  switch (arithmetic) {
    case ScaleArithmetic::f64: return "double";
    case ScaleArithmetic::f32: break;
    case ScaleArithmetic::f32_by_inverse_output: return "float as a product with the inverse of what divides";
    case ScaleArithmetic::f32_of_inverses: return "float as a quotient of inverses";
    case ScaleArithmetic::f32_of_quotient: return "float as a quotient times the second factor";
  }
  return "float";
}

std::string expression(const RescaleRule& rule, const std::string& start) { return Expression(rule, start).value(); }

std::string scale_line(const RescaleRule& rule, const std::string& ratio) {
  return joined(joined(multiplier_text(rule, ratio), float_scale_text(rule, ratio)), converter_text(rule.chain));
}

}  // namespace lastbit
