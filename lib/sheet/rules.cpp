// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/rules.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "lastbit/error.hpp"
#include "lastbit/nearest.hpp"
#include "lastbit/printable.hpp"
#include "sheet/named_rules.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

[[noreturn]] void reject(std::string_view path, std::string_view value, const std::string& allowed) {
  throw Error(ErrorCode::unknown_rule, std::string(path), "'" + std::string(value) + "' is not one of: " + allowed);
}

std::string range_text(const RuleLimits& limits) {
  return "integers from " + std::to_string(limits.min) + " to " + std::to_string(limits.max);
}

std::int64_t enumerator(const Rule& rule, std::string_view text) {
  const auto &names = rule.type->names, &former = rule.type->former_names;
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return found - names.begin();
  std::string allowed;
  for (const std::string_view name : names) allowed += (allowed.empty() ? "" : ", ") + std::string(name);
  const auto renamed = text.empty() ? former.end() : std::ranges::find(former, text);
  const std::string_view meant =
      renamed == former.end() ? nearest_name(text, names) : names[static_cast<std::size_t>(renamed - former.begin())];
  reject(rule.path, text, allowed + (meant.empty() ? "" : "; did you mean '" + std::string(meant) + "'?"));
}

std::int64_t number(const Rule& rule, const RuleLimits& limits, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (!is_number || value < limits.min || value > limits.max) reject(rule.path, text, range_text(limits));
  return value;
}

void assign(Backend& backend, const Rule& rule, std::string_view text) {
  void* const value = address(backend, rule);
  switch (rule.type->kind) {
    case RuleType::Kind::enumeration: return rule.type->store(value, enumerator(rule, text));
    case RuleType::Kind::number: {
      const void* const owner = address(backend, rule_table()[rule.owner]);
      return rule.type->store(value, number(rule, limits_of(*rule.member, owner), text));
    }
    case RuleType::Kind::text:
      if (!rule.type->from_text(text, value)) reject(rule.path, text, std::string(rule.type->allowed));
      return;
    case RuleType::Kind::structure:
    case RuleType::Kind::chain: break;
  }
}

/// The stage with every member its kind does not read at its default, so that equal arithmetic compares equal.
Stage tidied(const Stage& stage) {
  Stage tidy;
  for (const RuleMember& member : stage_type().members) {
    if (is_read(member, &stage)) std::memcpy(member_address(member, &tidy), member_address(member, &stage), member.type->size);
  }
  return tidy;
}

/// The chain that the rule lies in, if any; the other chains are as they were.
void tidy_around(Backend& backend, const Rule& rule) {
  const Rule* around = &rule;
  while (around->type->kind != RuleType::Kind::chain) {
    if (around->owner == 0) return;
    around = &rule_table()[around->owner];
  }
  Chain& chain = *static_cast<Chain*>(address(backend, *around));
  for (std::size_t i = 0; i < max_stages; ++i) chain.stages[i] = i < chain.size ? tidied(chain.stages[i]) : Stage{};
}

/// Whether a value is one that its type and limits have.
bool is_stated(const RuleMember& member, const void* owner) {
  const RuleType& type = *member.type;
  if (type.kind == RuleType::Kind::text) return true;
  const std::int64_t value = type.load(member_address(member, owner));
  if (type.kind == RuleType::Kind::enumeration) return value < std::ssize(type.names);
  const RuleLimits limits = limits_of(member, owner);
  return value >= limits.min && value <= limits.max;
}
bool is_stated(const Backend& backend, const Rule& rule) { return is_stated(*rule.member, address(backend, rule_table()[rule.owner])); }

void require_terms(const std::string& path, const TermsByGroup& table, const std::string& why) {
  for (std::size_t group = 1; group <= largest_group; ++group) {
    if (table(group) == 0) reject(join_path(path, std::to_string(group)), "0", "integers from 1 (" + why + ")");
  }
}

/// Sums of products of codes, whose runs are known.
bool is_of_products(std::string_view path) {
  return std::ranges::any_of(std::to_array<std::string_view>({"conv.", "depthwise_conv.", "fully_connected.", "matmul."}),
                             [&](std::string_view operation) { return path.starts_with(operation); });
}

void check(const std::string& path, const AccumulatorRule& rule) {
  if (rule.when == NarrowingPoint::every_tile) require_terms(path + ".tile", rule.tile, "narrowing at every_tile");
  if (has_partial_sums(rule)) require_terms(path + ".partial.terms", rule.partial.terms, "partial sums");
  if (sums_codes(rule) && !is_of_products(path))
    reject(path + ".partial.method", name_of(rule.partial.method),
           "absent, consecutive_terms: only conv, depthwise_conv, fully_connected and matmul multiply codes at positions of a kernel");
}

