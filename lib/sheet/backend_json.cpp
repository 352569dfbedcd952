// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The backend file format. Reading turns the "rules" object into paths and values and hands them to set_rule's own checks.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "lastbit/error.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "lastbit.backend.v1";

// Writing.

Json to_json(const RuleType& type, const void* object);

Json chain_to_json(const Chain& chain) {
  Json list = Json::array();
  for (const Stage& stage : chain) list.push_back(to_json(stage_type(), &stage));
  return list;
}

Json value_to_json(const RuleType& type, const void* value) {
  switch (type.kind) {
    case RuleType::Kind::structure: return to_json(type, value);
    case RuleType::Kind::chain: return chain_to_json(*static_cast<const Chain*>(value));
    case RuleType::Kind::number: return type.load(value);
    case RuleType::Kind::enumeration:
    case RuleType::Kind::text: break;
  }
  return value_text(type, value);
}

/// What is read, and what differs from a fresh object: enough to read the same value back.
Json to_json(const RuleType& type, const void* object) {
  Json json = Json::object();
  for (const RuleMember& member : type.members) {
    const void* const value = member_address(member, object);
    const bool is_default = member.type->equal(value, member_address(member, type.fresh));
    const bool decides = is_read(member, object) && is_present(*member.type, value);
    if (decides || (!is_default && !type.has_only_read_members)) json[std::string(member.name)] = value_to_json(*member.type, value);
  }
  return json;
}

// Reading.

/// Follows the parser, for of two equal keys the parsed value shows only the last.
class UniqueKeys {
 public:
  explicit UniqueKeys(std::string_view where) : where_(where) {}

  bool operator()(int, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start) keys_.emplace_back();
    else if (event == Event::object_end) keys_.pop_back();
    else if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second)
      throw Error(ErrorCode::malformed_file, std::string(where_),
                  "key '" + parsed.get<std::string>().substr(0, 100) + "' stands twice in one object");
    return true;
  }

 private:
  std::string_view where_;
  std::vector<std::set<std::string>> keys_;
};

class Reader {
 public:
  Reader(std::string_view where, SpecSheet& sheet) : where_(where), sheet_(sheet) {}

