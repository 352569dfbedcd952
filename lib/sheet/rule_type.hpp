// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The type of a rule, as data: a number, an enumeration, a text, a structure of members, or a chain of stages. rule_types.cpp states one
// structure after the other; everything that walks, prints, reads, compares or documents rules reads these types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "lastbit/rules.hpp"

namespace lastbit {

struct RuleType;

struct RuleLimits {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// A member of a structure of rules. Owners and members are passed as their address.
struct RuleMember {
  std::string_view name;
  std::size_t offset = 0;  ///< in its owner
  const RuleType* type = nullptr;
  std::string_view meaning;
  std::string_view former_name{};  ///< in version 0.1; still understood
  std::size_t within = 0;          ///< offset in its owner of what the functions below look at: the owner itself, or a part spliced into it
  RuleLimits limits{};             ///< of a number
  RuleLimits (*limits_in)(const void*) = nullptr;  ///< of a number whose limits depend on its owner
  bool (*read_in)(const void*) = nullptr;          ///< whether it decides a result, given the owner's other members; null: always
  bool (*first_member_in)(const void*) = nullptr;  ///< whether of a structure that is read only the first member is; null: never
};

struct RuleType {
  enum class Kind : std::uint8_t { number, enumeration, text, structure, chain };

  Kind kind = Kind::structure;
  const std::type_info* type = nullptr;
  std::size_t size = 0;
  std::string_view meaning{};
  const void* fresh = nullptr;  ///< a value-initialised object
  bool (*equal)(const void*, const void*) = nullptr;
  bool (*present)(const void*) = nullptr;            ///< whether the operation it describes exists; null: always
  std::span<const RuleMember> members{};             ///< of a structure; of a chain its size
  bool is_by_type = false;                           ///< its members are one operation for several types of data
  bool has_only_read_members = false;                ///< a member that is not read does not exist (a stage)
  std::span<const std::string_view> names{};         ///< of an enumeration, in its order
  std::span<const std::string_view> meanings{};      ///< of these, in the same order
  std::span<const std::string_view> former_names{};  ///< of version 0.1, in the same order; empty: as now
  std::int64_t (*load)(const void*) = nullptr;       ///< of a number or an enumeration
  void (*store)(void*, std::int64_t) = nullptr;
  std::string (*to_text)(const void*) = nullptr;              ///< of a text
  std::vector<std::string> (*beside)(const void*) = nullptr;  ///< of a text: others that are easily taken for it
  bool (*from_text)(std::string_view, void*) = nullptr;       ///< false, and nothing changed: not such a text
  std::string_view allowed{};                                 ///< of a text: for messages

  [[nodiscard]] bool is_leaf() const { return kind != Kind::structure && kind != Kind::chain; }
};

[[nodiscard]] const RuleType& backend_type();
[[nodiscard]] const RuleType& stage_type();

}  // namespace lastbit
