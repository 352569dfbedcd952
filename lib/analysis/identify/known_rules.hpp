// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the built-in sheets hold: where searches begin, so that a new sheet widens them.
#pragma once

#include <algorithm>
#include <vector>

#include "lastbit/registry.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {

/// Every different object of the type that any built-in backend has, for whatever purpose.
template <class T>
[[nodiscard]] const std::vector<T>& known_rules() {
  static const std::vector<T> known = [] {
    std::vector<T> list;
    for (const SpecSheet& sheet : builtin_backends()) {
      for (const Rule* rule : rules_of<T>()) {
        const T& object = *static_cast<const T*>(address(sheet.backend, *rule));
        if (is_present(*rule->type, &object) && std::ranges::find(list, object) == list.end()) list.push_back(object);
      }
    }
    return list;
  }();
  return known;
}

}  // namespace lastbit
