// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The table of docs/backends/README.md against the list of vendors.
#include "lastbit/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

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

namespace {

/// The suites "a, b" that evidence names behind "tflite_builtin/".
std::vector<std::string> suites_in(const std::string& source) {
  const std::string folder = "tflite_builtin/";
  const std::size_t place = source.find(folder);
  std::vector<std::string> suites;
  if (place == std::string::npos) return suites;
  const std::size_t begin = place + folder.size();
  std::istringstream names(source.substr(begin, source.find_first_of(":;", begin) - begin));
  for (std::string name; std::getline(names >> std::ws, name, ',');) suites.push_back(name);
  return suites;
}

/// The program that a suite was recorded of, as evidence writes it: "ai-edge-litert 1.2.0, reference kernels".
std::string program_of(const std::string& suite) {
  std::ifstream file(test::source_directory() / "tests/vectors/tflite_builtin" / suite / "cases.json");
  std::string head;
  std::getline(file, head);
  const std::string key = "\"source\":\"";
  const std::size_t begin = head.find(key);
  if (begin == std::string::npos) return "no such suite: " + suite;
  std::string program = head.substr(begin + key.size());
  program.resize(std::min({program.find(", no delegate"), program.find(" as "), program.find('"')}));
  if (const std::size_t z = program.find("optimized"); z != std::string::npos) program.replace(z, 9, "optimised");
  return program;
}

/// What is wrong with a row of evidence for TensorFlow Lite's own kernels; empty: nothing.
std::string fault_of(const Evidence& row) {
  if (row.level == EvidenceLevel::assumption) return "";
  for (const char* const other : {"tflite-micro", "TFLite Micro"})
    if (row.source.find(other) != std::string::npos) return "says what another program does";
  for (const std::string& suite : suites_in(row.source))
    if (const std::string program = program_of(suite); row.source.find(program) == std::string::npos) return "recorded of: " + program;
  return "";
}

}  // namespace

TEST_CASE("what TensorFlow Lite's own kernels are said to do was run or read on them, or is an assumption") {
  for (const char* const name : {"tflite_builtin_double", "tflite_builtin_single", "xnnpack"}) {
    const SpecSheet& sheet = find_backend(name);
    for (const Evidence& row : sheet.evidence) {
      INFO(name << " " << row.rule << ": " << row.source);
      CHECK(fault_of(row) == "");
      for (const std::string& suite : suites_in(row.source)) CHECK_FALSE(program_of(suite).starts_with("no such"));
      const bool needs_suite = row.level == EvidenceLevel::vendor_code && sheet.name != "xnnpack" && row.rule != "global_average_pool";
      CHECK((!needs_suite || !suites_in(row.source).empty()));
    }
  }
}

TEST_CASE("evidence of another program is noticed") {
  const auto code = EvidenceLevel::vendor_code;
  const std::string reference = "ai-edge-litert 1.2.0, reference kernels (BuiltinRefOpResolver), run and recorded: tflite_builtin/";
  CHECK(fault_of({"add", code, reference + "add"}).empty());
  CHECK(fault_of({"conv", code, reference + "conv2d, conv2d_optimized"}) == "recorded of: ai-edge-litert 1.2.0, optimised kernels");
  CHECK(fault_of({"conv", code, reference + "hybrid; conv.cc"}) == "recorded of: TensorFlow Lite 2022");
  CHECK(fault_of({"conv", code, reference + "conv2d_s8"}) == "recorded of: no such suite: conv2d_s8");
  CHECK(fault_of({"conv", code, "tflite-micro 90b983c2, run and recorded: conv2d_s8"}) == "says what another program does");
  CHECK(fault_of({"conv", EvidenceLevel::vendor_source, "left to the kernels whose source TFLite Micro shares"}) ==
        "says what another program does");
  CHECK(fault_of({"conv", EvidenceLevel::assumption, "as tflite-micro 90b983c2"}).empty());
}

}  // namespace lastbit
