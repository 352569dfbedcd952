// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a page lists under Open is what its sheets leave open: it is printed there by `lastbit describe NAME --open`, which the tests documented_… run.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lastbit/backends_page.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// "vipnano", of the backend's row in the table of backends.
std::string page_of(const std::string& backend) {
  const std::string table = backends_page();
  const std::size_t row = table.find("| `" + backend + "` |"), link = table.find("](", row);
  REQUIRE(row != std::string::npos);
  return table.substr(link + 2, table.find(".md)", link) - link - 2);
}

std::string open_section(const std::string& page) {
  const std::string text = text_of(test::source_directory() / "docs/backends" / (page + ".md"));
  const std::size_t start = text.find("\n## Open\n");
  return start == std::string::npos ? "" : text.substr(start + 1, text.find("\n## ", start + 5) - start - 1);
}

/// The backends whose open points the section prints.
std::set<std::string> shown_in(const std::string& section) {
  constexpr std::string_view command = "$ lastbit describe ";
  std::set<std::string> names;
  for (std::size_t at = section.find(command); at != std::string::npos; at = section.find(command, at + 1)) {
    const std::size_t start = at + command.size(), end = section.find(" --open\n", start);
    if (end != std::string::npos) names.insert(section.substr(start, end - start));
  }
  return names;
}

}  // namespace

TEST_CASE("every backend's open points are printed on its page, by itself or by one of which the same is open") {
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.open.empty()) continue;
    INFO(sheet.name);
    const std::set<std::string> shown = shown_in(open_section(page_of(sheet.name)));
    CHECK(std::ranges::any_of(shown, [&](const std::string& name) { return find_backend(name).open == sheet.open; }));
  }
}

TEST_CASE("a page lists nothing under Open but what sheets say") {
  std::set<std::string> pages;
  for (const SpecSheet& sheet : builtin_backends()) pages.insert(page_of(sheet.name));
  int sections = 0;
  for (const std::string& page : pages) {
    INFO(page);
    std::istringstream lines(open_section(page));
    bool is_printed = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("```")) is_printed = !is_printed, ++sections;
      INFO(line);
      CHECK((is_printed || (!line.starts_with("-") && !line.starts_with("*") && !line.starts_with("|"))));
    }
  }
  CHECK(sections >= 20);
}
