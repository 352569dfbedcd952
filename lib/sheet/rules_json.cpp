// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "sheet/rules_json.hpp"

#include <algorithm>
#include <cstring>

#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

constexpr int deepest = 8;

Json to_json(const RuleType& type, const void* object, bool first_member_alone = false);

Json chain_to_json(const Chain& chain) {
  Json list = Json::array();
  for (const Stage& stage : chain) list.push_back(to_json(stage_type(), &stage));
  return list;
}

Json value_to_json(const RuleType& type, const void* value, bool first_member_alone) {
  switch (type.kind) {
    case RuleType::Kind::structure: return to_json(type, value, first_member_alone);
    case RuleType::Kind::chain: return chain_to_json(*static_cast<const Chain*>(value));
    case RuleType::Kind::number: return type.load(value);
    case RuleType::Kind::enumeration:
    case RuleType::Kind::text: break;
  }
  return value_text(type, value);
}

/// What is read, and what differs from a fresh object: enough to read the same value back.
Json to_json(const RuleType& type, const void* object, bool first_member_alone) {
  Json json = Json::object();
  for (const RuleMember& member : type.members) {
    if (first_member_alone && &member != type.members.data()) break;
    const void* const value = member_address(member, object);
    const bool is_default = member.type->equal(value, member_address(member, type.fresh));
    const bool decides = is_read(member, object) && is_present(*member.type, value);
    if (decides || (!is_default && !type.has_only_read_members))
      json[std::string(member.name)] = value_to_json(*member.type, value, reads_first_alone(member, object));
  }
  return json;
}

bool is_pattern(std::string_view path) { return path.find('*') != std::string_view::npos; }
bool is_number_text(std::string_view text) { return !text.empty() && text.find_first_not_of("-0123456789") == std::string_view::npos; }
bool are_nested(std::string_view a, std::string_view b) { return covers(a, b) || covers(b, a); }

std::string joined(const std::vector<std::string>& texts, std::string_view separator) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : std::string(separator)) + text;
  return all;
}

}  // namespace

Json rules_to_json(const Backend& backend) { return to_json(backend_type(), &backend); }

void RulesReader::read(const Json& rules) {
  if (!rules.is_object()) throw Error(ErrorCode::malformed_file, std::string(where_) + ": rules", "must be an object");
  read_object(rules, "", 0);
  read_copies();
  if (complaints_.empty()) attempt([&] { check_widths(backend_); });
  for (const Rule* const rule : unread(backend_)) forget(backend_, *rule);
  require_stated();
  if (complaints_.empty()) return;
  std::vector<Diagnostic> problems;
  for (const std::string& complaint : complaints_) problems.push_back({ErrorCode::malformed_file, std::string(where_), complaint});
  throw Error(std::move(problems));
}

/// Whether it succeeded; what it throws becomes a complaint.
bool RulesReader::attempt(const auto& action) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    complain(error.what());
    return false;
  }
}

void RulesReader::read_object(const Json& object, const std::string& path, int depth) {
  if (depth > deepest) throw Error(ErrorCode::malformed_file, std::string(where_) + ": rules." + beginning(path), "nested too deeply");
  if (!path.empty() && object.contains("as")) return defer_copy(object, path);
  for (const auto& [name, value] : object.items()) read_value(value, current_path(join_path(path, name)), depth + 1);
}

/// An unknown structure is told once, not for each of its members.
void RulesReader::read_value(const Json& value, const std::string& path, int depth) {
  if (!value.is_structured()) {
    set(path, value);
  } else if (!is_pattern(path) && find_rule(backend_, path) == nullptr) {
    attempt([&] { replace_rule(backend_, path, ""); });
  } else if (value.is_object()) {
    read_object(value, path, depth);
  } else {
    read_chain(value, path);
  }
}

void RulesReader::defer_copy(const Json& object, const std::string& path) {
  const Json& source = object["as"];
  if (!source.is_string() || is_pattern(path)) return complain("rules." + path + ".as: must name an operation or a part of one");
  copies_.push_back({path, current_path(beginning(source.get_ref<const std::string&>())), &object});
}

/// A copy waits until what it copies has been read.
void RulesReader::read_copies() {
  while (!copies_.empty()) {
    const auto is_ready = [&](const Copy& copy) {
      return std::ranges::none_of(copies_, [&](const Copy& other) { return are_nested(copy.source, other.path); });
    };
    const auto ready = std::ranges::find_if(copies_, is_ready);
    if (ready == copies_.end()) return complain("rules." + copies_.front().path + ".as: '" + copies_.front().source + "' waits for itself");
    const Copy copy = *ready;
    copies_.erase(ready);
    read_copy(copy);
  }
}

