// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The assumptions of a sheet, looked up once for all operations of a network.
#pragma once

#include <string>
#include <vector>

#include "lastbit/operation_rules.hpp"

namespace lastbit {

class AssumedRules {
 public:
  explicit AssumedRules(const SpecSheet& sheet);

  /// As assumptions_of(); `backend` is the sheet's.
  [[nodiscard]] std::vector<Assumption> read_by(const Model& model, const Operation& operation, const Backend& backend) const;
  /// Of the rules that begin with these prefixes.
  [[nodiscard]] std::vector<Assumption> read_by(const Model& model, const Operation& operation,
                                                const std::vector<std::string>& prefixes) const;

 private:
  struct AssumedRule {
    std::string path;
    Assumption assumption;
    LayerCondition when = LayerCondition::always;
  };
  std::vector<AssumedRule> rules_;  ///< in the order of list_rules(), then of the sheet's open points
};

}  // namespace lastbit
