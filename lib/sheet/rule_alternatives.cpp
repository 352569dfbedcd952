// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/rule_alternatives.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <typeinfo>

#include "lastbit/error.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

/// Widths of accumulators, registers and multipliers that are met in devices.
constexpr std::array usual_widths{8, 12, 14, 15, 16, 18, 20, 23, 24, 26, 28, 30, 31, 32, 40, 48, 64};

bool accepts(const Backend& backend, std::string_view path, const std::string& value) {
  Backend changed = backend;
  try {
    set_rule(changed, path, value);
  } catch (const Error&) {
    return false;
  }
  return changed != backend;
}

std::vector<std::string> numbers_beside(std::int64_t value) {
  std::vector<std::string> texts;
  for (const int step : {-2, -1, 1, 2}) texts.push_back(std::to_string(value + step));
  for (const int width : usual_widths) {
    if (std::abs(width - value) > 2) texts.push_back(std::to_string(width));
  }
  return texts;
}

std::vector<std::string> texts_beside(const RuleType& type, const void* value) {
  switch (type.kind) {
    case RuleType::Kind::enumeration: return {type.names.begin(), type.names.end()};
    case RuleType::Kind::number: return numbers_beside(type.load(value));
    case RuleType::Kind::text: return type.beside(value);
    default: return {};
  }
}

}  // namespace

std::vector<std::string> values_beside(const Backend& backend, std::string_view path) {
  const Rule* const rule = find_rule(backend, path);
  if (rule == nullptr || !rule->type->is_leaf()) throw Error(ErrorCode::unknown_rule, std::string(path), "no such rule");
  const bool is_of_absent_chain = path.ends_with("chain.size") && value_text(*rule->type, address(backend, *rule)) == "0";
  if (is_of_absent_chain) return {};
  std::vector<std::string> found = texts_beside(*rule->type, address(backend, *rule));
  std::erase(found, "absent");
  return found;
}

std::vector<std::string> alternatives(const Backend& backend, std::string_view path) {
  std::vector<std::string> found = values_beside(backend, path);
  std::erase_if(found, [&](const std::string& value) { return !accepts(backend, path, value); });
  return found;
}

bool is_width_rule(std::string_view path) { return path.ends_with("bits"); }

std::vector<std::string> every_value_beside(const Backend& backend, std::string_view path) {
  constexpr std::int64_t few = 64;
  const Rule* const rule = find_rule(backend, path);
  if (rule == nullptr || rule->type->kind != RuleType::Kind::number) return values_beside(backend, path);
  const RuleLimits limits = limits_of(*rule->member, address(backend, rule_table()[rule->owner]));
  if (limits.max - limits.min > few) return values_beside(backend, path);
  std::vector<std::string> numbers;
  for (std::int64_t number = limits.min; number <= limits.max; ++number) numbers.push_back(std::to_string(number));
  return numbers;
}

std::vector<std::string> every_alternative(const Backend& backend, std::string_view path) {
  std::vector<std::string> found = every_value_beside(backend, path);
  std::erase_if(found, [&](const std::string& value) { return !accepts(backend, path, value); });
  return found;
}

std::optional<RuleValue> completion(const Backend& backend, std::string_view path, std::string_view value) {
  const Rule* const before = find_rule(backend, path);
  if (before == nullptr || *rule_table()[before->owner].type->type != typeid(Stage)) return std::nullopt;
  Backend changed = backend;
  try {
    replace_rule(changed, path, value);
  } catch (const Error&) {
    return std::nullopt;
  }
  const Rule* missing = nullptr;
  for (const Rule& rule : ReachedRules(changed, Reach::read, rule_table()[before->owner])) {
    if (rule.type->kind != RuleType::Kind::enumeration || rule.type->load(address(changed, rule)) < std::ssize(rule.type->names)) continue;
    if (missing != nullptr) return std::nullopt;
    missing = &rule;
  }
  return missing == nullptr ? std::nullopt : std::optional(RuleValue{missing->path, std::string(missing->type->names[0])});
}

}  // namespace lastbit
