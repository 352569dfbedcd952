// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a comparison of two sides of a layer rests on.
#pragma once

#include <map>
#include <vector>

#include "analysis/certify/both_sides.hpp"
#include "lastbit/verdict_assumptions.hpp"
#include "sheet/assumed_rules.hpp"

namespace lastbit {

/// The assumptions of sheets, each looked up once; sheets stay where they are.
class LayerAssumptions {
 public:
  /// Of both sides. Where both read the same rules and come from one backend, what both assume alike is left out: whatever is so, it is so on both.
  [[nodiscard]] std::vector<BackendAssumption> of(const LayerOnBoth& layer);

 private:
  [[nodiscard]] std::vector<Assumption> of_side(const LayerSide& side);
  [[nodiscard]] const AssumedRules& rules_of(const SpecSheet& sheet);

  std::map<const SpecSheet*, AssumedRules> rules_;
};

}  // namespace lastbit
