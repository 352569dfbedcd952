// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/explain/candidates.hpp"

#include <algorithm>
#include <map>

#include "lastbit/error.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

/// Stands in place of a value where nobody states the rule.
constexpr const char* unstated_text = "unstated";

/// What a stage is, how many there are, and what an exponent may be: devices seldom differ in these alone.
bool is_seldom(const std::string& path) {
  return path.ends_with(".kind") || path.ends_with("chain.size") || path.ends_with(".min_exponent") || path.ends_with(".max_exponent");
}

std::string last_component(const std::string& path) { return path.substr(path.rfind('.') + 1); }
std::string owner(const std::string& path) { return path.substr(0, path.rfind('.')); }
std::string operation_in(const std::string& path) { return path.substr(0, path.find('.')); }

bool is_number(const std::string& value) { return !value.empty() && value.find_first_not_of("-0123456789") == std::string::npos; }
bool is_width(const Candidate& candidate) { return is_width_rule(candidate.settings[0].path); }
bool is_enumerator(const Candidate& candidate) {
  const std::string& path = candidate.settings[0].path;
  return !is_number(candidate.settings[0].to) && last_component(path) != "by" && !is_seldom(path);
}

/// "{conv,fully_connected}.i8.accumulator.bits"
std::string path_of_places(const std::vector<std::string>& places) {
  std::string operations;
  for (const std::string& place : places) operations += (operations.empty() ? "{" : ",") + operation_in(place);
  return operations + "}" + places[0].substr(places[0].find('.'));
}

/// The same change in every operation that could make it; and in those alone that sum products, where others could make it as well.
std::vector<Candidate> in_several_operations(const std::vector<Candidate>& singles) {
  std::map<std::pair<std::string, std::string>, Candidate::Setting> by_rule;
  for (const Candidate& single : singles) {
    if (single.settings.size() != 1) continue;
    const Candidate::Setting& setting = single.settings[0];
    const std::string any = in_any_operation(setting.path);
    if (any == setting.path) continue;
    const auto at = by_rule.try_emplace({any, setting.to}, Candidate::Setting{any, setting.from, setting.to, {}}).first;
    at->second.places.push_back(setting.path);
  }
  std::vector<Candidate> found;
  for (const auto& [key, everywhere] : by_rule) {
    if (everywhere.places.size() < 2) continue;
    found.push_back({{everywhere}});
    Candidate::Setting products = everywhere;
    std::erase_if(products.places, [](const std::string& place) { return !is_of_products(place); });
    if (products.places.size() < 2 || products.places.size() == everywhere.places.size()) continue;
    products.path = path_of_places(products.places);
    found.push_back({{products}});
  }
  return found;
}

enum class Closeness : std::uint8_t { one_structure, width_and_other, enumerators };

/// Of two rules that only make sense together, how close they are; nothing for others.
std::optional<Closeness> closeness(const Candidate& a, const Candidate& b) {
  const std::string &path = a.settings[0].path, &other = b.settings[0].path;
  if (path == other || operation_in(path) != operation_in(other)) return std::nullopt;
  if (is_enumerator(a) && is_enumerator(b)) return Closeness::enumerators;
  if (!(is_width(a) && is_enumerator(b)) && !(is_enumerator(a) && is_width(b))) return std::nullopt;
  return owner(path) == owner(other) ? Closeness::one_structure : Closeness::width_and_other;
}

}  // namespace

bool is_of_products(const std::string& path) {
  const std::string operation = operation_in(path);
  return operation.ends_with("conv") || operation == "fully_connected";
}

std::string in_any_operation(const std::string& path) {
  const std::size_t dot = path.find('.');
  return std::count(path.begin(), path.end(), '.') < 2 ? path : "*" + path.substr(dot);
}

std::vector<Candidate> single_candidates(const Backend& backend, const std::vector<std::string>& prefixes) {
  std::vector<Candidate> found;
  std::vector<RuleText> rules = list_rules(backend);
  std::stable_partition(rules.begin(), rules.end(), [](const RuleText& rule) { return !is_seldom(rule.path); });
  for (const RuleText& rule : rules) {
    const bool is_below = std::ranges::any_of(prefixes, [&](const std::string& prefix) { return covers(prefix, rule.path); });
    if (!is_below) continue;
    for (const std::string& value : every_alternative(backend, rule.path)) {
      const Candidate::Setting setting{rule.path, rule.value, value, {rule.path}};
      const std::optional<RuleValue> other = completion(backend, rule.path, value);
      if (other) found.push_back({{setting, {other->path, unstated_text, other->value, {other->path}}}});
      else found.push_back({{setting}});
    }
  }
  if (prefixes.size() < 2) return found;
  const std::vector<Candidate> several = in_several_operations(found);
  found.insert(found.end(), several.begin(), several.end());
  return found;
}

void each_pair(const std::vector<Candidate>& singles, const std::function<bool(const Candidate&)>& visit) {
  for (const Closeness wanted : {Closeness::one_structure, Closeness::width_and_other, Closeness::enumerators}) {
    for (std::size_t i = 0; i < singles.size(); ++i) {
      for (std::size_t k = i + 1; k < singles.size(); ++k) {
        if (closeness(singles[i], singles[k]) != wanted) continue;
        if (!visit({{singles[i].settings[0], singles[k].settings[0]}})) return;
      }
    }
  }
}

std::optional<Backend> with_settings(const Backend& backend, const Candidate& candidate, Unread unread) {
  std::optional<Backend> changed(backend);
  try {
    for (const Candidate::Setting& setting : candidate.settings) {
      for (const std::string& place : setting.places)
        unread == Unread::kept ? replace_rule(*changed, place, setting.to) : set_rule(*changed, place, setting.to);
    }
    check_widths(*changed, backend);
  } catch (const Error&) {
    changed.reset();
  }
  return changed;
}

RuleChange change_of(const Candidate& candidate) {
  const Candidate::Setting& first = candidate.settings[0];
  if (candidate.settings.size() == 1) return {first.path, first.from + " -> " + first.to, {first.path}};
  const Candidate::Setting& second = candidate.settings[1];
  const bool together = owner(first.path) == owner(second.path);
  return {first.path + " with " + (together ? last_component(second.path) : second.path),
          first.from + (second.from == unstated_text ? "" : " with " + second.from) + " -> " + first.to + " with " + second.to,
          {first.path, second.path}};
}

RuleChange generic_change_of(const Candidate& candidate) {
  Candidate any = candidate;
  for (Candidate::Setting& setting : any.settings) setting.path = in_any_operation(setting.path);
  return change_of(any);
}

}  // namespace lastbit
