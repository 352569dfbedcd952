// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The built-in backends as documents list them.
#pragma once

#include <string>

#include "lastbit/backend.hpp"

namespace lastbit {

/// The levels of evidence that speak for the rules of a backend.
struct EvidenceRange {
  EvidenceLevel strongest = EvidenceLevel::assumption;
  EvidenceLevel weakest = EvidenceLevel::hardware;
};
[[nodiscard]] EvidenceRange evidence_range(const SpecSheet& sheet);

/// The table of docs/backends/README.md: name, title, evidence and page of every built-in backend.
[[nodiscard]] std::string backends_page();

}  // namespace lastbit
