// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The backend file format but for its rules (rules_json.hpp): what surrounds them.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "lastbit/error.hpp"
#include "lastbit/nearest.hpp"
#include "lastbit/printable.hpp"
#include "sheet/rule_table.hpp"
#include "sheet/rules_json.hpp"

namespace lastbit {
namespace {

constexpr const char* format_name = "lastbit.backend.v1";

/// Follows the parser: messages and tables quote every text, and of two equal keys the parsed value shows only the last.
class Watch {
 public:
  explicit Watch(std::string_view where) : where_(where) {}

  bool operator()(int, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (parsed.is_string() && !is_printable(parsed.get_ref<const std::string&>()))
      fail("'" + printable(parsed.get<std::string>()) + "' is a text with control characters");
    if (event == Event::object_start) keys_.emplace_back();
    else if (event == Event::object_end) keys_.pop_back();
    else if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second)
      fail("key '" + beginning(parsed.get_ref<const std::string&>()) + "' stands twice in one object");
    return true;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw Error(ErrorCode::malformed_file, std::string(where_), reason); }

  std::string_view where_;
  std::vector<std::set<std::string>> keys_;
};

constexpr std::array<std::string_view, 3> layer_lists{"none", "keep_dtype", "run_on_cpu"};  // of LayerList

class Reader {
 public:
  Reader(std::string_view where, SpecSheet (*find)(std::string_view), SpecSheet& sheet) : where_(where), find_(find), sheet_(sheet) {}

  void read(const Json& file) {
    check_members(file, "",
                  {"format", "name", "title", "extends", "rules", "evidence", "settings", "open", "origin", "quantizer", "layer_list"});
    if (text(file, "", "format") != format_name) fail("format", std::string("must be \"") + format_name + "\"");
    if (file.contains("extends")) start_from(text(file, "", "extends"));
    sheet_.name = text(file, "", "name");
    if (file.contains("title")) sheet_.title = text(file, "", "title");
    if (file.contains("rules")) RulesReader(where_, sheet_.backend, has_base_).read(file["rules"]);
    if (file.contains("evidence")) read_evidence(file["evidence"]);
    if (file.contains("settings")) read_settings(file["settings"]);
    if (file.contains("open")) read_open(file["open"]);
    if (file.contains("origin")) sheet_.origin = text(file, "", "origin");
    if (file.contains("quantizer")) sheet_.quantizer = text(file, "", "quantizer");
    if (file.contains("layer_list")) sheet_.layer_list = layer_list(text(file, "", "layer_list"));
  }

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& message) const {
    throw Error(ErrorCode::malformed_file, std::string(where_) + ": " + (key.empty() ? "top level" : key), message);
  }

  [[nodiscard]] LayerList layer_list(const std::string& name) const {
    const auto found = std::ranges::find(layer_lists, name);
    if (found == layer_lists.end()) fail("layer_list", "'" + printable(name) + "' is not one of: none, keep_dtype, run_on_cpu");
    return static_cast<LayerList>(found - layer_lists.begin());
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
    std::vector<Diagnostic> unknown;
    for (const auto& [name, value] : object.items()) {
      if (std::ranges::find(allowed, name) != allowed.end()) continue;
      unknown.push_back({ErrorCode::malformed_file, std::string(where_) + ": " + join_path(key, beginning(name)),
                         "unknown key; allowed: " + names + did_you_mean(name, std::vector<std::string_view>(allowed))});
    }
    if (!unknown.empty()) throw Error(std::move(unknown));
  }

