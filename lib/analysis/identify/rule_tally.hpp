// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rules of many combinations told in one list.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/identify/space.hpp"
#include "lastbit/identify.hpp"

namespace lastbit {

/// Values of every rule, in the order in which they turn up.
class RuleTally {
 public:
  void add(const std::vector<Coordinate>& coordinates) {
    for (const Coordinate& each : coordinates) {
      auto found = std::find_if(rules_.begin(), rules_.end(), [&](const RuleValues& one) { return one.rule == each.rule; });
      if (found == rules_.end()) found = rules_.insert(rules_.end(), {each.rule, {}, 0});
      if (std::find(found->values.begin(), found->values.end(), each.value) == found->values.end()) found->values.push_back(each.value);
    }
  }
  [[nodiscard]] std::vector<RuleValues> take() { return std::move(rules_); }

 private:
  std::vector<RuleValues> rules_;
};

}  // namespace lastbit
