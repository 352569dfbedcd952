// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lastbit/rules.hpp"
#include "model/checksum.hpp"

namespace lastbit {

/// Of all rules of a sheet, and of those that compute layers beside it.
[[nodiscard]] inline std::string rules_checksum(const SpecSheet& sheet) {
  Checksum rules;
  rules.add(backend_to_json(sheet));
  for (const Placement& placement : sheet.backend.elsewhere.list()) {
    rules.add(backend_to_json(placement.sheet));
    for (const std::string& layer : placement.layers) rules.add(layer + "\n");
  }
  return rules.text();
}

}  // namespace lastbit
