// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the values of enumerations mean, in words.
#pragma once

#include <string_view>
#include <vector>

#include "sheet/rule_type.hpp"

namespace lastbit {

/// In the order of the names; every enumeration of the table has them.
[[nodiscard]] const std::vector<std::string_view>& value_meanings(const RuleType& enumeration);

}  // namespace lastbit
