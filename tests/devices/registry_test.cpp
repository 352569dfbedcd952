// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The table in the README against the list of vendors: each built-in backend is in a row, each row is of a built-in backend.
#include "lastbit/registry.hpp"

#include <algorithm>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/paths.hpp"

namespace lastbit {
namespace {

/// Names in the table's first column, and families of names (`gna*_software_*`) wherever the row speaks of them.
std::vector<std::string> names_in_table() {
  std::ifstream readme(test::source_directory() / "README.md");
  std::vector<std::string> names;
  bool is_in_table = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("| backend |")) is_in_table = true;
    if (!line.starts_with("|")) is_in_table = false;
    if (!is_in_table) continue;
    const std::size_t first_column = line.find(" | ");
    const std::regex quoted("`([a-z0-9_*]+)`");
    for (std::sregex_iterator match(line.begin(), line.end(), quoted); match != std::sregex_iterator(); ++match) {
      const bool is_family = (*match)[1].str().find('*') != std::string::npos;
      if (static_cast<std::size_t>(match->position()) < first_column || is_family) names.push_back((*match)[1]);
    }
  }
  return names;
}

bool is_named(const std::string& name, const std::string& backend) {
  return std::regex_match(backend, std::regex(std::regex_replace(name, std::regex("\\*"), ".*")));
}

}  // namespace

TEST_CASE("the README's table has every built-in backend and no other") {
  const std::vector<std::string> names = names_in_table();
  REQUIRE(names.size() > 9);
  for (const std::string& name : names) {
    INFO(name);
    CHECK(std::ranges::any_of(builtin_backends(), [&](const SpecSheet& sheet) { return is_named(name, sheet.name); }));
  }
  for (const SpecSheet& sheet : builtin_backends()) {
    INFO(sheet.name);
    CHECK(std::ranges::any_of(names, [&](const std::string& name) { return is_named(name, sheet.name); }));
  }
}

}  // namespace lastbit
