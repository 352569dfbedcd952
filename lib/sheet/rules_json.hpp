// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The "rules" object of a backend file: nested objects whose keys are paths, or patterns, of rules. An object with "as" starts as a copy of
// another operation of the device.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/backend.hpp"

namespace lastbit {

using Json = nlohmann::ordered_json;
struct Rule;

[[nodiscard]] Json rules_to_json(const Backend& backend);

/// Reads rules into a backend. Everything unknown, out of range, or missing is told in one Error.
class RulesReader {
 public:
  /// With a base the backend is already one, and only stages must be stated whole.
  RulesReader(std::string_view where, Backend& backend, bool has_base) : where_(where), backend_(backend), has_base_(has_base) {}
  void read(const Json& rules);

 private:
  struct Copy {
    std::string path, source;
    const Json* object;
  };

  void complain(const std::string& complaint) { complaints_.push_back(complaint); }
  bool attempt(const auto& action);
  void read_object(const Json& object, const std::string& path, int depth);
  void read_value(const Json& value, const std::string& path, int depth);
  void defer_copy(const Json& object, const std::string& path);
  void read_copies();
  void read_copy(const Copy& copy);
  bool copy_shared(const Rule& from, const Rule& to);
  void read_chain(const Json& stages, const std::string& path);
  void read_stage(const Json& stage, const std::string& path);
  bool set(const std::string& path, const Json& value);
  void require_stated();

  std::string_view where_;
  Backend& backend_;
  bool has_base_;
  std::set<std::string> stated_;
  std::vector<std::string> stated_chains_;
  std::vector<Copy> copies_;
  std::vector<std::string> complaints_;
};

}  // namespace lastbit
