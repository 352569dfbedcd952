// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/golden.hpp"

namespace lastbit {

std::vector<SpecSheet> golden_sheets() {
  const auto by_definition = [](const std::string& what) {
    return std::vector<Evidence>{{"domain", EvidenceLevel::document, "by definition: IEEE 754 binary32 on the dequantised network"},
                                 {"golden_range", EvidenceLevel::document, "by definition: " + what}};
  };
  return {{"float",
           "golden path: everything dequantised and computed in float, bounded by what each tensor's codes stand for",
           float_golden,
           by_definition("a code of the tensor would hold no more"),
           {}},
          {"float_unbounded",
           "golden path without bounds: as `float`, but where a converter dropped a ReLU nothing takes its place",
           float_unbounded,
           by_definition("the network as written"),
           {}}};
}

}  // namespace lastbit
