// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/rule_alternatives.hpp"

#include <algorithm>
#include <array>

#include "lastbit/error.hpp"
#include "sheet/rule_tree.hpp"

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

template <class Member>
std::vector<std::string> texts_beside(const Member& member) {
  std::vector<std::string> texts;
  if constexpr (NamedEnum<Member>) {
    for (const std::string_view name : names_of(member)) texts.emplace_back(name);
  } else {
    const auto value = static_cast<int>(member);
    for (const int other : {value - 2, value - 1, value + 1, value + 2}) texts.push_back(std::to_string(other));
    for (const int width : usual_widths) {
      if (std::abs(width - value) > 2) texts.push_back(std::to_string(width));
    }
  }
  return texts;
}

}  // namespace

std::vector<std::string> alternatives(const Backend& backend, std::string_view path) {
  std::vector<std::string> found;
  bool known = false;
  auto leaf = [&](const std::string& at, const auto&, std::string_view, const auto& member) {
    if (at != path) return;
    known = true;
    if constexpr (requires { rule_text(member); }) found = texts_beside(member);
  };
  walk_rules<Reach::every>(backend, "", leaf);
  if (!known) throw Error(ErrorCode::unknown_rule, std::string(path), "no such rule");
  std::erase_if(found, [&](const std::string& value) { return value == "absent" || !accepts(backend, path, value); });
  return found;
}

}  // namespace lastbit
