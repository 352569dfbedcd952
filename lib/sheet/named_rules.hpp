// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Usual ways of computing that have a name, so that a setting can put one in place of several rules: average_pool.output=reciprocal_16.
#pragma once

#include <span>
#include <string_view>
#include <typeinfo>

namespace lastbit {

struct NamedRules {
  std::string_view name;
  const std::type_info* type;  ///< of the structure of rules that it can stand for
  const void* value;
  std::string_view meaning;
};

[[nodiscard]] std::span<const NamedRules> named_rules();

}  // namespace lastbit
