// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a rule could be instead: the one-rule neighbours of a backend.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/backend.hpp"

namespace lastbit {

/// Every other value of the rule at `path` with which the backend is still one that fits together: all enumerators of its type; of a number
/// its neighbours and the widths that devices have. Throws Error(unknown_rule) for a path that the backend does not have.
[[nodiscard]] std::vector<std::string> alternatives(const Backend& backend, std::string_view path);

/// The same and more: the backend has not been asked whether it takes them.
[[nodiscard]] std::vector<std::string> values_beside(const Backend& backend, std::string_view path);

/// As values_beside(), but of a number with few values, such as a width in bits, every one.
[[nodiscard]] std::vector<std::string> every_value_beside(const Backend& backend, std::string_view path);

/// Whether the rule is a width in bits.
[[nodiscard]] bool is_width_rule(std::string_view path);

/// As alternatives(), but of a number with few values, such as a width in bits, every one with which the backend fits together.
[[nodiscard]] std::vector<std::string> every_alternative(const Backend& backend, std::string_view path);

/// A rule that takes a value.
struct RuleValue {
  std::string path, value;
};
/// Where a stage reads one rule that nobody states once its rule at `path` has that value: that rule with the first of its values. Nothing where all
/// is stated, or more than one rule is not.
[[nodiscard]] std::optional<RuleValue> completion(const Backend& backend, std::string_view path, std::string_view value);

}  // namespace lastbit
