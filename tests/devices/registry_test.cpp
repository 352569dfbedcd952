// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The README's table against the list of vendors.
#include "lastbit/registry.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "lastbit/backends_page.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace lastbit {

TEST_CASE("the README's table is what `lastbit backends --markdown` prints") {
  std::ifstream file(test::source_directory() / "README.md");
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
    CHECK(std::filesystem::exists(test::source_directory() / table.substr(page, table.find(')', page) - page)));
  }
}

}  // namespace lastbit