/// Not where a stage reads a width that has not been stated.
bool has_width(const Stage& stage) {
  return std::ranges::none_of(stage_type().members, [&](const RuleMember& member) {
    return member.name == "bits" && is_read(member, &stage) && stage.bits < limits_of(member, &stage).min;
  });
}

/// Sums whose terms are the codes of several tensors.
bool is_of_tensors(std::string_view path) {
  if (path.starts_with("left.")) path.remove_prefix(5);
  return path.starts_with("add.") || path.starts_with("sub.") || path.starts_with("add_n.");
}

/// What only the operands of one sum can have in common.
void check(const std::string& path, const ScaleEncoding& scale) {
  if (has_common_unit(scale) && !(is_of_tensors(path) && path.ends_with(".operand.scale")))
    reject(path + ".normalization", name_of(scale.normalization), "those with an exponent: a unit is common to the operands of a sum");
}

void check(const std::string& path, Centring centring) {
  if (centring != Centring::own_zero_point && centring != Centring::nothing && !is_of_tensors(path))
    reject(path, name_of(centring), "own_zero_point, nothing: only sums of several tensors have a first operand");
}

/// No intermediate value of a chain may need more than 96 bits: what the layer's exponent adds must still fit 128.
void check(const std::string& path, const RescaleRule& rule) {
  constexpr int widest = 96;
  int bits = 64;
  for (std::size_t i = 0; i < rule.chain.size; ++i) {
    const Stage& stage = rule.chain.stages[i];
    const auto where = [&] { return path + ".chain." + std::to_string(i); };
    if (!has_width(stage)) reject(where() + ".bits", "0", "integers from 2 to 64 (state the whole stage)");
    const StageFacts& facts = facts_of(stage);
    bits += facts.added_bits(stage, rule.scale.significant_bits, bits);
    if (bits > widest) {
      throw Error(
          ErrorCode::unknown_rule, where(),
          "the value may need " + std::to_string(bits) + " bits, at most " + std::to_string(widest) + " are allowed; narrow it first");
    }
    if (facts.settles) bits = 64;
  }
}

bool matches_component(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, resume_text = 0;
  std::size_t star = std::string_view::npos;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume_text = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume_text;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string_view take_component(std::string_view& path) {
  const std::size_t length = std::min(path.find('.'), path.size());
  const std::string_view component = path.substr(0, length);
  path.remove_prefix(std::min(length + 1, path.size()));
  return component;
}

bool matches(std::string_view pattern, std::string_view path) {
  return !pattern.empty() && std::ranges::count(pattern, '.') == std::ranges::count(path, '.') && covers(pattern, path);
}

std::vector<std::string> every_path(const Backend& backend) {
  std::vector<std::string> paths;
  for (const Rule& rule : ReachedRules(backend, Reach::every)) paths.push_back(rule.path);
  return paths;
}

/// What may follow the beginning of a path.
std::vector<std::string_view> names_after(const std::vector<std::string>& rules, std::string_view path) {
  std::vector<std::string_view> names;
  for (const std::string_view rule : rules) {
    if (!path.empty() && !(rule.starts_with(path) && rule.substr(path.size()).starts_with('.'))) continue;
    std::string_view rest = rule.substr(path.empty() ? 0 : path.size() + 1);
    const std::string_view name = take_component(rest);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

/// For a message: the nearest known name, or all that may follow the longest beginning of `path` that exists.
std::string continuations(const Backend& backend, std::string_view path) {
  const std::vector<std::string> rules = every_path(backend);
  std::string_view known = path;
  std::vector<std::string_view> names = names_after(rules, known);
  while (names.empty()) {
    known = known.substr(0, known.rfind('.') == std::string_view::npos ? 0 : known.rfind('.'));
    names = names_after(rules, known);
  }
  std::string_view rest = path.substr(known.empty() || known == path ? known.size() : known.size() + 1);
  const std::string_view meant = nearest_name(take_component(rest), names);
  if (!meant.empty()) return "did you mean '" + join_path(known, meant) + "'?";
  std::string text = known.empty() ? "rules begin with" : "after '" + std::string(known) + "' may come";
  for (const std::string_view name : names) text += (name == names.front() ? " " : ", ") + std::string(name);
  return text;
}

bool is_covered(const std::vector<std::string>& patterns, std::string_view path) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return covers(pattern, path); });
}

