// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A backend in files that others read: by its built-in name with the rules set otherwise, or, where that does not do, whole.
#pragma once

#include <string>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {

struct BackendReference {
  std::string name;                ///< a built-in backend; empty: `json` says all
  std::vector<RuleText> settings;  ///< rules to set
  std::string json;                ///< the whole backend file
};

/// A sheet whose name begins with that of a built-in backend (as reports name one with settings) refers to it if it differs only in settings.
[[nodiscard]] BackendReference reference_to(const SpecSheet& sheet);

/// Of letters, digits and `_`, for file names and identifiers.
[[nodiscard]] std::string identifier_of(const std::string& text);

/// Names of the two backends for files and identifiers, never the same.
[[nodiscard]] std::pair<std::string, std::string> identifiers_of(const SpecSheet& a, const SpecSheet& b);

}  // namespace lastbit
