// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/backend_reference.hpp"

#include <algorithm>
#include <cctype>

#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"

namespace lastbit {

BackendReference reference_to(const SpecSheet& sheet) {
  const std::string first = sheet.name.substr(0, sheet.name.find(' '));
  const auto& builtin = builtin_backends();
  const auto found = std::find_if(builtin.begin(), builtin.end(), [&](const SpecSheet& each) { return each.name == first; });
  if (found != builtin.end()) {
    BackendReference reference{first, {}, {}};
    Backend restored = found->backend;
    try {
      for (const RuleDifference& difference : diff_backends(found->backend, sheet.backend)) {
        reference.settings.push_back({difference.path, difference.b});
        set_rule(restored, difference.path, difference.b);
      }
      if (restored == sheet.backend) return reference;
    } catch (const Error&) {  // a difference that is no setting: a chain of another length, say
    }
  }
  return {{}, {}, backend_to_json(sheet)};
}

std::string identifier_of(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain || (!result.empty() && result.back() != '_')) result += plain ? c : '_';
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  return result.empty() ? "x" : result;
}

std::pair<std::string, std::string> identifiers_of(const SpecSheet& a, const SpecSheet& b) {
  constexpr std::size_t longest = 60;
  std::string of_a = identifier_of(a.name).substr(0, longest), of_b = identifier_of(b.name).substr(0, longest);
  if (of_a == of_b) of_a += "_a", of_b += "_b";
  return {of_a, of_b};
}

std::string backend_file(const std::string& identifier) { return identifier + ".backend.json"; }

std::string shell_word(const std::string& text) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_-./=:,+").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string backend_arguments(const SpecSheet& sheet, const std::string& option, const std::string& file) {
  const BackendReference reference = reference_to(sheet);
  std::string text = " --" + option + " " + shell_word(reference.name.empty() ? file : reference.name);
  const std::string set = option == "backend" ? "set" : "set-" + option;
  for (const RuleText& rule : reference.settings) text += " --" + set + " " + shell_word(rule.path + "=" + rule.value);
  return text;
}

}  // namespace lastbit
