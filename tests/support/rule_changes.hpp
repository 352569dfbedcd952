// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a rule could be instead, for tests that ask whether recorded values notice.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/ratio_text.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"

namespace lastbit::test {

using Texts = std::vector<std::string>;

/// `*` stands for any text.
inline bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() != '*') return !text.empty() && text.front() == pattern.front() && matches(pattern.substr(1), text.substr(1));
  return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
}

/// Rules, as patterns, of which a test may show nothing, and why.
struct Exemption {
  Texts rules;
  std::string reason;
  [[nodiscard]] bool holds_for(std::string_view rule) const {
    return std::ranges::any_of(rules, [&](const std::string& pattern) { return matches(pattern, rule); });
  }
};

/// Every text that some rule could hold besides `value`: all enumerators, and the neighbouring numbers. set_rule refuses what does not fit.
inline Texts candidates(const std::string& value) {
  if (value.find_first_not_of("-0123456789") == std::string::npos) {
    const int number = std::stoi(value);
    return {std::to_string(number + 1), std::to_string(number - 1)};
  }
  if (const auto ratio = ratio_from(value)) {
    Texts texts;
    for (const Ratio& other : ratios_beside(*ratio)) texts.push_back(text_of(other));
    return texts;
  }
  std::set<std::string> texts;
  const auto add = [&](auto... enumerators) {
    const auto add_all = [&](const auto& names) { texts.insert(names.begin(), names.end()); };
    (add_all(names_of(enumerators)), ...);
  };
  add(Rounding{}, Overflow{}, NarrowingPoint{}, ScaleArithmetic{}, Normalization{}, StageKind{}, ShiftAmount{}, BiasAt{},
      PerChannelLowering{}, PaddingCount{}, CountIn{}, DelegatedData{}, DelegatedAxes{}, UpperEnd{}, Centring{}, FloatSumMethod{},
      ConcatMethod{}, ScaleDivision{}, ZeroPointAt{}, OutOfRange{}, FunctionMethod{}, MultiplierCarry{}, MultiplierAddend{}, OutputScale{},
      RoundingStep{}, CrossTermMethod{}, ResizeGrid{}, FusedActivation{}, MultiplierForm{}, ArgmaxMethod{}, RunningMaximum{},
      SingleChannel{}, PartialMethod{}, PartialTail{}, RowMultiplier{}, WindowOrder{}, PwlMethod{}, FusedOrder{}, DynamicCodes{},
      DynamicProduct{}, BlockScale{}, BlockDivision{}, BlockOffset{}, BlockAddition{}, LaneOrder{}, LaneJoin{});
  texts.erase("absent");
  texts.erase(value);
  return {texts.begin(), texts.end()};
}

/// A chain of one clamp where there is none is no other device.
inline bool is_absent_chain(const RuleText& rule) { return rule.path.ends_with("operand.chain.size") && rule.value == "0"; }

inline bool accepts(const Backend& backend, const std::string& path, const std::string& value) {
  Backend changed = backend;
  try {
    set_rule(changed, path, value);
  } catch (const Error&) {
    return false;
  }
  return changed != backend;
}

using RuleSettings = std::vector<RuleValue>;

/// "conv.i8.accumulator.bits = 15; "
inline std::string text_of(const RuleSettings& settings) {
  std::string text;
  for (const RuleValue& setting : settings) text += setting.path + " = " + setting.value + "; ";
  return text;
}

/// "conv.i8.accumulator.bits with overflow", "32 with wrap -> 15 with saturate", with what `*` and {conv,fully_connected} stand for.
inline RuleSettings settings_of(const RuleChange& change) {
  std::string values = change.what.substr(change.what.find(" -> ") + 4);
  RuleSettings settings;
  for (const std::string& rule : change.rules) {
    const std::size_t with = values.find(" with ");
    const std::string value = values.substr(0, with);
    if (with != std::string::npos) values = values.substr(with + 6);
    if (!rule.starts_with("{")) {
      settings.push_back({rule, value});
      continue;
    }
    const std::size_t end = rule.find('}');
    for (std::size_t at = 1; at < end;) {
      const std::size_t comma = std::min(rule.find(',', at), end);
      settings.push_back({rule.substr(at, comma - at) + rule.substr(end + 1), value});
      at = comma + 1;
    }
  }
  return settings;
}

/// `base` with every setting.
inline SpecSheet with(const SpecSheet& base, const RuleSettings& settings) {
  SpecSheet changed = base;
  for (const RuleValue& setting : settings) set_rule(changed.backend, setting.path, setting.value);
  return changed;
}

}  // namespace lastbit::test
