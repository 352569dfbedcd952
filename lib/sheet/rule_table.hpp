// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The rules of a Backend as one flat table: path, offset, type, owner. It holds structures before their members, and of every chain its size
// and all the stages it could have. A copy of a rule, or of all rules below a path, is a copy of bytes at an offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "sheet/rule_type.hpp"

namespace lastbit {

[[nodiscard]] inline std::string join_path(std::string_view prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : std::string(prefix) + "." + std::string(name);
}

struct Rule {
  std::string path;  ///< "conv.i8.output.chain.2.rounding"; the Backend itself, the first of the table, has none
  std::size_t offset = 0;
  const RuleType* type = nullptr;
  const RuleMember* member = nullptr;  ///< null: the Backend, or a stage of a chain
  std::size_t owner = 0;               ///< index of the structure or chain that holds it
  std::size_t end = 0;                 ///< index behind the last rule below it
  std::size_t stage = 0;               ///< its number in its chain
};

[[nodiscard]] const std::vector<Rule>& rule_table();

[[nodiscard]] inline const void* address(const Backend& backend, const Rule& rule) {
  return reinterpret_cast<const std::byte*>(&backend) + rule.offset;
}
[[nodiscard]] inline void* address(Backend& backend, const Rule& rule) { return reinterpret_cast<std::byte*>(&backend) + rule.offset; }

/// every: all rules that the backend's chains have. existing: not those of absent operations. read: those that decide a result, and those
/// that say what is absent.
enum class Reach : std::uint8_t { every, existing, read };

/// The rules with a value (not the structures) within reach, in the order of the table. What is within reach is asked of the backend as it
/// is when the next rule is looked for.
class ReachedRules {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Rule;
    using difference_type = std::ptrdiff_t;
    using pointer = const Rule*;
    using reference = const Rule&;

    Iterator(const Backend& backend, Reach reach, std::size_t index, std::size_t end)
        : backend_(&backend), reach_(reach), index_(index), end_(end) {
      settle();
    }
    const Rule& operator*() const { return rule_table()[index_]; }
    Iterator& operator++() {
      ++index_;
      settle();
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    void settle();
    const Backend* backend_;
    Reach reach_;
    std::size_t index_, end_;
  };

  ReachedRules(const Backend& backend, Reach reach) : ReachedRules(backend, reach, rule_table().front()) {}
  /// At and below a rule whose owner is within reach.
  ReachedRules(const Backend& backend, Reach reach, const Rule& top)
      : backend_(backend), reach_(reach), first_(static_cast<std::size_t>(&top - rule_table().data())), end_(top.end) {}
  [[nodiscard]] Iterator begin() const { return {backend_, reach_, first_, end_}; }
  [[nodiscard]] Iterator end() const { return {backend_, reach_, end_, end_}; }

 private:
  const Backend& backend_;
  Reach reach_;
  std::size_t first_, end_;
};

/// The rule or structure at the path, or null if there is none: in the table; in the table and the backend.
[[nodiscard]] const Rule* find_rule(std::string_view path);
[[nodiscard]] const Rule* find_rule(const Backend& backend, std::string_view path);

/// The structure of type T at the path, or null.
template <class T>
[[nodiscard]] const T* structure_at(const Backend& backend, std::string_view path) {
  const Rule* const rule = find_rule(backend, path);
  return rule != nullptr && *rule->type->type == typeid(T) ? static_cast<const T*>(address(backend, *rule)) : nullptr;
}
template <class T>
[[nodiscard]] T* structure_at(Backend& backend, std::string_view path) {
  return const_cast<T*>(structure_at<T>(static_cast<const Backend&>(backend), path));
}

/// The type of a structure of rules.
[[nodiscard]] const RuleType& structure_type(const std::type_info& type);
template <class T>
[[nodiscard]] const RuleType& structure_type() {
  return structure_type(typeid(T));
}

/// The rules of the table that are structures of type T.
template <class T>
[[nodiscard]] const std::vector<const Rule*>& rules_of() {
  static const std::vector<const Rule*> rules = [] {
    std::vector<const Rule*> found;
    for (const Rule& rule : rule_table()) {
      if (*rule.type->type == typeid(T)) found.push_back(&rule);
    }
    return found;
  }();
  return rules;
}

/// Makes the rules at and below the path those of `from`.
void copy_rules(Backend& to, const Backend& from, std::string_view path);

[[nodiscard]] inline bool is_present(const RuleType& type, const void* object) { return type.present == nullptr || type.present(object); }
[[nodiscard]] inline bool is_read(const RuleMember& member, const void* owner) {
  return member.read_in == nullptr || member.read_in(static_cast<const std::byte*>(owner) + member.within);
}
/// Whether of the member, a structure, only its own first member is read.
[[nodiscard]] inline bool reads_first_alone(const RuleMember& member, const void* owner) {
  return member.first_member_in != nullptr && member.first_member_in(static_cast<const std::byte*>(owner) + member.within);
}
[[nodiscard]] inline const void* member_address(const RuleMember& member, const void* owner) {
  return static_cast<const std::byte*>(owner) + member.offset;
}
[[nodiscard]] inline void* member_address(const RuleMember& member, void* owner) { return static_cast<std::byte*>(owner) + member.offset; }
[[nodiscard]] RuleLimits limits_of(const RuleMember& member, const void* owner);
/// "half_even", "32".
[[nodiscard]] std::string value_text(const RuleType& type, const void* value);

/// The path, or pattern, with names of version 0.1 replaced by those of now.
[[nodiscard]] std::string current_path(std::string_view pattern);

/// The operations that a backend has, and whatever else it reads at the top; sums of products by the type of data: "conv.i8", "average_pool".
[[nodiscard]] std::vector<const Rule*> present_operations(const Backend& backend);
/// The paths of operations that a backend lacks: "matmul", "conv.i16_bias32".
[[nodiscard]] std::vector<std::string> absent_operations(const Backend& backend);

/// The uppermost rules that nothing reads, whatever the backend holds there.
[[nodiscard]] std::vector<const Rule*> unread(const Backend& backend);
/// Those of them that are not unread in the backend as it was `before`; looked for only where the two differ.
[[nodiscard]] std::vector<const Rule*> newly_unread(const Backend& backend, const Backend& before);
/// The rules of the table's top, such as operations, at or below which two backends may differ: of the others, all bytes are the same, and are read alike.
[[nodiscard]] std::vector<const Rule*> differing_tops(const Backend& a, const Backend& b);
/// What the rule is in a fresh backend.
[[nodiscard]] const void* fresh_value(const Rule& rule);
void forget(Backend& backend, const Rule& rule);

/// set_rule without the check that widths fit each other, for readers that set many rules and check once.
void replace_rule(Backend& backend, std::string_view pattern, std::string_view value);
/// Throws Error(unknown_rule) if rules that are each valid do not fit each other.
void check_widths(const Backend& backend);
/// The same of what is a change of a backend that has passed: only the operations in which the two differ are looked at.
void check_widths(const Backend& backend, const Backend& checked);

}  // namespace lastbit