/// The operations that a backend lacks: a difference need not list their rules one by one. Left out is an operation of which both sides state some
/// rule alike and none otherwise: then only the rules of one side alone say that the two differ.
std::vector<std::string> lacking(const Backend& backend, const std::vector<std::string_view>& agreed,
                                 const std::vector<RuleDifference>& differences) {
  const auto says_so = [](const std::string& operation, const RuleDifference& each) {
    return !each.a.empty() && !each.b.empty() && covers(operation, each.path);
  };
  std::vector<std::string> absent = absent_operations(backend);
  std::erase_if(absent, [&](const std::string& operation) {
    return std::ranges::any_of(agreed, [&](std::string_view path) { return covers(operation, path); }) &&
           std::ranges::none_of(differences, [&](const RuleDifference& each) { return says_so(operation, each); });
  });
  return absent;
}

/// Sets a structure of rules to one that has a name, or to nothing.
bool assign_structure(Backend& backend, const Rule& rule, std::string_view value) {
  void* const object = address(backend, rule);
  if (value == "absent" && rule.type->present != nullptr) {
    std::memcpy(object, rule.type->fresh, rule.type->size);
    return true;
  }
  for (const NamedRules& named : named_rules()) {
    if (named.name != value || *named.type != *rule.type->type) continue;
    std::memcpy(object, named.value, rule.type->size);
    return true;
  }
  return false;
}

/// The same for every structure that the pattern names; one with a `*` those that exist.
bool assign_structures(Backend& backend, std::string_view pattern, std::string_view value) {
  if (pattern.find('*') == std::string_view::npos) {
    const Rule* const rule = find_rule(pattern);
    return rule != nullptr && !rule->type->is_leaf() && assign_structure(backend, *rule, value);
  }
  bool found = false;
  for (const Rule& rule : rule_table()) {
    if (rule.type->is_leaf() || !is_present(*rule.type, address(backend, rule)) || !matches(pattern, rule.path)) continue;
    found = assign_structure(backend, rule, value) || found;
  }
  return found;
}

}  // namespace

namespace {

void add_rules(const Backend& backend, const Rule& top, std::vector<RuleText>& rules) {
  for (const Rule& rule : ReachedRules(backend, Reach::read, top))
    rules.push_back({rule.path, value_text(*rule.type, address(backend, rule))});
}

}  // namespace

std::vector<RuleText> list_rules(const Backend& backend) {
  std::vector<RuleText> rules;
  add_rules(backend, rule_table().front(), rules);
  return rules;
}

void replace_rule(Backend& backend, std::string_view stated, std::string_view value) {
  const std::string current = current_path(stated);
  const std::string_view pattern = current;
  std::vector<const Rule*> assigned;
  const auto assign_to = [&](const Rule& rule) {
    assign(backend, rule, value);
    assigned.push_back(&rule);
  };
  if (pattern.find('*') == std::string_view::npos) {
    const Rule* const rule = find_rule(backend, pattern);
    if (rule != nullptr && rule->type->is_leaf()) assign_to(*rule);
  } else {
    for (const Rule& rule : ReachedRules(backend, Reach::existing)) {
      if (matches(pattern, rule.path)) assign_to(rule);
    }
  }
  for (const Rule* const rule : assigned) tidy_around(backend, *rule);
  if (assigned.empty() && !assign_structures(backend, pattern, value)) {
    throw Error(ErrorCode::unknown_rule, beginning(pattern), "no such rule; " + continuations(backend, pattern));
  }
}

void set_rule(Backend& backend, std::string_view path, std::string_view value) {
  Backend changed = backend;
  replace_rule(changed, path, value);
  check_widths(changed);
  for (const Rule* const rule : newly_unread(changed, backend)) forget(changed, *rule);
  backend = changed;
}

namespace {

bool states_what_it_reads(const RuleMember& member, const void* owner);

/// Asked of the types alone: a device that runs does not need the table of all rules, which takes memory.
bool states_what_it_reads(const RuleType& type, const void* object, bool first_member_alone = false) {
  if (type.kind == RuleType::Kind::chain) {
    const Chain& chain = *static_cast<const Chain*>(object);
    return std::ranges::all_of(chain, [](const Stage& stage) { return states_what_it_reads(stage_type(), &stage); });
  }
  return std::ranges::all_of(type.members.first(first_member_alone ? 1 : type.members.size()),
                             [&](const RuleMember& member) { return !is_read(member, object) || states_what_it_reads(member, object); });
}

bool states_what_it_reads(const RuleMember& member, const void* owner) {
  if (member.type->is_leaf()) return is_stated(member, owner);
  return states_what_it_reads(*member.type, member_address(member, owner), reads_first_alone(member, owner));
}

/// A search asks of thousands of devices, of which each is another in one operation: what this thread has last found stated is not looked at again.
bool states_what_it_reads(const Backend& backend) {
  thread_local std::optional<Backend> last;
  const auto is_as_last = [&](const RuleMember& member) {
    return last && is_read(member, &*last) &&
           std::memcmp(member_address(member, &backend), member_address(member, &std::as_const(*last)), member.type->size) == 0;
  };
  bool has_changed = false;
  for (const RuleMember& member : backend_type().members) {
    if (!is_read(member, &backend) || is_as_last(member)) continue;
    has_changed = true;
    if (!states_what_it_reads(member, &backend)) return false;
  }
  if (has_changed) last = backend;
  return true;
}

}  // namespace

