// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The type of a rule, as data: a number, an enumeration, a text, a structure of members, or a chain of stages. rule_types.cpp states one
// structure after the other with StructureOf; everything that walks, prints, reads, compares or documents rules reads these types.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
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
  bool (*present)(const void*) = nullptr;        ///< whether the operation it describes exists; null: always
  std::vector<RuleMember> members{};             ///< of a structure; of a chain its size
  bool is_by_type = false;                       ///< its members are one operation for several types of data
  bool has_only_read_members = false;            ///< a member that is not read does not exist (a stage)
  std::vector<std::string_view> names{};         ///< of an enumeration, in its order
  std::vector<std::string_view> former_names{};  ///< of version 0.1, in the same order; empty: as now
  std::int64_t (*load)(const void*) = nullptr;   ///< of a number or an enumeration
  void (*store)(void*, std::int64_t) = nullptr;
  std::string (*to_text)(const void*) = nullptr;              ///< of a text
  std::vector<std::string> (*beside)(const void*) = nullptr;  ///< of a text: others that are easily taken for it
  bool (*from_text)(std::string_view, void*) = nullptr;       ///< false, and nothing changed: not such a text
  std::string_view allowed{};                                 ///< of a text: for messages

  [[nodiscard]] bool is_leaf() const { return kind != Kind::structure && kind != Kind::chain; }
};

/// Says which overload of rule_type is meant.
template <class T>
struct Of {};

template <class T>
[[nodiscard]] RuleType basic_type(RuleType::Kind kind) {
  static const T fresh{};
  RuleType type{.kind = kind, .type = &typeid(T), .size = sizeof(T), .fresh = &fresh};
  type.equal = [](const void* a, const void* b) { return *static_cast<const T*>(a) == *static_cast<const T*>(b); };
  return type;
}

template <class T>
[[nodiscard]] RuleType scalar_type(RuleType::Kind kind) {
  RuleType type = basic_type<T>(kind);
  type.load = [](const void* at) { return static_cast<std::int64_t>(*static_cast<const T*>(at)); };
  type.store = [](void* at, std::int64_t value) { *static_cast<T*>(at) = static_cast<T>(value); };
  return type;
}

template <std::integral Number>
[[nodiscard]] const RuleType& rule_type(Of<Number>) {
  static const RuleType type = scalar_type<Number>(RuleType::Kind::number);
  return type;
}

template <NamedEnum E>
[[nodiscard]] RuleType enumeration_type() {
  RuleType type = scalar_type<E>(RuleType::Kind::enumeration);
  const auto names = names_of(E{});
  type.names.assign(names.begin(), names.end());
  if constexpr (requires { former_names_of(E{}); }) {
    const auto former = former_names_of(E{});
    type.former_names.assign(former.begin(), former.end());
  }
  return type;
}
template <NamedEnum E>
[[nodiscard]] const RuleType& rule_type(Of<E>) {
  static const RuleType type = enumeration_type<E>();
  return type;
}

/// Predicates without captures over an object, over its address.
template <class T, class Predicate>
[[nodiscard]] auto over_address(Predicate) {
  static_assert(std::is_class_v<Predicate>, "a lambda: a pointer to a function would be called as null");
  return [](const void* object) { return Predicate{}(*static_cast<const T*>(object)); };
}

/// States a structure member by member, in the order of their paths. What `present` needs to be told stands in deciding members.
template <class Owner>
class StructureOf {
 public:
  explicit StructureOf(std::string_view meaning) : type_(basic_type<Owner>(RuleType::Kind::structure)) { type_.meaning = meaning; }

  /// Whether the operation exists on the device.
  template <class Predicate>
  StructureOf& present(Predicate predicate) {
    type_.present = over_address<Owner>(predicate);
    return *this;
  }
  /// Always read.
  template <class Member>
  StructureOf& deciding(std::string_view name, Member Owner::*member, std::string_view meaning, RuleLimits limits = {}) {
    return add(name, member, meaning, limits, nullptr);
  }
  /// Read where the structure is present.
  template <class Member>
  StructureOf& member(std::string_view name, Member Owner::*member, std::string_view meaning, RuleLimits limits = {}) {
    return add(name, member, meaning, limits, type_.present);
  }
  /// Read where the predicate says so.
  template <class Predicate, class Member>
  StructureOf& member_if(Predicate predicate, std::string_view name, Member Owner::*member, std::string_view meaning,
                         RuleLimits limits = {}) {
    return add(name, member, meaning, limits, over_address<Owner>(predicate));
  }
  /// Of the member stated last: limits that depend on the owner.
  template <class Limits>
  StructureOf& limits(Limits limits) {
    type_.members.back().limits_in = over_address<Owner>(limits);
    return *this;
  }
  /// Of the member stated last, a structure: where only its first member is read.
  template <class Predicate>
  StructureOf& first_member_if(Predicate predicate) {
    type_.members.back().first_member_in = over_address<Owner>(predicate);
    return *this;
  }
  /// Of the member stated last.
  StructureOf& formerly(std::string_view name) {
    type_.members.back().former_name = name;
    return *this;
  }
  /// The members of a structure that stands in the owner, as if they were the owner's: its own name is no part of their paths.
  template <class Part>
  StructureOf& splice(Part Owner::*part) {
    const std::size_t within = offset_of(part);
    for (RuleMember member : rule_type(Of<Part>{}).members) {
      member.offset += within;
      member.within += within;
      type_.members.push_back(member);
    }
    return *this;
  }
  StructureOf& is_by_type() {
    type_.is_by_type = true;
    return *this;
  }
  StructureOf& has_only_read_members() {
    type_.has_only_read_members = true;
    return *this;
  }
  /// A part that is not a data member.
  StructureOf& part(RuleMember part) {
    type_.members.push_back(part);
    return *this;
  }
  [[nodiscard]] RuleType take() { return std::move(type_); }

 private:
  template <class Member>
  [[nodiscard]] std::size_t offset_of(Member Owner::*member) const {
    const auto* const owner = static_cast<const Owner*>(type_.fresh);
    return static_cast<std::size_t>(reinterpret_cast<const char*>(&(owner->*member)) - reinterpret_cast<const char*>(owner));
  }
  template <class Member>
  StructureOf& add(std::string_view name, Member Owner::*member, std::string_view meaning, RuleLimits limits,
                   bool (*read_in)(const void*)) {
    type_.members.push_back({.name = name,
                             .offset = offset_of(member),
                             .type = &rule_type(Of<Member>{}),
                             .meaning = meaning,
                             .limits = limits,
                             .read_in = read_in});
    return *this;
  }

  RuleType type_;
};

[[nodiscard]] const RuleType& backend_type();
[[nodiscard]] const RuleType& stage_type();

}  // namespace lastbit
