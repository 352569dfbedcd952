// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a combination decides, read off its rules.
#include <algorithm>
#include <utility>

#include "analysis/identify/space.hpp"
#include "lastbit/rules.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

std::string bits_text(int bits) { return std::to_string(bits) + " bits"; }
template <NamedEnum E>
std::string text(E value) {
  return std::string(name_of(value));
}

std::string narrowing_text(const AccumulatorRule& rule) {
  if (rule.overflow == Overflow::wrap) return "(order does not matter)";
  if (rule.when != NarrowingPoint::every_tile) return text(rule.when);
  return "every tile of " + std::to_string(rule.tile(1));
}

std::string partial_text(const PartialSums& partial) {
  if (partial.method == PartialMethod::absent) return "none";
  const bool of_terms = partial.method == PartialMethod::consecutive_terms, of_kernel = partial.method == PartialMethod::kernel_codes;
  std::string words = std::to_string(partial.terms(1)) +
                      (of_terms    ? " terms"
                       : of_kernel ? " codes of the kernel"
                                   : " codes") +
                      " in " + std::to_string(partial.bits) + " bits" +
                      (partial.overflow == Overflow::wrap ? "" : ", " + text(partial.overflow));
  if (partial.emptied > 0) words += ", emptied after " + std::to_string(partial.emptied);
  if (partial.vector > 0) words += ", vectors of " + std::to_string(partial.vector) + ", tail " + text(partial.tail);
  return words;
}

std::string multiplier_text(const ScaleEncoding& scale) {
  if (scale.form != MultiplierForm::any && scale.form != MultiplierForm::odd) return text(scale.form);
  std::string words = bits_text(scale.significant_bits) + " " + text(scale.rounding);
  if (scale.form == MultiplierForm::odd) words += " odd";
  if (scale.added == MultiplierAddend::one) words += " plus one";
  if (scale.carry == MultiplierCarry::saturate) words += " saturate";
  if (scale.carry == MultiplierCarry::lost) words += " carry lost";
  if (scale.normalization == Normalization::least_error) words += ", the exponent of the least error";
  if (scale.normalization == Normalization::largest_below) words += ", below the largest";
  if (scale.normalization == Normalization::layer) words += ", one exponent for the layer";
  return words;
}

/// A chain, stage by stage: the words in which stages tell what they are.
class Reader {
 public:
  explicit Reader(const RescaleRule& rule) : multiplier_(multiplier_text(rule.scale)) {
    for (const Stage& stage : rule.chain) with_stage(stage.kind, [&]<class Described>() { Described::tell(*this, stage); });
    if (shifts_.size() == 1 && float_.empty()) last_ = shifts_[0];
    if (shifts_.size() == 2) first_ = shifts_[0], last_ = shifts_[1];
  }

  [[nodiscard]] std::vector<Coordinate> coordinates(const RescaleRule& rule) const {
    const bool integer = reads_multiplier(rule.chain);
    return {{"way", way_},
            {"scale computed in", text(rule.scale.arithmetic)},
            {"multiplier", integer ? multiplier_ : "none (product in " + float_ + ")"},
            {"first rounding", first_},
            {"last rounding", last_},
            {"zero point", zero_point_},
            {"intermediate width", width_},
            {"rectifier", !rectified_ || width_ == "none" ? "by the bounds"
                          : clamped_to_type_              ? "on the sum alone"
                                                          : "on the sum"}};
  }

  void step(std::string_view name) { way_ += (way_.empty() ? "" : ", ") + std::string(name); }
  [[nodiscard]] bool has_multiplied() const { return !way_.empty() && way_ != "shift"; }
  void keeps(const Stage& stage) { multiplier_ += ", " + bits_text(stage.bits) + " " + text(stage.rounding) + " kept"; }
  void first_rounding(const Stage& stage) { first_ = text(stage.rounding); }
  void half(std::string_view words) { half_ = words; }
  void shift(const Stage& stage) {
    step("shift");
    shifts_.push_back(half_ + text(stage.rounding));
    half_.clear();
  }
  void width(const std::string& where, const Stage& stage) {
    if (stage.bits >= 64) return;
    if (width_ == "none") width_.clear();
    width_ += (width_.empty() ? "" : "; ") + where + bits_text(stage.bits) + " " + text(stage.overflow);
  }
  void float_product(const Stage& stage) {
    step("float product");
    float_ = stage.arithmetic == ProductArithmetic::f32 ? "float" : "double";
    last_ = text(stage.rounding);
  }
  void zero_point(std::string_view where) { zero_point_ = where; }
  void rectifies() { rectified_ = true; }
  void clamps_to_type() { clamped_to_type_ = true; }

 private:
  std::string way_, multiplier_, float_, first_ = "none", last_ = "none", zero_point_ = "none", width_ = "none", half_;
  std::vector<std::string> shifts_;
  bool rectified_ = false, clamped_to_type_ = false;
};

}  // namespace

std::vector<Coordinate> coordinates_of(const SumRules& rules) {
  const AccumulatorRule& accumulator = rules.accumulator;
  return {{"accumulator width", bits_text(accumulator.bits)},
          {"accumulator overflow", text(accumulator.overflow)},
          {"accumulator narrowed", narrowing_text(accumulator)},
          {"partial sums", partial_text(accumulator.partial)},
          {"bias added", text(rules.bias)},
          {"bias width", rules.bias_bits == 0 ? "as given" : bits_text(rules.bias_bits) + " " + text(rules.bias_rounding)},
          {"per-channel scales", text(rules.per_channel)}};
}

std::vector<Coordinate> coordinates_of(const RescaleRule& rule) {
  if (!applies_scale(rule.chain)) return {};
  return Reader(rule).coordinates(rule);
}

std::string path_of(const std::string& place, const std::string& rule) {
  static const std::pair<std::string_view, std::string_view> paths[] = {{"accumulator width", "accumulator.bits"},
                                                                        {"accumulator overflow", "accumulator.overflow"},
                                                                        {"accumulator narrowed", "accumulator.when"},
                                                                        {"partial sums", "accumulator.partial"},
                                                                        {"bias added", "bias"},
                                                                        {"bias width", "bias_bits"},
                                                                        {"per-channel scales", "per_channel"},
                                                                        {"way", "output.chain"},
                                                                        {"scale computed in", "output.scale.arithmetic"},
                                                                        {"multiplier", "output.scale"},
                                                                        {"first rounding", "output.chain"},
                                                                        {"last rounding", "output.chain"},
                                                                        {"zero point", "output.chain"},
                                                                        {"intermediate width", "output.chain"},
                                                                        {"rectifier", "output.chain"}};
  const auto* const found = std::find_if(std::begin(paths), std::end(paths), [&](const auto& each) { return each.first == rule; });
  if (found != std::end(paths)) return join_path(place, found->second);
  return rule.find('.') == std::string::npos ? join_path(place, rule) : rule;
}

}  // namespace lastbit
