// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "compare/report_fields.hpp"

namespace lastbit {

/// For reports: JSON has no infinity and no NaN, so they are texts.
inline nlohmann::ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  return number_text("%f", value);
}

}  // namespace lastbit