  [[nodiscard]] std::string text(const Json& object, const std::string& key, const char* name) const {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string()) fail(join_path(key, name), "must be given as a string");
    return found->get<std::string>();
  }

  void start_from(const std::string& base) {
    guarded([&] {
      if (base.ends_with(".json")) throw Error(ErrorCode::unknown_backend, "extends", "must name a built-in backend");
      sheet_ = find_(base);
    });
    sheet_.origin = sheet_.name;
    has_base_ = true;
  }

  void read_evidence(const Json& list) {
    if (!list.is_array()) fail("evidence", "must be a list");
    std::vector<Evidence> entries;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string key = "evidence." + std::to_string(i);
      check_members(list[i], key, {"rule", "level", "source"});
      const std::string word = text(list[i], key, "level");
      const auto level = enumerator_from<EvidenceLevel>(word == "guess" ? "assumption" : word);  // its former name
      if (!level) fail(key + ".level", "must be one of hardware, vendor_code, vendor_source, document, thread, assumption");
      entries.push_back({current_path(text(list[i], key, "rule")), *level, text(list[i], key, "source")});
      require_rule(key + ".rule", entries.back().rule);
    }
    add_to(sheet_.evidence, std::move(entries));
  }

  /// Evidence may speak for a rule, for all below a path, or for a pattern; not for what exists nowhere.
  void require_rule(const std::string& key, const std::string& pattern) const {
    const auto is_meant = [&](const Rule& rule) { return covers(pattern, rule.path); };
    const ReachedRules rules(sheet_.backend, Reach::every);
    if (std::none_of(rules.begin(), rules.end(), is_meant)) fail(key, "no rule '" + beginning(pattern) + "'");
  }

  void read_settings(const Json& list) {
    if (!list.is_array()) fail("settings", "must be a list");
    std::vector<Setting> entries;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string key = "settings." + std::to_string(i);
      check_members(list[i], key, {"rule", "alternatives", "why"});
      entries.push_back({current_path(text(list[i], key, "rule")), {}, text(list[i], key, "why")});
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

  /// In place of the base's.
  void read_open(const Json& list) {
    if (!list.is_array()) fail("open", "must be a list");
    sheet_.open.clear();
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string key = "open." + std::to_string(i);
      check_members(list[i], key, {"rule", "when", "what", "program"});
      OpenPoint point{.rule = current_path(text(list[i], key, "rule")), .what = text(list[i], key, "what"), .program = {}};
      if (list[i].contains("when")) point.when = condition(key + ".when", text(list[i], key, "when"));
      if (list[i].contains("program")) point.program = text(list[i], key, "program");
      require_rule(key + ".rule", point.rule);
      sheet_.open.push_back(std::move(point));
    }
  }

  [[nodiscard]] LayerCondition condition(const std::string& key, const std::string& word) const {
    if (const auto found = enumerator_from<LayerCondition>(word)) return *found;
    constexpr auto known = names_of(LayerCondition{});
    std::string all;
    for (const std::string_view name : known) all += (all.empty() ? "" : ", ") + std::string(name);
    fail(key, "'" + beginning(word) + "' is not one of: " + all + did_you_mean(word, {known.begin(), known.end()}));
  }

  /// An entry replaces the base's entry for the same rule.
  static void add_to(auto& list, auto entries) {
    for (auto& entry : entries) {
      const auto same = std::ranges::find(list, entry.rule, [](const auto& known) { return known.rule; });
      if (same == list.end()) list.push_back(std::move(entry));
      else *same = std::move(entry);
    }
  }

  std::string_view where_;
  SpecSheet (*find_)(std::string_view);
  SpecSheet& sheet_;
  bool has_base_ = false;
};

}  // namespace

std::string backend_to_json(const SpecSheet& sheet) {
  Json file{{"format", format_name}, {"name", sheet.name}, {"title", sheet.title}, {"rules", rules_to_json(sheet.backend)}};
  file["evidence"] = Json::array();
  for (const Evidence& entry : sheet.evidence) {
    file["evidence"].push_back({{"rule", entry.rule}, {"level", name_of(entry.level)}, {"source", entry.source}});
  }
  file["settings"] = Json::array();
  for (const Setting& setting : sheet.settings) {
    file["settings"].push_back({{"rule", setting.rule}, {"alternatives", setting.alternatives}, {"why", setting.why}});
  }
  for (const OpenPoint& point : sheet.open) {
    Json one{{"rule", point.rule}, {"when", name_of(point.when)}, {"what", point.what}};
    if (!point.program.empty()) one["program"] = point.program;
    file["open"].push_back(std::move(one));
  }
  if (!sheet.origin.empty()) file["origin"] = sheet.origin;
  if (!sheet.quantizer.empty()) file["quantizer"] = sheet.quantizer;
  if (sheet.layer_list != LayerList::none) file["layer_list"] = layer_lists[static_cast<std::size_t>(sheet.layer_list)];
  return file.dump(2) + "\n";
}

SpecSheet backend_from_json(std::string_view text, std::string_view where, SpecSheet (*find)(std::string_view name)) {
  SpecSheet sheet;
  try {
    Reader(where, find, sheet).read(Json::parse(text, Watch(where)));
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::malformed_file, std::string(where), "not JSON at byte " + std::to_string(error.byte));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::malformed_file, std::string(where), error.what());
  }
  return sheet;
}

}  // namespace lastbit
