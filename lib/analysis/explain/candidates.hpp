// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// In what a device could differ from a known backend: one rule with another value, in one operation or in all, or two rules that only act
// together.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lastbit/explain.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {

/// Rules set to other values. A path may hold `*` in place of the operation: then the rule is set wherever the operations concerned have it.
struct Candidate {
  struct Setting {
    std::string path, from, to;
    std::vector<std::string> places;  ///< the path itself, or those that it stands for
    friend bool operator==(const Setting&, const Setting&) = default;
  };
  std::vector<Setting> settings;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// The rule in whatever operation: "*.i8.accumulator.bits".
[[nodiscard]] std::string in_any_operation(const std::string& path);

/// Operations whose sums of products most devices compute in one place: by a path of their rules.
[[nodiscard]] bool is_of_products(const std::string& path);

/// Every rule below the prefixes with every other value that every_alternative() has; those last in which devices seldom differ. Of several
/// prefixes, every rule in each of them, then in all at once.
[[nodiscard]] std::vector<Candidate> single_candidates(const Backend& backend, const std::vector<std::string>& prefixes);

/// Two rules of one operation: a width and what becomes of values that leave it or of what is dropped, first where one structure holds both;
/// then any two enumerators. `visit` returns false to end it.
void each_pair(const std::vector<Candidate>& singles, const std::function<bool(const Candidate&)>& visit);

/// What becomes of rules that are then not read any more: as set_rule has it they are forgotten, which takes most of the time of a short run.
enum class Unread : std::uint8_t { forgotten, kept };

/// Nothing where such rules do not fit together.
[[nodiscard]] std::optional<Backend> with_settings(const Backend& backend, const Candidate& candidate, Unread unread = Unread::forgotten);

[[nodiscard]] RuleChange change_of(const Candidate& candidate);
/// The same in any operation.
[[nodiscard]] RuleChange generic_change_of(const Candidate& candidate);

}  // namespace lastbit
