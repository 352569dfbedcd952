// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What reports say of output scales.
#pragma once

#include <string>
#include <vector>

#include "lastbit/advise.hpp"
#include "lastbit/json_value.hpp"

namespace lastbit {

/// `names`: of the operations.
[[nodiscard]] std::string scales_text(const EqualScales& scales, const std::vector<std::string>& names);
[[nodiscard]] JsonValue scales_json(const EqualScales& scales, const std::vector<std::string>& names);

}  // namespace lastbit
