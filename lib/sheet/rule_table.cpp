// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "sheet/rule_table.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace lastbit {
namespace {

/// Lays structures out behind one another, each before its members.
class TableMaker {
 public:
  std::vector<Rule> make() {
    add({.path = "", .type = &backend_type()});
    return std::move(rules_);
  }

 private:
  void add(Rule rule) {
    const std::size_t index = rules_.size();
    const RuleType& type = *rule.type;
    const std::string path = rule.path;
    const std::size_t offset = rule.offset;
    rules_.push_back(std::move(rule));
    for (const RuleMember& member : type.members)
      add({.path = join_path(path, member.name), .offset = offset + member.offset, .type = member.type, .member = &member, .owner = index});
    if (type.kind == RuleType::Kind::chain) add_stages(path, offset + offsetof(Chain, stages), index);
    rules_[index].end = rules_.size();
  }

  void add_stages(const std::string& path, std::size_t offset, std::size_t chain) {
    for (std::size_t i = 0; i < max_stages; ++i)
      add({.path = join_path(path, std::to_string(i)),
           .offset = offset + i * sizeof(Stage),
           .type = &stage_type(),
           .owner = chain,
           .stage = i});
  }

  std::vector<Rule> rules_;
};

/// Whether the backend has the rule: a chain has `size` stages, and a stage only the members that its kind reads.
bool exists(const Backend& backend, const Rule& rule, const Rule& owner) {
  const void* const object = address(backend, owner);
  if (owner.type->kind == RuleType::Kind::chain) return rule.member != nullptr || rule.stage < static_cast<const Chain*>(object)->size;
  return !owner.type->has_only_read_members || is_read(*rule.member, object);
}

/// Given that the rule exists and its owner is within reach.
bool is_within(Reach reach, const Backend& backend, const Rule& rule, const Rule& owner, const std::vector<Rule>& table) {
  if (reach == Reach::every || owner.type->kind == RuleType::Kind::chain) return true;
  if (reach == Reach::existing) return is_present(*owner.type, address(backend, owner));
  if (!is_read(*rule.member, address(backend, owner))) return false;
  const bool is_first = rule.member == owner.type->members.data();
  return is_first || owner.member == nullptr || !reads_first_alone(*owner.member, address(backend, table[owner.owner]));
}

}  // namespace

const std::vector<Rule>& rule_table() {
  static const std::vector<Rule> table = TableMaker().make();
  return table;
}

void ReachedRules::Iterator::settle() {
  const std::vector<Rule>& table = rule_table();
  if (index_ == 0) index_ = 1;  // the Backend itself
  while (index_ < end_) {
    const Rule &rule = table[index_], &owner = table[rule.owner];
    if (!exists(*backend_, rule, owner) || !is_within(reach_, *backend_, rule, owner, table)) index_ = rule.end;
    else if (rule.type->is_leaf()) return;
    else ++index_;
  }
}

const Rule* find_rule(std::string_view path) {
  const std::vector<Rule>& table = rule_table();
  for (std::size_t i = 1; i < table.size();) {
    const Rule& rule = table[i];
    const bool is_above = path.starts_with(rule.path) && (path.size() == rule.path.size() || path[rule.path.size()] == '.');
    if (!is_above) {
      i = rule.end;
      continue;
    }
    if (path.size() == rule.path.size()) return &rule;
    if (++i == rule.end) return nullptr;
  }
  return nullptr;
}

const Rule* find_rule(const Backend& backend, std::string_view path) {
  const std::vector<Rule>& table = rule_table();
  const Rule* const found = find_rule(path);
  for (const Rule* rule = found; rule != nullptr && rule != table.data(); rule = &table[rule->owner]) {
    if (!exists(backend, *rule, table[rule->owner])) return nullptr;
  }
  return found;
}

namespace {

enum class Use : std::uint8_t { not_there, unread, read };

/// Given that the owner is read.
Use use_of(const Rule& rule, const Backend& backend) {
  const std::vector<Rule>& table = rule_table();
  const Rule& owner = table[rule.owner];
  if (!exists(backend, rule, owner)) return Use::not_there;
  return is_within(Reach::read, backend, rule, owner, table) ? Use::read : Use::unread;
}

/// Whether nothing that decides what of the rule is read differs between two backends that read it.
bool reads_the_same(const Rule& rule, const Backend& a, const Backend& b) {
  const Rule& owner = rule_table()[rule.owner];
  const bool same_members =
      rule.member == nullptr || reads_first_alone(*rule.member, address(a, owner)) == reads_first_alone(*rule.member, address(b, owner));
  return same_members && std::memcmp(address(a, rule), address(b, rule), rule.type->size) == 0;
}

/// Below the rule at the index, which the backend reads: those that are unread, but were not `before`.
void add_newly_unread(std::size_t above, const Backend& backend, const Backend& before, bool was_read, std::vector<const Rule*>& found) {
  const std::vector<Rule>& table = rule_table();
  for (std::size_t i = above + 1; i < table[above].end; i = table[i].end) {
    const Rule& rule = table[i];
    const Use use = use_of(rule, backend), use_before = was_read ? use_of(rule, before) : Use::not_there;
    if (use == Use::unread && use_before != Use::unread) found.push_back(&rule);
    if (use != Use::read || (use_before == Use::read && reads_the_same(rule, backend, before))) continue;
    add_newly_unread(i, backend, before, use_before == Use::read, found);
  }
}

}  // namespace

