// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How rule_types.cpp states a structure of rules, and the RuleType of each type of rule: constants, which no code makes.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include "sheet/joined.hpp"
#include "sheet/rule_type.hpp"
#include "sheet/rule_values.hpp"

namespace lastbit {

/// Specialised for each structure: its meaning, its members in the order of their paths, and whatever differs from Usual.
template <class T>
struct Structure;

/// What a structure states unless it says otherwise.
template <class T>
struct Usual {
  using Owner = T;
  static constexpr RuleType::Kind kind = RuleType::Kind::structure;
  static constexpr bool (*present)(const void*) = nullptr;
  static constexpr bool is_by_type = false;
  static constexpr bool has_only_read_members = false;

  /// A lambda without captures that takes the owner, as one that takes its address.
  [[nodiscard]] static constexpr auto asked(auto question) {
    return [](const void* owner) { return decltype(question){}(*static_cast<const Owner*>(owner)); };
  }
};

/// The name, the offset and the type of a member of Owner, for a RuleMember.
#define LASTBIT_MEMBER(member) .name = #member, .offset = offsetof(Owner, member), .type = &rule_type<decltype(Owner::member)>

/// The members of a part that stands in the owner at an offset, as if they were the owner's: its own name is no part of their paths.
template <class Part>
[[nodiscard]] constexpr auto spliced(std::size_t offset) {
  auto members = std::to_array(Structure<Part>::members);
  for (RuleMember& member : members) {
    member.offset += offset;
    member.within += offset;
  }
  return members;
}

template <class T>
inline constexpr T fresh{};

template <class T>
inline constexpr RuleType rule_type{
    .kind = Structure<T>::kind,
    .type = &typeid(T),
    .size = sizeof(T),
    .meaning = Structure<T>::meaning,
    .fresh = &fresh<T>,
    .equal = [](const void* a, const void* b) { return *static_cast<const T*>(a) == *static_cast<const T*>(b); },
    .present = Structure<T>::present,
    .members = Structure<T>::members,
    .is_by_type = Structure<T>::is_by_type,
    .has_only_read_members = Structure<T>::has_only_read_members};

template <std::integral T>
inline constexpr RuleType rule_type<T>{
    .kind = RuleType::Kind::number,
    .type = &typeid(T),
    .size = sizeof(T),
    .fresh = &fresh<T>,
    .equal = [](const void* a, const void* b) { return *static_cast<const T*>(a) == *static_cast<const T*>(b); },
    .load = [](const void* at) { return std::int64_t{*static_cast<const T*>(at)}; },
    .store = [](void* at, std::int64_t value) { *static_cast<T*>(at) = static_cast<T>(value); }};

template <NamedEnum E>
inline constexpr auto static_names = names_of(E{});
template <NamedEnum E>
inline constexpr std::array<std::string_view, 0> static_former_names{};
template <NamedEnum E>
requires requires { former_names_of(E{}); }
inline constexpr auto static_former_names<E> = former_names_of(E{});

/// Whether an enumeration is all that is said of an operation.
template <NamedEnum E>
inline constexpr bool is_operation = false;
[[nodiscard]] inline bool is_not_absent(const void* operation) { return rule_type<std::uint8_t>.load(operation) != 0; }

/// One text for each name; another number of them does not compile.
template <NamedEnum E>
[[nodiscard]] consteval std::span<const std::string_view> meanings_of() {
  static_assert(std::size(meanings<E>) == static_names<E>.size());
  return meanings<E>;
}

/// An enumeration is the byte that holds it.
template <NamedEnum E>
requires std::same_as<std::underlying_type_t<E>, std::uint8_t>
inline constexpr RuleType rule_type<E>{.kind = RuleType::Kind::enumeration,
                                       .type = &typeid(E),
                                       .size = sizeof(E),
                                       .fresh = rule_type<std::uint8_t>.fresh,
                                       .equal = rule_type<std::uint8_t>.equal,
                                       .present = is_operation<E> ? is_not_absent : nullptr,
                                       .names = static_names<E>,
                                       .meanings = meanings_of<E>(),
                                       .former_names = static_former_names<E>,
                                       .load = rule_type<std::uint8_t>.load,
                                       .store = rule_type<std::uint8_t>.store};

}  // namespace lastbit
