// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The assumptions of a sheet, looked up once for all operations of a network.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lastbit/operation_rules.hpp"

namespace lastbit {

class AssumedRules {
 public:
  explicit AssumedRules(const SpecSheet& sheet);

  /// As assumptions_of(); `backend` is the sheet's.
  [[nodiscard]] std::vector<Assumption> read_by(const Model& model, const Operation& operation, const Backend& backend) const;

 private:
  std::vector<std::pair<std::string, Assumption>> rules_;  ///< by path, in the order of list_rules()
};

}  // namespace lastbit
