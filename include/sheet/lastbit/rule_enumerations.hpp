// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The enumerations that rules are values of, as data: for bindings to other languages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lastbit {

/// A type of rules whose values have names.
struct RuleEnumeration {
  std::string name;  ///< "Rounding"
  std::span<const std::string_view> values;
  std::span<const std::string_view> meanings;  ///< one for each value
};

/// Each that a sheet uses, once, in the order of rules_page().
[[nodiscard]] std::vector<RuleEnumeration> rule_enumerations();

}  // namespace lastbit
