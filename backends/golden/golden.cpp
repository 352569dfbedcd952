// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/golden.hpp"

namespace lastbit {

std::vector<SpecSheet> golden_sheets() {
  return {{"float",
           "golden path: everything dequantised and computed in float",
           float_golden,
           {{"domain", EvidenceLevel::document, "by definition: IEEE 754 binary32 on the dequantised network"}},
           {}}};
}

}  // namespace lastbit
