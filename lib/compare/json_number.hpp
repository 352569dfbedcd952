// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "compare/report_fields.hpp"
#include "lastbit/json_value.hpp"

namespace lastbit {

/// For reports: JSON has no infinity and no NaN, so they are texts.
inline JsonValue json_number(double value) {
  if (std::isfinite(value)) return value;
  return number_text("%f", value);
}

}  // namespace lastbit