void RulesReader::read_copy(const Copy& copy) {
  const Rule* const to = find_rule(backend_, copy.path);
  const Rule* const from = find_rule(backend_, copy.source);
  if (from == nullptr) {
    attempt([&] { replace_rule(backend_, copy.source, ""); });
    return;
  }
  const bool can = to != nullptr && !to->type->is_leaf() && is_present(*from->type, address(backend_, *from)) && copy_shared(*from, *to);
  if (!can) return complain("rules." + copy.path + ".as: '" + copy.source + "' is no operation of the device with the same rules");
  Json differences = *copy.object;
  differences.erase("as");
  read_object(differences, copy.path, 0);
}

/// Whether there are any: of two operations the rules of the same name and type, "conv" for "matmul" those of sums without a bias.
bool RulesReader::copy_shared(const Rule& from, const Rule& to) {
  Backend copied = backend_;
  forget(copied, to);
  bool any = false;
  for (auto i = static_cast<std::size_t>(&to - rule_table().data()); i < to.end;) {
    const Rule& rule = rule_table()[i++];
    const Rule* const source = find_rule(backend_, from.path + rule.path.substr(to.path.size()));
    if (source == nullptr || source->type != rule.type) continue;
    std::memcpy(address(copied, rule), address(backend_, *source), rule.type->size);
    stated_.insert(rule.path);
    any = true;
    i = rule.end;
  }
  if (any) backend_ = copied;
  return any;
}

void RulesReader::read_chain(const Json& stages, const std::string& path) {
  const bool fits = attempt([&] {
    replace_rule(backend_, path + ".size", "0");
    replace_rule(backend_, path + ".size", std::to_string(stages.size()));
  });
  if (!fits) return;
  stated_chains_.push_back(path);
  for (std::size_t i = 0; i < stages.size(); ++i) read_stage(stages[i], path + "." + std::to_string(i));
}

/// The kind decides which other members there are, then the width and the amount do.
void RulesReader::read_stage(const Json& stage, const std::string& path) {
  if (!stage.is_object() || !stage.contains("kind")) return complain("rules." + path + ": must be an object with a kind");
  for (const char* first : {"kind", "bits", "amount"}) {
    if (stage.contains(first) && !set(path + "." + first, stage[first]) && std::string_view(first) == "kind") return;
  }
  for (const auto& [name, value] : stage.items()) {
    const bool is_done = name == "kind" || name == "bits" || name == "amount";
    if (!is_done) set(path + "." + name, value);
  }
}

/// Whether the value could be set.
bool RulesReader::set(const std::string& path, const Json& value) {
  const auto refuse = [&](std::string_view why) {
    complain("rules." + beginning(path) + ": " + std::string(why));
    return false;
  };
  const bool is_number = value.is_number_integer();
  if (!is_number && !value.is_string()) return refuse("must be a name or an integer");
  const std::string text = is_number ? value.dump() : beginning(value.get_ref<const std::string&>());
  const Rule* const rule = find_rule(backend_, path);
  const bool takes_text = rule != nullptr && rule->type->kind == RuleType::Kind::text;
  if (!is_number && !takes_text && is_number_text(text)) return refuse("a number must not be written as a string");
  stated_.insert(path);
  return attempt([&] { replace_rule(backend_, path, text); });
}

/// 32 bits that wrap, and no second sum: what partial sums were before they had these members.
static bool is_newer_partial(std::string_view name) { return name == "bits" || name == "overflow" || name == "emptied"; }

/// Nothing is left to a silent default: without a base every rule that is read must be stated, of a stage always.
void RulesReader::require_stated() {
  std::vector<std::string> missing;
  for (const RuleText& rule : list_rules(backend_)) {
    const std::string name = rule.path.substr(rule.path.rfind('.') + 1);
    const bool may_be_left_out = rule.path == "domain" || name == "size" || name == "amount" || name == "by" || name == "centring" ||
                                 rule.value == "absent" || (rule.path.find(".partial.") != std::string::npos && is_newer_partial(name)) ||
                                 (rule.path.find(".chain.") != std::string::npos && name == "bits" && rule.value == "0");
    const auto covers_it = [&](const std::string& pattern) { return covers(pattern, rule.path); };
    const bool in_stated_chain = std::ranges::any_of(stated_chains_, covers_it);
    const bool is_stated = std::ranges::any_of(stated_, covers_it);
    if (!may_be_left_out && !is_stated && (!has_base_ || in_stated_chain)) missing.push_back(rule.path);
  }
  if (missing.empty()) return;
  complain("rules: must also state " + joined(missing, ", ") + (has_base_ ? "" : " (or name a device that it \"extends\")"));
}

}  // namespace lastbit
