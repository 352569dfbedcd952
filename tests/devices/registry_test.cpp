// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The table of docs/backends/README.md against the list of vendors.
#include "lastbit/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "lastbit/backends_page.hpp"
#include "lastbit/error.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace lastbit {

TEST_CASE("a backend is found by its whole name, not by the beginning of one") {
  for (const SpecSheet& sheet : builtin_backends()) {
    CHECK(find_backend(sheet.name).name == sheet.name);
    const std::string beginning = sheet.name.substr(0, sheet.name.size() - 1);
    if (std::ranges::none_of(builtin_backends(), [&](const SpecSheet& other) { return other.name == beginning; }))
      CHECK_THROWS_AS(find_backend(beginning), Error);
  }
}

TEST_CASE("the table of docs/backends/README.md is what `lastbit backends --markdown` prints") {
  std::ifstream file(test::source_directory() / "docs/backends/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string table = "\n\n" + backends_page() + "\n";  // nothing before it or behind it belongs to the table
  CHECK((readme.find(table) != std::string::npos));
}

TEST_CASE("every built-in backend is in the table, with a page that exists") {
  const std::string table = backends_page();
  for (const SpecSheet& sheet : builtin_backends()) {
    INFO(sheet.name);
    const std::size_t row = table.find("| `" + sheet.name + "` | ");
    REQUIRE(row != std::string::npos);
    const std::size_t page = table.find("](", row) + 2;
    CHECK(std::filesystem::exists(test::source_directory() / "docs/backends" / table.substr(page, table.find(')', page) - page)));
  }
}

}  // namespace lastbit
