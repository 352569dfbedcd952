// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One thing has one name in all commands, one name one meaning; docs/user-guide.md lists them all.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

constexpr std::size_t meaning_column = 30;  // of the help

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string first_word(const std::string& line) {
  std::istringstream stream(line);
  std::string word;
  stream >> word;
  return word;
}

/// Without those that print what is known of the others, and have no options.
std::vector<std::string> commands(const Shell& shell) {
  REQUIRE(shell.status("--help") == 0);
  std::vector<std::string> names;
  bool listed = false;
  for (const std::string& line : lines_of(shell.text("out"))) {
    if (line.starts_with("  ") && listed && line[2] != ' ') names.push_back(first_word(line));
    listed = listed || line == "Subcommands:";
  }
  CHECK(std::erase_if(names, [](const std::string& name) { return name == "shell" || name == "help"; }) == 2);
  return names;
}

/// Of one command: every option and what the help says of it.
std::map<std::string, std::string> options(const Shell& shell, const std::string& command) {
  REQUIRE(shell.status(command + " --help") == 0);
  std::map<std::string, std::string> found;
  std::string name;
  bool listed = false;
  for (const std::string& line : lines_of(shell.text("out"))) {
    if (listed && line.empty()) break;
    if (listed && line.starts_with("  -")) {
      name = first_word(line);
      if (line.size() > meaning_column && line[meaning_column - 1] == ' ') found[name] = line.substr(meaning_column);
    } else if (listed) {
      found[name] = line.substr(meaning_column);
    }
    listed = listed || line == "Options:";
  }
  found.erase("-h,--help");
  return found;
}

/// Every text in `backticks`.
std::vector<std::string> code_in(const std::string& cell) {
  std::vector<std::string> found;
  for (std::size_t begin = cell.find('`'); begin != std::string::npos;) {
    const std::size_t end = cell.find('`', begin + 1);
    found.push_back(cell.substr(begin + 1, end - begin - 1));
    begin = cell.find('`', end + 1);
  }
  return found;
}

/// Of the table in the user guide: each option's commands, as they stand there.
std::map<std::string, std::string> documented() {
  std::ifstream page(test::source_directory() / "docs/user-guide.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  std::map<std::string, std::string> found;
  bool listed = false;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("## ")) listed = line == "## Options";
    if (!listed || !line.starts_with("| `")) continue;
    const std::size_t meaning = line.find(" | "), users = line.rfind(" | ");
    for (const std::string& name : code_in(line.substr(0, meaning))) found[name] = line.substr(users + 3, line.size() - users - 5);
  }
  return found;
}

}  // namespace

TEST_CASE("one name has one meaning in all commands, and no retired name or other word for it turns up") {
  const Shell shell;
  const std::vector<std::string> all = commands(shell);
  REQUIRE(all.size() >= 16);
  const std::set<std::string> others{"--data", "--calibrate", "--backends",  "--compare",  "--set-compare", "--write",  "--save",
                                     "--out",  "--device",    "--reference", "--expected", "--sample",      "--tensor", "--inputs",
                                     "--jobs", "--target",    "--dir",       "--folder",   "--number",      "--limit",  "--golden-path"};
  std::map<std::string, std::string> meanings;
  for (const std::string& command : all) {
    const auto found = options(shell, command);
    REQUIRE_FALSE(found.empty());
    for (const auto& [name, meaning] : found) {
      INFO(command << " " << name);
      CHECK_FALSE(others.contains(name));
      CHECK_FALSE(meaning.empty());
      CHECK(meanings.emplace(name, meaning).first->second == meaning);
    }
  }
}

TEST_CASE("the user guide lists every option with the commands that have it") {
  const Shell shell;
  const std::vector<std::string> all = commands(shell);
  std::map<std::string, std::vector<std::string>> users;
  for (const std::string& command : all)
    for (const auto& [name, meaning] : options(shell, command)) users[name.substr(name.find("--"))].push_back(command);
  std::map<std::string, std::string> known = documented();
  for (const char* letter : {"-o", "-q", "-v"}) known.erase(letter);
  for (const auto& [name, list] : users) {
    std::string text;
    for (const std::string& command : list) text += (text.empty() ? "" : ", ") + command;
    INFO(name);
    CHECK(known[name] == (list.size() == all.size() ? "every one" : text));
  }
  CHECK(known.size() == users.size());
}

TEST_CASE("options that were renamed are understood by their former names") {
  const Shell shell;
  const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
  const std::string images = (test::source_directory() / "examples/digits/test_images.npy").string();
  const std::string sweep = "sweep " + digits + " --threads 2 ";
  REQUIRE(shell.status(sweep + "--backend tflite_double,vipnano_v8 --input " + images) == 1);
  const std::string report = shell.text("out");
  CHECK(shell.status(sweep + "--backends tflite_double,vipnano_v8 --data=" + images) == 1);
  CHECK(shell.text("out") == report);
  CHECK(shell.status("demo --data " + (test::source_directory() / "examples").string()) == 0);
}

TEST_CASE("an option that every command has may stand before it") {
  const Shell shell;
  const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
  const std::string images = (test::source_directory() / "examples/digits/test_images.npy").string();
  const std::string compare = "compare " + digits + " --a tflite_double --b vipnano_v8 --input " + images;
  REQUIRE(shell.status(compare + " --color always") == 1);
  const std::string colored = shell.text("out");
  for (const char* before : {"--color always ", "--color=always -q ", "--log-level info --color always "}) {
    INFO(before);
    CHECK(shell.status(before + compare) == 1);
    CHECK(shell.text("out") == colored);
  }
  CHECK(shell.status("--color never " + compare + " --color always") == 1);  // the last one counts
  CHECK(shell.text("out") == colored);
  for (const char* before : {"-v ", "--verbose ", "--log-level debug "}) {
    INFO(before);
    CHECK(shell.status(before + compare) == 1);
    CHECK_THAT(shell.text("err"), test::contains_text(", on the path "));
  }
  CHECK(shell.status("--log-level off describe absent") == 2);
  CHECK(shell.text("err").empty());
  CHECK(shell.status("--color never demo --data " + (test::source_directory() / "examples").string()) == 0);  // a former name
}

TEST_CASE("a folder of samples is an input of every command: as one file that holds them all") {
  const Shell shell;
  const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
  const std::string images = (test::source_directory() / "examples/digits/test_images.npy").string();
  std::filesystem::create_directory(shell.file("folder"));
  std::filesystem::copy_file(images, shell.file("folder/one.npy"));
  const std::string compare = "compare " + digits + " --a tflite_double --b vipnano_v8 --input ";
  REQUIRE(shell.status(compare + images) == 1);
  const std::string report = shell.text("out");
  CHECK(shell.status(compare + "folder") == 1);
  CHECK(shell.text("out") == report);
}

TEST_CASE("beside a dump, the backend is --backend in every command") {
  const Shell shell;
  const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
  const std::string images = (test::source_directory() / "examples/digits/test_images.npy").string();
  REQUIRE(shell.status("run " + digits + " --backend vipnano_v8 --trace dump --trace-samples 0 --input " + images) == 0);
  for (const char* command : {"compare ", "explain ", "replay "}) {
    INFO(command);
    const std::string beside = command + digits + " --dump dump";
    CHECK(shell.status(beside + " --backend vipnano_v8") == 0);
    CHECK(shell.status(beside + " --backend vipnano_v8 --set conv.i8.output.chain.2.rounding=floor") == 1);
    CHECK(shell.status(beside) == 2);
    CHECK(shell.status(beside + " --backend vipnano_v8 --a vipnano_v8 --b vipnano_v8") == 2);
  }
}