std::vector<const Rule*> unread(const Backend& backend) {
  const std::vector<Rule>& table = rule_table();
  std::vector<const Rule*> found;
  for (std::size_t i = 1; i < table.size();) {
    const Use use = use_of(table[i], backend);
    if (use == Use::unread) found.push_back(&table[i]);
    i = use == Use::read ? i + 1 : table[i].end;
  }
  return found;
}

std::vector<const Rule*> newly_unread(const Backend& backend, const Backend& before) {
  std::vector<const Rule*> found;
  add_newly_unread(0, backend, before, true, found);
  return found;
}

std::vector<const Rule*> differing_tops(const Backend& a, const Backend& b) {
  const std::vector<Rule>& table = rule_table();
  std::vector<const Rule*> found;
  for (std::size_t i = 1; i < table.size(); i = table[i].end) {
    const Rule& rule = table[i];
    if (use_of(rule, a) != use_of(rule, b) || std::memcmp(address(a, rule), address(b, rule), rule.type->size) != 0) found.push_back(&rule);
  }
  return found;
}

const void* fresh_value(const Rule& rule) { return member_address(*rule.member, rule_table()[rule.owner].type->fresh); }

void forget(Backend& backend, const Rule& rule) { std::memcpy(address(backend, rule), fresh_value(rule), rule.type->size); }

namespace {

/// Rules whose name was another in version 0.1, each with its path as it was then.
struct FormerPath {
  std::string path;
  const RuleMember* member;
};
const std::vector<FormerPath>& former_paths() {
  static const auto all = [] {
    std::vector<FormerPath> found;
    for (const Rule& rule : rule_table()) {
      if (rule.member == nullptr || rule.member->former_name.empty()) continue;
      const std::string above = rule.path.substr(0, rule.path.size() - rule.member->name.size());
      found.push_back({above + std::string(rule.member->former_name), rule.member});
    }
    return found;
  }();
  return all;
}

/// Whether a component of the pattern can be a name of then.
bool has_former_name(std::string_view pattern) {
  static const auto names = [] {
    std::set<std::string_view> found;
    for (const FormerPath& former : former_paths()) found.insert(former.member->former_name);
    return found;
  }();
  return std::ranges::any_of(names, [&](std::string_view name) { return pattern.find(name) != std::string_view::npos; });
}

/// As many components of the pattern as the path has.
std::string_view beginning_like(std::string_view pattern, std::string_view path) {
  std::size_t end = 0;
  for (auto dots = std::ranges::count(path, '.') + 1; dots > 0 && end != std::string_view::npos; --dots)
    end = pattern.find('.', end == 0 ? 0 : end + 1);
  return pattern.substr(0, end);
}

}  // namespace

std::string current_path(std::string_view pattern) {
  if (!has_former_name(pattern)) return std::string(pattern);
  for (const FormerPath& former : former_paths()) {
    const std::string_view head = beginning_like(pattern, former.path);
    const std::string_view name = former.member->former_name;
    if (!head.ends_with(name) || !covers(head, former.path)) continue;
    if (std::ranges::any_of(rule_table(), [&](const Rule& rule) { return covers(head, rule.path); })) return std::string(pattern);
    return std::string(head.substr(0, head.size() - name.size())) + std::string(former.member->name) +
           std::string(pattern.substr(head.size()));
  }
  return std::string(pattern);
}

const RuleType& structure_type(const std::type_info& type) {
  const auto is_it = [&](const Rule& rule) { return *rule.type->type == type; };
  return *std::ranges::find_if(rule_table(), is_it)->type;
}

void copy_rules(Backend& to, const Backend& from, std::string_view path) {
  if (const Rule* const rule = find_rule(from, path)) std::memcpy(address(to, *rule), address(from, *rule), rule->type->size);
}

RuleLimits limits_of(const RuleMember& member, const void* owner) {
  return member.limits_in == nullptr ? member.limits : member.limits_in(static_cast<const std::byte*>(owner) + member.within);
}

std::string value_text(const RuleType& type, const void* value) {
  if (type.kind == RuleType::Kind::text) return type.to_text(value);
  const std::int64_t number = type.load(value);
  if (type.kind == RuleType::Kind::number) return std::to_string(number);
  const auto index = static_cast<std::size_t>(number);
  return std::string(index < type.names.size() ? type.names[index] : "unstated");
}

namespace {

/// Operations, and each type of data of those that tell types apart.
template <class Found>
void for_each_operation(const Backend& backend, Found found) {
  const std::vector<Rule>& table = rule_table();
  for (std::size_t i = 1; i < table.size();) {
    const Rule& rule = table[i];
    const bool present = is_present(*rule.type, address(backend, rule));
    const bool is_split = present && rule.type->is_by_type;
    if (!is_split) found(rule, present);
    i = is_split ? i + 1 : rule.end;
  }
}

}  // namespace

std::vector<std::string> absent_operations(const Backend& backend) {
  std::vector<std::string> absent;
  for_each_operation(backend, [&](const Rule& rule, bool present) {
    if (!present) absent.push_back(rule.path);
  });
  return absent;
}

std::vector<const Rule*> present_operations(const Backend& backend) {
  std::vector<const Rule*> operations;
  for_each_operation(backend, [&](const Rule& rule, bool present) {
    const Rule& owner = rule_table()[rule.owner];
    if (present && is_read(*rule.member, address(backend, owner))) operations.push_back(&rule);
  });
  return operations;
}

}  // namespace lastbit
