// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The guesses of a sheet, looked up once for all operations of a network.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lastbit/operation_rules.hpp"

namespace lastbit {

class GuessedRules {
 public:
  explicit GuessedRules(const SpecSheet& sheet);

  /// As guesses_of(); `backend` is the sheet's.
  [[nodiscard]] std::vector<Guess> read_by(const Model& model, const Operation& operation, const Backend& backend) const;

 private:
  std::vector<std::pair<std::string, Guess>> rules_;  ///< by path, in the order of list_rules()
};

}  // namespace lastbit
