// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "rule_tree.hpp"

namespace lastbit {

std::string describe(const SpecSheet& sheet) { return sheet.title + "\n"; }

}  // namespace lastbit
