// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rules moved from one backend to another, and rules of many combinations told in one list.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/identify/space.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/rules.hpp"
#include "sheet/rule_tree.hpp"

namespace lastbit {

/// The member of both that the path names becomes that of `from`.
template <class Node>
void copy_rules(Node& to, const Node& from, std::string_view path) {
  const std::size_t dot = path.find('.');
  const std::string_view first = path.substr(0, dot);
  each_rule(to, [&](std::string_view name, auto& member) {
    if (name != first) return;
    each_rule(from, [&](std::string_view other, const auto& source) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, std::remove_cvref_t<decltype(source)>>) {
        if (other != name) return;
        if (dot == std::string_view::npos) member = source;
        else if constexpr (RuleStructure<std::remove_cvref_t<decltype(member)>>) copy_rules(member, source, path.substr(dot + 1));
      }
    });
  });
}

/// The paths of the operations that a backend has: "conv.i8", "average_pool".
[[nodiscard]] inline std::vector<std::string> present_rules(const Backend& backend) {
  std::vector<std::string> paths;
  each_rule(backend, [&](std::string_view name, const auto& operation) {
    using Member = std::remove_cvref_t<decltype(operation)>;
    if constexpr (std::is_same_v<Member, ConvByType>) {
      each_rule(operation, [&](std::string_view type, const ConvArithmetic& rules) {
        if (is_present(rules)) paths.push_back(join_path(name, type));
      });
    } else if constexpr (RuleStructure<Member>) {
      if (is_present(operation) && !(operation == Member{})) paths.emplace_back(name);
    }
  });
  return paths;
}

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