void require_stated(const Backend& backend) {
  if (states_what_it_reads(backend)) return;
  std::string missing;
  for (const Rule& rule : ReachedRules(backend, Reach::read)) {
    if (!is_stated(backend, rule)) missing += (missing.empty() ? "" : ", ") + rule.path;
  }
  if (!missing.empty()) throw Error(ErrorCode::unknown_rule, "backend", "reads rules that it does not state: " + missing);
}

std::vector<std::string> unread_rules(const Backend& backend) {
  std::vector<std::string> held;
  for (const Rule* const rule : unread(backend)) {
    if (!rule->type->equal(address(backend, *rule), fresh_value(*rule))) held.push_back(rule->path);
  }
  return held;
}

namespace {

/// At and below the rule.
template <class T>
void check_structures(const Backend& backend, const Rule& top) {
  const std::vector<const Rule*>& rules = rules_of<T>();
  const Rule* const end = rule_table().data() + top.end;
  for (auto rule = std::ranges::lower_bound(rules, &top); rule != rules.end() && *rule < end; ++rule)
    check((*rule)->path, *static_cast<const T*>(address(backend, **rule)));
}

void check_widths_below(const Backend& backend, const Rule& top) {
  check_structures<AccumulatorRule>(backend, top);
  check_structures<ScaleEncoding>(backend, top);
  check_structures<Centring>(backend, top);
  check_structures<RescaleRule>(backend, top);
}

}  // namespace

void check_widths(const Backend& backend) { check_widths_below(backend, rule_table().front()); }
void check_widths(const Backend& backend, const Backend& checked) {
  for (const Rule* const top : differing_tops(backend, checked)) check_widths_below(backend, *top);
}

/// Both lists follow the order of the table, so that they are merged like sorted lists.
std::vector<RuleDifference> diff_backends(const Backend& a, const Backend& b) {
  std::vector<RuleText> rules_a, rules_b;
  for (const Rule* const top : differing_tops(a, b)) {
    add_rules(a, *top, rules_a);
    add_rules(b, *top, rules_b);
  }
  std::set<std::string_view> paths_b;
  for (const RuleText& rule : rules_b) paths_b.insert(rule.path);
  std::vector<RuleDifference> differences;
  std::vector<std::string_view> agreed;
  auto in_b = rules_b.begin();
  for (const auto& [path, value] : rules_a) {
    if (!paths_b.contains(path)) {
      differences.push_back({path, value, ""});
      continue;
    }
    for (; in_b->path != path; ++in_b) differences.push_back({in_b->path, "", in_b->value});
    if (in_b->value != value) differences.push_back({path, value, in_b->value});
    else agreed.push_back(path);
    ++in_b;
  }
  for (; in_b != rules_b.end(); ++in_b) differences.push_back({in_b->path, "", in_b->value});
  // Of an operation that one side lacks, the rule that says so suffices.
  const auto absent_a = lacking(a, agreed, differences), absent_b = lacking(b, agreed, differences);
  std::erase_if(differences, [&](const RuleDifference& each) {
    return (each.a.empty() && is_covered(absent_a, each.path)) || (each.b.empty() && is_covered(absent_b, each.path));
  });
  return differences;
}

bool covers(std::string_view pattern, std::string_view path) {
  while (!pattern.empty()) {
    if (path.empty() || (pattern.front() != '*' && pattern.front() != path.front()))
      return false;  // of most rules the first letter says it
    if (!matches_component(take_component(pattern), take_component(path))) return false;
  }
  return true;
}

const Evidence* evidence_for(const SpecSheet& sheet, std::string_view path) {
  const Evidence* best = nullptr;
  const auto length = [](const Evidence& entry) { return std::pair(std::ranges::count(entry.rule, '.'), entry.rule.size()); };
  for (const Evidence& entry : sheet.evidence) {
    if (covers(entry.rule, path) && (best == nullptr || length(entry) > length(*best))) best = &entry;
  }
  return best;
}

}  // namespace lastbit
