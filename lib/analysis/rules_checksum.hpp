// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lastbit/rules.hpp"
#include "model/checksum.hpp"

namespace lastbit {

/// A sheet without what is open about it, which a certificate lists itself.
[[nodiscard]] inline std::string stated_rules_of(SpecSheet sheet) {
  sheet.open.clear();
  sheet.origin.clear();
  return backend_to_json(sheet);
}

/// Of all rules of a sheet, and of those that compute layers beside it.
[[nodiscard]] inline std::string rules_checksum(const SpecSheet& sheet) {
  Checksum rules;
  rules.add(stated_rules_of(sheet));
  for (const Placement& placement : sheet.backend.elsewhere.list()) {
    rules.add(stated_rules_of(placement.sheet));
    for (const std::string& layer : placement.layers) rules.add(layer + "\n");
  }
  return rules.text();
}

}  // namespace lastbit