  void read(const Json& file) {
    check_members(file, "", {"format", "name", "title", "based_on", "rules", "evidence", "settings", "quantizer"});
    if (text(file, "", "format") != format_name) fail("format", std::string("must be \"") + format_name + "\"");
    if (file.contains("based_on")) start_from(text(file, "", "based_on"));
    sheet_.name = text(file, "", "name");
    if (file.contains("title")) sheet_.title = text(file, "", "title");
    if (file.contains("rules")) read_rules(file["rules"]);
    if (file.contains("evidence")) read_evidence(file["evidence"]);
    if (file.contains("settings")) read_settings(file["settings"]);
    if (file.contains("quantizer")) sheet_.quantizer = text(file, "", "quantizer");
  }

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& message) const {
    throw Error(ErrorCode::malformed_file, std::string(where_) + ": " + (key.empty() ? "top level" : key), message);
  }

  /// Runs a check of rules.hpp and puts the file's name before its complaint.
  void guarded(const auto& action) const {
    try {
      action();
    } catch (const Error& error) {
      throw Error(ErrorCode::malformed_file, std::string(where_), error.what());
    }
  }

  void check_members(const Json& object, const std::string& key, std::initializer_list<std::string_view> allowed) const {
    if (!object.is_object()) fail(key, "must be an object");
    std::string names;
    for (const std::string_view name : allowed) names += (names.empty() ? "" : ", ") + std::string(name);
    for (const auto& [name, value] : object.items()) {
      if (std::ranges::find(allowed, name) == allowed.end()) fail(join_path(key, name.substr(0, 100)), "unknown key; allowed: " + names);
    }
  }

  [[nodiscard]] std::string text(const Json& object, const std::string& key, const char* name) const {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string()) fail(join_path(key, name), "must be given as a string");
    return found->get<std::string>();
  }

  void start_from(const std::string& base) {
    guarded([&] {
      if (base.ends_with(".json")) throw Error(ErrorCode::unknown_backend, "based_on", "must name a built-in backend");
      sheet_ = find_backend(base);
    });
    has_base_ = true;
  }

  void read_rules(const Json& rules) {
    if (!rules.is_object()) fail("rules", "must be an object");
    read_object(rules, "", 0);
    guarded([&] { check_widths(sheet_.backend); });
    require_stated();
  }

  void read_object(const Json& object, const std::string& path, int depth) {
    if (depth > deepest) fail("rules." + path.substr(0, 100), "nested too deeply");
    for (const auto& [name, value] : object.items()) read_value(value, join_path(path, name), depth + 1);
  }

  void read_value(const Json& value, const std::string& path, int depth) {
    if (value.is_object()) return read_object(value, path, depth);
    if (value.is_array()) return read_chain(value, path);
    set(path, value);
  }

  void read_chain(const Json& stages, const std::string& path) {
    guarded([&] {
      replace_rule(sheet_.backend, path + ".size", "0");
      replace_rule(sheet_.backend, path + ".size", std::to_string(stages.size()));
    });
    stated_chains_.push_back(path);
    for (std::size_t i = 0; i < stages.size(); ++i) read_stage(stages[i], path + "." + std::to_string(i));
  }

  /// The kind decides which other members there are, then the width and the amount do.
  void read_stage(const Json& stage, const std::string& path) {
    if (!stage.is_object() || !stage.contains("kind")) fail("rules." + path, "must be an object with a kind");
    for (const char* first : {"kind", "bits", "amount"}) {
      if (stage.contains(first)) set(path + "." + first, stage[first]);
    }
    for (const auto& [name, value] : stage.items()) set(path + "." + name, value);
  }

  void set(const std::string& path, const Json& value) {
    const bool is_number = value.is_number_integer();
    if (!is_number && !value.is_string()) fail("rules." + path.substr(0, 100), "must be a name or an integer");
    const std::string as_text = is_number ? value.dump() : value.get<std::string>().substr(0, 100);
    const bool looks_numeric = as_text.find_first_of("0123456789") == 0 || as_text.starts_with('-');
    if (!is_number && looks_numeric) fail("rules." + path.substr(0, 100), "a number must not be written as a string");
    guarded([&] { replace_rule(sheet_.backend, path, as_text); });
    stated_.insert(path);
  }

  /// Nothing is left to a silent default: without a base every rule that is read must be stated, of a stage always.
  void require_stated() const {
    std::string missing;
    for (const RuleText& rule : list_rules(sheet_.backend)) {
      const std::string name = rule.path.substr(rule.path.rfind('.') + 1);
      const bool may_be_left_out =
          rule.path == "domain" || name == "size" || name == "amount" || rule.value == "absent" || (name == "bits" && rule.value == "0");
      const bool in_stated_chain = std::ranges::any_of(stated_chains_, [&](const std::string& chain) { return covers(chain, rule.path); });
      const bool is_stated = std::ranges::any_of(stated_, [&](const std::string& pattern) { return covers(pattern, rule.path); });
      if (!may_be_left_out && !is_stated && (!has_base_ || in_stated_chain)) missing += (missing.empty() ? "" : ", ") + rule.path;
    }
    if (!missing.empty()) fail("rules", "must also state " + missing + (has_base_ ? "" : " (or name a \"based_on\")"));
  }

  void read_evidence(const Json& list) {
    if (!list.is_array()) fail("evidence", "must be a list");
    std::vector<Evidence> entries;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string key = "evidence." + std::to_string(i);
      check_members(list[i], key, {"rule", "level", "source"});
      const auto level = enumerator_from<EvidenceLevel>(text(list[i], key, "level"));
      if (!level) fail(key + ".level", "must be one of hardware, vendor_code, vendor_source, document, thread, guess");
      entries.push_back({text(list[i], key, "rule"), *level, text(list[i], key, "source")});
      require_rule(key + ".rule", entries.back().rule);
    }
    add_to(sheet_.evidence, std::move(entries));
  }

  /// Evidence may speak for a rule, for all below a path, or for a pattern; not for what exists nowhere.
  void require_rule(const std::string& key, const std::string& pattern) const {
    const auto is_meant = [&](const Rule& rule) { return covers(pattern, rule.path); };
    const ReachedRules rules(sheet_.backend, Reach::every);
    if (std::none_of(rules.begin(), rules.end(), is_meant)) fail(key, "no rule '" + pattern.substr(0, 100) + "'");
  }

  void read_settings(const Json& list) {
    if (!list.is_array()) fail("settings", "must be a list");
    std::vector<Setting> entries;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string key = "settings." + std::to_string(i);
      check_members(list[i], key, {"rule", "alternatives", "why"});
      entries.push_back({text(list[i], key, "rule"), {}, text(list[i], key, "why")});
      if (!list[i].contains("alternatives") || !list[i]["alternatives"].is_array())
        fail(key + ".alternatives", "must be a list of strings");
      for (const Json& alternative : list[i]["alternatives"]) {
        if (!alternative.is_string()) fail(key + ".alternatives", "must be a list of strings");
        entries.back().alternatives.push_back(alternative.get<std::string>());
        Backend changed = sheet_.backend;
        guarded([&] { set_rule(changed, entries.back().rule, entries.back().alternatives.back()); });
      }
    }
    add_to(sheet_.settings, std::move(entries));
  }

  /// An entry replaces the base's entry for the same rule.
  static void add_to(auto& list, auto entries) {
    for (auto& entry : entries) {
      const auto same = std::ranges::find(list, entry.rule, [](const auto& known) { return known.rule; });
      if (same == list.end()) list.push_back(std::move(entry));
      else *same = std::move(entry);
    }
  }

  static constexpr int deepest = 8;
  std::string_view where_;
  SpecSheet& sheet_;
  bool has_base_ = false;
  std::set<std::string> stated_;
  std::vector<std::string> stated_chains_;
};

}  // namespace

std::string backend_to_json(const SpecSheet& sheet) {
  Json file{{"format", format_name}, {"name", sheet.name}, {"title", sheet.title}, {"rules", to_json(backend_type(), &sheet.backend)}};
  file["evidence"] = Json::array();
  for (const Evidence& entry : sheet.evidence) {
    file["evidence"].push_back({{"rule", entry.rule}, {"level", name_of(entry.level)}, {"source", entry.source}});
  }
  file["settings"] = Json::array();
  for (const Setting& setting : sheet.settings) {
    file["settings"].push_back({{"rule", setting.rule}, {"alternatives", setting.alternatives}, {"why", setting.why}});
  }
  if (!sheet.quantizer.empty()) file["quantizer"] = sheet.quantizer;
  return file.dump(2) + "\n";
}

SpecSheet backend_from_json(std::string_view text, std::string_view where) {
  SpecSheet sheet;
  try {
    Reader(where, sheet).read(Json::parse(text, UniqueKeys(where)));
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::malformed_file, std::string(where), "not JSON at byte " + std::to_string(error.byte));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::malformed_file, std::string(where), error.what());
  }
  return sheet;
}

}  // namespace lastbit
